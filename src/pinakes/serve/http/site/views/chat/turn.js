// One question and its answer: texts, thoughts folded, calls, and what can be done next.
import {html, useEffect, useRef, useState} from "../../core/html.js";
import {Icon, Notice} from "../../parts/basics.js";
import {CallBlock} from "./call.js";
import {MOST_ROUNDS} from "./loop.js";
import {Markdown} from "./markdown.js";
import {chat} from "./state.js";

const SETTLED_BY_SETTINGS = new Set(["no_key", "no_model", "key", "address"]);
const ENDS = {length: "The answer was cut at the model’s limit of length.", context: "The conversation is too long for the model. Begin a new chat.", refused: "The model declined to answer this."};

export function Turn({turn, place, isLast, busy, openSettings}) {
  const [isEditing, setEditing] = useState(false);
  const parts = turn.rounds.flatMap((round) => round.parts), end = ENDS[turn.rounds.at(-1)?.stop];
  return html`<article class="turn">
    ${isEditing ? html`<${Edit} text=${turn.text} onDone=${(text) => { setEditing(false); if (text) chat.edit(place, text); }} />`
      : html`<div class="asked"><h3 class="unseen">You</h3><p>${turn.text}</p>
        ${!busy && html`<button type="button" class="quiet-button" aria-label="Edit this message" onClick=${() => setEditing(true)}><${Icon} name="edit" /></button>`}</div>`}
    <div class="answered"><h3 class="unseen">Answer</h3>
      ${parts.map((part, index) => html`<${Part} key=${index} part=${part} />`)}
      ${turn.state === "working" && isWaiting(parts) && html`<p class="spinner" role="status"><span aria-hidden="true"></span>Thinking …</p>`}
      ${turn.state === "stopped" && html`<p class="quiet">Stopped.</p>`}
      ${turn.state === "done" && end && html`<p class="quiet">${end}</p>`}
      ${turn.state === "paused" && html`<p class="quiet">The model used tools in ${MOST_ROUNDS} rounds without an answer.</p>`}
      ${turn.state === "failed" && html`<${Notice} mood="bad"><p>${turn.error.message}</p><//>`}
      ${isLast && !busy && turn.state !== "working" && html`<div class="row turn-actions">
        ${SETTLED_BY_SETTINGS.has(turn.error?.kind) && html`<button type="button" class="small" onClick=${openSettings}>Settings</button>`}
        <button type="button" class="plain small" onClick=${chat.retry}>${turn.state === "paused" ? "Go on" : "Try again"}</button></div>`}
    </div>
  </article>`;
}

function isWaiting(parts) {
  const last = parts.at(-1);
  return !last || last.kind === "thought" || (last.kind === "call" && last.output !== undefined);
}

function Part({part}) {
  if (part.kind === "text") return html`<${Markdown} text=${part.text} />`;
  if (part.kind === "call") return html`<${CallBlock} call=${part} />`;
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
