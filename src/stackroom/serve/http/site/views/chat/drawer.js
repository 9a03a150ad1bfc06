// The chat beside the page: its head, questions with their answers (the text first, then what the tools found), and changes with their undoing.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {changed, link} from "../../core/address.js";
import {inWords, plural, shown} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {callTool} from "../../core/server.js";
import {createStore, hideDock, useStore, useStyle} from "../../core/store.js";
import {addIcons, Icon, Notice} from "../../parts/basics.js";
import {CodeBlock, CopyButton} from "../../parts/code.js";
import {partsOf} from "../../parts/found.js";
import {Facts, Items} from "../../parts/result.js";
import {Files} from "../explore/take.js";
import {MOST_ROUNDS, answerOf, usageOf} from "./loop.js";
import {Markdown} from "./markdown.js";
import {ModelChoice, Settings, chosen, config, findProblem} from "./settings.js";
import {Conversations, KeepSwitch, cards, chat, save} from "./talk.js";
import {placesOf} from "./ui_tools.js";

export {chat};

// What is typed is kept while the chat is closed.
addIcons({
  stop: "M7 7h10v10H7z",
  send: "M5 12h13M12 5l7 7-7 7",
  settings: "M4 8h9M17 8h3M4 16h3M11 16h9M13 6v4M7 14v4",
});

const draft = createStore("");

const close = () => hideDock("chat");

