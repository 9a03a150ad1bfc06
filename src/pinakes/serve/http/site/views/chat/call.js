// A call of a tool: what it does, what it found as things, and its arguments folded away.
import {html} from "../../core/html.js";
import {changed} from "../../core/address.js";
import {inWords, plural} from "../../core/format.js";
import {useStore} from "../../core/store.js";
import {CodeBlock, Icon} from "../../parts/basics.js";
import {partsOf} from "../../parts/found.js";
import {cellText, Facts, Items} from "../../parts/result.js";
import {exploreAddress} from "./explore_address.js";
import {cards} from "./state.js";

const MOST_SHOWN = 5;
const STATES = {ready: "waits", running: "runs …", asking: "asks you first", done: "", failed: "did not work", declined: "declined", stopped: "stopped"};

export function CallBlock({call}) {
  const names = useStore(cards, (list) => list.map((card) => card.name));
  const explore = call.state === "done" && exploreAddress(call, names);
  return html`<section class=${`call-block ${call.state}`} aria-label=${`${call.name}: ${STATES[call.state] || "done"}`}>
    <header>
      <span class="call-name">${inWords(call.name.replace(/^ui\./u, ""))}</span>
      <span class="call-about">${aboutOf(call.args)}</span>
      <span class="call-state" role="status">${progressOf(call) || STATES[call.state]}</span>
    </header>
    ${call.state === "asking" && html`<${Question} call=${call} />`}
    ${call.state === "failed" && html`<p class="call-error">${call.output}</p>`}
    ${call.state === "done" && html`<${Things} value=${call.result} text=${call.output} isPage=${call.name.startsWith("ui.")} />`}
    <footer>
      ${explore && html`<a href=${explore}>Open in Explore</a>`}
      <details><summary>Arguments</summary><${CodeBlock} text=${JSON.stringify({name: call.name, arguments: call.args}, null, 2)} what="the call" /></details>
    </footer>
  </section>`;
}

function aboutOf(args = {}) {
  const told = ["query", "titles", "title", "name", "about", "catalogue", "view", "id", "action", "kind"].map((name) => args[name]).filter((value) => value !== undefined && value !== "");
  return told.slice(0, 3).map((value) => [value].flat().join(", ")).join(" · ");
}

function progressOf({state, progress}) {
  if (state !== "running" || !progress) return "";
  const share = progress.total ? `${Math.round((100 * progress.progress) / progress.total)} %` : "";
  return [progress.message, share].filter(Boolean).join(" · ");
}

function Question({call}) {
  const {preview} = call;
  return html`<div class="call-question" role="group" aria-label="Allow this change?">
    <p><strong>The model wants to change something.</strong> ${preview ? "This is what would change:" : "It would run with these arguments:"}</p>
    ${preview?.value?.changes ? html`<${Changes} changes=${preview.value.changes} total=${preview.value.total} />`
      : preview ? html`<${Things} value=${preview.value} text=${preview.text} />` : html`<${Facts} facts=${call.args} />`}
    <div class="row">
      <button type="button" class="small" onClick=${() => call.ask(true)}>Do it</button>
      <button type="button" class="plain small" onClick=${() => call.ask(false)}>Don’t</button>
    </div>
  </div>`;
}

function Changes({changes, total}) {
  return html`<ul class="changes">${changes.slice(0, 20).map((change) => html`<li>
    <strong>${inWords(change.op)} ${change.kind}</strong> ${change.id}
    <dl class="facts">${(change.fields ?? []).map(({field, before, after}) => html`<dt>${inWords(field)}</dt>
      <dd>${before !== null && before !== undefined && html`<del>${cellText(before, field)}</del> `}${after !== null && after !== undefined && html`<ins>${cellText(after, field)}</ins>`}</dd>`)}</dl>
  </li>`)}</ul>
  ${total > 20 && html`<p class="quiet">and ${plural(total - 20, "more change", "more changes")}</p>`}`;
}

function Things({value, text, isPage}) {
  if (!value) return isPage ? null : html`<p class="call-text">${text.slice(0, 600)}</p>`;
  if (isPage) return html`<p class="call-text">${pageSentence(value)}</p>`;
  const {facts: {evidence, ...facts}, sections} = partsOf(value);
  return html`${evidence === "none" && html`<p class="quiet">Nothing here answers this; these are only the nearest.</p>`}
    ${sections.map((section) => html`<${Section} key=${section.label} section=${section} isOnly=${sections.length === 1} />`)}
    ${!sections.some(({items}) => items.some(({id}) => id !== undefined)) && html`<${Facts} facts=${facts} />`}`;
}

function pageSentence({shown, answer, listed, opened, ...others}) {
  if (shown) return html`<${Icon} name="check" /> The page shows <a href=${shown}>${decodeURIComponent(shown.replaceAll("+", " "))}</a>${listed !== undefined && `: ${answer ? plural(answer, "record") : `nothing that answers, the ${listed} nearest`}`}`;
  if (opened) return html`<${Icon} name="check" /> Opened ${opened}`;
  return html`<${Icon} name="check" /> ${others.said ?? "Done"}`;
}

function Section({section: {label, items, total}, isOnly}) {
  const more = items.slice(MOST_SHOWN);
  const list = (some) => html`<${Items} section=${{label, items: some}} hrefOf=${(hit) => (hit.catalogue ? changed({open: hit.key}) : undefined)} />`;
  return html`<div class="call-things">
    ${!isOnly && html`<h4>${inWords(label)}</h4>`}
    ${list(items.slice(0, MOST_SHOWN))}
    ${more.length > 0 && html`<details><summary>${plural(more.length, "more", "more")}</summary>${list(more)}</details>`}
    ${total > items.length && html`<p class="quiet">${plural(total, "record")} in all</p>`}
  </div>`;
}
