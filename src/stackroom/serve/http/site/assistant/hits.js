// The hits of a search inside an assistant: the list of the page, with more of them, and a choice that the model is told.
import {html, render, useState, t} from "../core/html.js";
import {inWords, plural, shortened} from "../core/format.js";
import {hitOf, isHit, partsOf} from "../parts/found.js";
import {Hit} from "../parts/hit.js";
import {createBridge} from "./bridge.js";
import {speak} from "./language.js";
import {wear} from "./theme.js";

const VERSION = "2026-01-26";
const state = {able: {}, context: {}, args: {}, groups: null, result: null, problem: ""};

const bridge = createBridge({
  "ui/notifications/tool-input": ({arguments: args = {}}) => change({args}),
  "ui/notifications/tool-result": (result) => change({...read(result), groups: grouped(result)}),
  "ui/notifications/tool-cancelled": ({reason}) => change({problem: reason ? t`The search was cancelled: ${reason}.` : t`The search was cancelled.`}),
  "ui/notifications/host-context-changed": (context) => { wear(context); change({context: {...state.context, ...context}}); },
});

function change(patch) {
  Object.assign(state, patch);
  render(html`<${View} ...${state} />`, document.getElementById("app"));
}

const textOf = (result) => (result.content ?? []).filter(({type}) => type === "text").map(({text}) => text).join("\n");
const read = (result) => ({result, problem: result.isError ? textOf(result) || t`The search failed.` : ""});
const grouped = (result) => partsOf(result.structuredContent).sections.filter(({items}) => items.every(isHit))
  .map(({label, items}) => ({label: inWords(label), hits: items.map((item) => hitOf({...item, tile: result._meta?.["stackroom/tiles"]?.[item.id]}))}));

// The arguments that ask for what follows; null where nothing does, or where the assistant does not let views call tools.
function next({able, context, args, result, groups}) {
  const found = result?.structuredContent ?? {};
  if (!able.serverTools || !context.toolInfo?.tool?.name) return null;
  if (found.has_more && found.cursor) return {...args, cursor: found.cursor};
  const isLong = Object.values(found).some((part) => part?.has_more === true), shown = Math.max(0, ...groups.map(({hits}) => hits.length));
  return isLong && shown ? {...args, offset: (args.offset ?? 0) + shown} : null;
}

function merged(groups, more) {
  const added = new Map(more.map((group) => [group.label, group]));
  const grown = groups.map((group) => ({...group, hits: group.hits.concat(added.get(group.label)?.hits ?? [])}));
  return [...grown, ...more.filter(({label}) => !groups.some((group) => group.label === label))];
}

function View({able, context, args, groups, result, problem}) {
  const [chosen, setChosen] = useState({}), [said, setSaid] = useState(""), [isBusy, setBusy] = useState(false);
  const following = groups && next({able, context, args, result, groups});
  const picked = Object.values(chosen).filter(Boolean);

  async function during(work, done) {
    setBusy(true);
    setSaid("");
    try {
      await work();
      setSaid(done);
    } catch (error) {
      setSaid(error.message);
    }
    setBusy(false);
  }
  const showMore = () => during(async () => {
    const more = await bridge.ask("tools/call", {name: context.toolInfo.tool.name, arguments: following});
    if (more.isError) throw new Error(textOf(more));
    change({result: more, groups: merged(groups, grouped(more))});
  }, "");
  const useThese = () => during(() => bridge.ask("ui/update-model-context", {
    content: [{type: "text", text: `The user chose these records:\n${picked.map((hit) => `- ${nameOf(hit)}`).join("\n")}`}],
    structuredContent: {chosen: picked.map(({key, title}) => ({id: key, title: named(title)}))},
  }), t`Your assistant knows your choice of ${plural(picked.length, "record")}.`);
  const askAlike = (hit) => during(() => bridge.ask("ui/message", {
    role: "user", content: [{type: "text", text: t`Find more like ${nameOf(hit)}.`}],
  }), t`Your assistant was asked.`);
  const open = (hit) => during(() => bridge.ask("ui/open-link", {url: hit.url}), "");

  if (!groups) return problem ? html`<p class="notice" role="alert">${problem}</p>` : html`<p class="quiet" role="status">Searching …</p>`;
  const count = groups.reduce((sum, group) => sum + group.hits.length, 0), total = result.structuredContent?.total;
  return html`<main class="stack">
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    <p class="quiet" role="status">${[count === 0 ? t`Nothing was found` : plural(count, "record"), total > count && t`of ${total}`, args.query && t`for “${args.query}”`].filter(Boolean).join(" ")}</p>
    ${result.structuredContent?.evidence === "none" && count > 0 && html`<p class="notice">No good match; these are only the nearest.</p>`}
    ${groups.map((group) => html`<section key=${group.label} aria-label=${group.label}>
      ${groups.length > 1 && html`<h2>${group.label}</h2>`}
      <ol class="hits">${group.hits.map((hit) => html`<li key=${hit.key}>
        <${Hit} hit=${hit} onOpen=${able.openLinks && hit.url ? open : undefined} isChosen=${Boolean(chosen[hit.key])}>
          ${able.updateModelContext && html`<label class="inline"><input type="checkbox" checked=${Boolean(chosen[hit.key])}
            onChange=${({target}) => setChosen({...chosen, [hit.key]: target.checked && hit})} /> Use<span class="unseen"> ${hit.title}</span></label>`}
          ${able.message && html`<button type="button" class="plain small" disabled=${isBusy} onClick=${() => askAlike(hit)}>More like this<span class="unseen">: ${hit.title}</span></button>`}
        <//></li>`)}</ol>
    </section>`)}
    <div class="row foot">
      ${following && html`<button type="button" class="plain small" disabled=${isBusy} onClick=${showMore}>Show more</button>`}
      ${picked.length > 0 && html`<button type="button" class="small" disabled=${isBusy} onClick=${useThese}>${picked.length === 1 ? t`Use this one` : t`Use these ${picked.length}`}</button>`}
      <span class="quiet" role="status">${said}</span>
    </div>
  </main>`;
}

// Names are texts of records: in the user's words they are short, and cannot end the quotation.
const named = (text, most = 80) => shortened(text.replace(/[\s"“”]+/gu, " ").trim(), most);
const nameOf = (hit) => `“${named(hit.title)}” (${named(hit.key, 200)})`;

async function start() {
  speak();
  wear({theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"});
  change({});
  const {hostCapabilities = {}, hostContext = {}} = await bridge.ask("ui/initialize", {
    protocolVersion: VERSION, appInfo: {name: "stackroom", version: "1"}, appCapabilities: {availableDisplayModes: ["inline", "fullscreen"]},
  });
  speak(hostContext);
  wear(hostContext);
  change({able: hostCapabilities, context: hostContext});
  bridge.tell("ui/notifications/initialized");
  new ResizeObserver(() => {
    const {width, height} = document.documentElement.getBoundingClientRect();
    bridge.tell("ui/notifications/size-changed", {width: Math.ceil(width), height: Math.ceil(height)});
  }).observe(document.documentElement);
}

start();