export default function ChatDrawer({session: {server}}) {
  const isStyled = [useStyle("views/chat/chat.css"), useStyle("parts/layers.css")].every(Boolean);
  const {turns, busy} = useStore(chat.store), settings = chosen(useStore(config));
  const [panel, setPanel] = useState(() => findProblem(settings) && "settings"), show = () => setPanel(null);
  const element = useRef();
  useEffect(() => {
    const before = document.activeElement;
    if (!server.chat || !server.mcp) close();
    return () => before?.isConnected && before.focus?.();
  }, []);
  useKeys(t`Chat`, {Escape: [t`close the chat, or stop the answer`, () => (chat.store.get().busy ? chat.stop() : element.current?.contains(document.activeElement) ? close() : false)]});
  if (!isStyled) return null;
  const toggle = (name) => setPanel(panel === name ? null : name);
  const button = (name, icon, label) => html`<button type="button" class="quiet-button" title=${label} aria-label=${label} aria-pressed=${panel === name} onClick=${() => toggle(name)}><${Icon} name=${icon} /></button>`;
  return html`<aside ref=${element} class="chat" aria-labelledby="chat-title">
    <header class="chat-head">
      <h2 id="chat-title">Chat</h2>
      <button type="button" class="chat-model link" aria-label=${t`Model: ${settings.model || t`none`}`} aria-expanded=${panel === "model"} onClick=${() => toggle("model")}>${settings.model} <${Icon} name="down" /></button>
      ${!busy && html`${turns.length > 0 && html`<button type="button" class="quiet-button" title="New chat" aria-label="New chat" onClick=${() => { chat.clear(); show(); }}><${Icon} name="plus" /></button>`}
        ${button("kept", "list", t`Conversations`)}`}
      ${button("settings", "settings", t`Chat settings`)}
      <button type="button" class="quiet-button" aria-label="Close the chat" onClick=${close}><${Icon} name="close" /></button>
    </header>
    ${!window.isSecureContext ? html`<div class="chat-body"><${Notice} mood="bad"><p>The chat keeps the key of a provider in this browser, so it works only over https and on localhost.</p><//></div>`
      : panel ? html`<div class="chat-body">${{settings: html`<${Settings} onDone=${show}><${KeepSwitch} /><//>`, model: html`<${ModelChoice} onDone=${show} />`, kept: html`<${Conversations} onDone=${show} />`}[panel]}</div>`
      : html`<${Conversation} turns=${turns} busy=${busy} openSettings=${() => setPanel("settings")} />`}
  </aside>`;
}

function Conversation({turns, busy, openSettings}) {
  const body = useRef(), follows = useRef(true);
  useEffect(() => { if (follows.current && body.current) body.current.scrollTop = aimOf(body.current); });
  const onScroll = ({target}) => { follows.current = Math.abs(aimOf(target) - target.scrollTop) < 60; };
  return html`
    <div ref=${body} class="chat-body" tabindex="0" role="log" aria-label="Conversation" onScroll=${onScroll}>
      ${!turns.length && html`<${Welcome} />`}
      ${turns.map((turn, place) => html`<${Turn} key=${place} turn=${turn} place=${place} isLast=${place === turns.length - 1} busy=${busy} openSettings=${openSettings} />`)}
    </div>
    <${Usage} turns=${turns} />
    <${Box} busy=${busy} onSend=${(text) => { follows.current = true; chat.send(text); }} />`;
}

// Where to scroll to: the end of the text, with the question above it where both fit; or what is to be decided.
function aimOf(body) {
  const last = [...body.querySelectorAll(".turn")].at(-1), most = body.scrollHeight - body.clientHeight;
  if (!last || last.querySelector(".call-question, form")) return most;
  const {top} = body.getBoundingClientRect(), placeOf = (one, edge) => one.getBoundingClientRect()[edge] - top + body.scrollTop;
  return Math.min(most, Math.max(placeOf(last, "top") - 12, placeOf(last.querySelector(".said"), "bottom") + 12 - body.clientHeight));
}

const SAMPLES = [t`What is in this library?`, t`Find something sad but hopeful, and say why it fits`, t`Show the newest records as a table`];

function Welcome() {
  return html`<div class="welcome"><p>Ask about the catalogues. The model searches with this server’s tools and can change what the page shows; it asks before it changes a record.</p>
    <ul class="samples">${SAMPLES.map((text) => html`<li><button type="button" class="plain small" onClick=${() => chat.send(text)}>${text}</button></li>`)}</ul></div>`;
}

function Usage({turns}) {
  const {input, output, rounds} = usageOf(turns);
  return rounds > 0 && html`<p class="chat-usage">${t`Tokens: ${input} in, ${output} out, ${plural(rounds, "request")}`}</p>`;
}

function Box({busy, onSend}) {
  const text = useStore(draft), area = useRef();
  useEffect(() => { area.current?.focus(); }, []);
  useEffect(() => {
    area.current.style.height = "auto";
    area.current.style.height = `${Math.min(area.current.scrollHeight + 2, 180)}px`;
  }, [text]);
  const send = (event) => {
    event.preventDefault();
    if (busy || !text.trim()) return;
    draft.set("");
    onSend(text.trim());
  };
  const onKeyDown = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event); };
  return html`<form class="chat-box" onSubmit=${send}>
    <label class="unseen" for="chat-text">Your message</label>
    <textarea ref=${area} id="chat-text" rows="1" placeholder="Ask, or say what to show" value=${text} onInput=${(event) => draft.set(event.target.value)} onKeyDown=${onKeyDown}></textarea>
    ${busy ? html`<button type="button" aria-label="Stop" onClick=${chat.stop}><${Icon} name="stop" /></button>`
      : html`<button type="submit" aria-label="Send" disabled=${!text.trim()}><${Icon} name="send" /></button>`}
  </form>`;
}

const SETTLED_BY_SETTINGS = new Set(["no_key", "no_model", "key", "address"]);
const ENDS = {length: t`The answer reached the model’s length limit.`, context: t`The conversation is too long for the model. Start a new chat.`, refused: t`The model declined to answer this.`};

function Turn({turn, place, isLast, busy, openSettings}) {
  const [isEditing, setEditing] = useState(false);
  const parts = turn.rounds.flatMap((round) => round.parts), calls = parts.filter(({kind}) => kind === "call"), answer = answerOf(turn);
  const note = {stopped: t`Stopped.`, done: ENDS[turn.rounds.at(-1)?.stop], paused: t`The model has used tools ${MOST_ROUNDS} times in a row without an answer.`}[turn.state];
  return html`<article class="turn">
    ${isEditing ? html`<${Edit} text=${turn.text} onDone=${(text) => { setEditing(false); if (text) chat.edit(place, text); }} />`
      : html`<div class="asked"><h3 class="unseen">You</h3><p>${turn.text}</p>
        ${!busy && html`<button type="button" class="quiet-button" aria-label="Edit this message" onClick=${() => setEditing(true)}><${Icon} name="edit" /></button>`}</div>`}
    <div class="answered"><h3 class="unseen">Answer</h3>
      <div class="said">${parts.map((part, index) => part.kind !== "call" && html`<${Part} key=${index} part=${part} />`)}
      ${turn.state === "working" && isWaiting(parts) && html`<p class="spinner" role="status"><span aria-hidden="true"></span>Thinking …</p>`}
      ${note && html`<p class="quiet">${note}</p>`}
      ${turn.state === "failed" && html`<${Notice} mood="bad"><p>${turn.error.message}</p><//>`}</div>
      ${calls.map((call, index) => html`<${CallBlock} key=${index} call=${call} />`)}
      ${turn.state !== "working" && html`<div class="row turn-actions">
        ${answer && html`<${CopyButton} text=${answer} what="the answer" />`}
        ${isLast && !busy && SETTLED_BY_SETTINGS.has(turn.error?.kind) && html`<button type="button" class="small" onClick=${openSettings}>Settings</button>`}
        ${isLast && !busy && html`<button type="button" class="plain small" onClick=${chat.retry}>${{paused: t`Continue`, done: t`Ask the same again`}[turn.state] ?? t`Try again`}</button>`}</div>`}
    </div>
  </article>`;
}

function isWaiting(parts) {
  const last = parts.at(-1);
  return !last || last.kind === "thought" || (last.kind === "call" && last.output !== undefined);
}

function Part({part}) {
  if (part.kind === "text") return html`<${Markdown} text=${part.text} />`;
  return html`<details class="thought"><summary>Thoughts</summary><p>${part.text}</p></details>`;
}

function Edit({text, onDone}) {
  const [value, setValue] = useState(text), area = useRef();
  useEffect(() => area.current.focus(), []);
  const onKeyDown = (event) => {
    if (event.key === "Escape") { event.stopPropagation(); onDone(null); }
  };
  return html`<form class="stack" onSubmit=${(event) => { event.preventDefault(); onDone(value.trim()); }}>
    <label>Change your message<textarea ref=${area} value=${value} onInput=${(event) => setValue(event.target.value)} onKeyDown=${onKeyDown}></textarea></label>
    <p class="hint">What came after it is removed.</p>
    <div class="row"><button type="submit" class="small">Ask again</button><button type="button" class="plain small" onClick=${() => onDone(null)}>Cancel</button></div>
  </form>`;
}

const MOST_SHOWN = 5, CHANGE = t`Change`;
const STATES = {ready: t`waiting`, running: t`running …`, asking: t`needs your approval`, done: "", failed: t`failed`, declined: t`declined`, stopped: t`stopped`};

function CallBlock({call}) {
  const names = useStore(cards, (list) => list.map((card) => card.name));
  const places = call.state === "done" && placesOf(call, names);
  const isChange = call.result?.changes, name = isChange || call.state === "asking" ? CHANGE : inWords(call.name.replace(/^ui\./u, ""));
  return html`<div class=${`call-block ${call.state}`} role="group" aria-label=${`${name}: ${STATES[call.state] || t`done`}`}>
    <header>
      <span class="call-name">${name}</span>
      <span class="call-about">${name !== CHANGE && aboutOf(call.args)}</span>
      <span class="call-state" role="status">${progressOf(call) || STATES[call.state]}</span>
    </header>
    ${call.state === "asking" && html`<${Question} call=${call} />`}
    ${call.state === "failed" && html`<p class="call-error">${call.output}</p>`}
    ${call.state === "done" && (isChange ? html`<${Done} call=${call} />` : html`<${Things} value=${call.result} text=${call.output} isPage=${call.name.startsWith("ui.")} />`)}
    <footer>
      ${places && html`<a href=${places.explore}>Open in Explore</a>`}
      ${places?.given && html`<details><summary>Export</summary><${Files} given=${places.given} /></details>`}
      <details><summary>Details</summary><${CodeBlock} text=${JSON.stringify({name: call.name, arguments: call.args}, null, 2)} what="the call" /></details>
    </footer>
  </div>`;
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

// Whoever allows a change sees all of it, however long; it scrolls by itself.
function Question({call}) {
  const {preview} = call, {changes, total} = preview?.value ?? {};
  const decide = (allowed) => (event) => {
    event.currentTarget.closest("[role=log]").focus(); // the buttons go
    call.ask(allowed);
  };
  return html`<div class="call-question" role="group" aria-label="Allow this change?">
    <p><strong>The model wants to change something.</strong> ${preview ? t`This is what would change:` : t`It would use these values:`}</p>
    <div class="whole" tabindex="0" role="group" aria-label="The change">
      ${changes ? html`<${Changes} changes=${changes} catalogue=${call.args.catalogue} />` : preview && !preview.value ? html`<p>${preview.text}</p>` : html`<${Values} values=${Object.entries(preview?.value ?? call.args)} />`}</div>
    <${More} changes=${changes} total=${total} />
    <div class="row">
      <button type="button" class="small" onClick=${decide(true)}>Do it</button>
      <button type="button" class="plain small" onClick=${decide(false)}>Don’t</button>
    </div>
  </div>`;
}

// A change that was made, and its undoing; the model is told of that, too.
function Done({call}) {
  const {changes, total, call_id: id, notes} = call.result, {catalogue, action} = call.args;
  const undo = async () => {
    await callTool(call.name, {...(catalogue && {catalogue}), action: "undo", id});
    Object.assign(call, {isUndone: true, output: `${call.output}\nThe user has undone this change.`});
    window.dispatchEvent(new Event("recordchange"));
    save(chat.store.get());
    chat.touch();
  };
  return html`<div class="whole" tabindex="0" role="group" aria-label="The change"><${Changes} changes=${changes} catalogue=${catalogue} /></div>
    <${More} changes=${changes} total=${total} />
    ${notes?.map((note) => html`<p class="call-text">${note}</p>`)}
    ${call.isUndone ? html`<p class="quiet" role="status">Undone.</p>` : id && action !== "undo" && html`<div class="row"><button type="button" class="plain small" onClick=${undo}><${Icon} name="undo" /> Undo</button></div>`}`;
}

const More = ({changes, total}) => total > changes?.length && html`<p class="quiet">and ${plural(total - changes.length, "more change", "more changes")}</p>`;

const OPS = {insert: t`New`, update: t`Changed`, delete: t`Deleted`};

function Changes({changes, catalogue}) {
  const known = useStore(cards), nameOf = (fields) => fields.find(({field}) => field === "name" || field === "title") ?? {};
  const labelOf = (kind, name) => known.filter((card) => (catalogue ? card.name === catalogue : card.kinds.includes(kind)))
    .flatMap(({fields}) => fields).find(({field}) => field === name)?.label;
  return html`<ul class="changes">${changes.map(({op, kind, id, fields = []}) => html`<li>
    <strong>${OPS[op]} ${kind}</strong> ${nameOf(fields).after ?? nameOf(fields).before ?? id}
    <${Values} values=${fields.map(({field, before, after}) => [field, after, before, labelOf(kind, field)])} />
  </li>`)}</ul>`;
}

function Values({values}) {
  return html`<dl class="facts">${values.map(([name, after, before, label]) => html`<dt>${label ?? inWords(name)}</dt>
    <dd>${before != null && html`<del>${wholeOf(before, name)}</del>`}${before != null && after != null && " → "}${after != null && html`<ins>${wholeOf(after, name)}</ins>`}</dd>`)}</dl>`;
}

function wholeOf(value, name) {
  const isDeep = [value].flat().some((one) => one && typeof one === "object");
  return isDeep ? JSON.stringify(value, null, 1) : shown(value, name);
}

function Things({value, text, isPage}) {
  if (!value) return isPage ? null : html`<p class="call-text">${text.slice(0, 600)}</p>`;
  if (isPage) return html`<p class="call-text">${pageSentence(value)}</p>`;
  const {facts: {evidence, ...facts}, sections} = partsOf(value);
  return html`${evidence === "none" && html`<p class="quiet">No good match; these are only the nearest.</p>`}
    ${sections.map((section) => html`<${Section} key=${section.label} section=${section} isOnly=${sections.length === 1} />`)}
    ${!sections.some(({items}) => items.some(({id}) => id !== undefined)) && html`<${Facts} facts=${facts} />`}`;
}

function pageSentence({shown, total, listed, evidence, opened, ...others}) {
  if (shown) return html`<${Icon} name="check" /> The page shows <a href=${shown}>${decodeURIComponent(shown.replaceAll("+", " "))}</a>${listed !== undefined && `: ${evidence === "none" ? t`no good match, the ${listed} nearest` : plural(total, "record")}`}`;
  if (opened) return html`<${Icon} name="check" /> Opened ${opened}`;
  return html`<${Icon} name="check" /> ${others.said ?? t`Done`}`;
}

function Section({section: {label, items, total}, isOnly}) {
  const more = items.slice(MOST_SHOWN);
  const list = (some) => html`<${Items} section=${{label, items: some}} isFolded hrefOf=${(hit) => (hit.catalogue ? changed({open: hit.key}) : link("/search", {q: hit.title}))} />`;
  return html`<div class="call-things">
    ${!isOnly && html`<h4>${inWords(label)}</h4>`}
    ${list(items.slice(0, MOST_SHOWN))}
    ${more.length > 0 && html`<details><summary>${plural(more.length, "more", "more")}</summary>${list(more)}</details>`}
    ${total > items.length && html`<p class="quiet">${t`${plural(total, "record")} in all`}</p>`}
  </div>`;
}
