import {html, useState} from "../../core/html.js";
import {ago, number, shown} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Empty} from "../../parts/basics.js";
import {confirm} from "../../parts/layers.js";
import {attempt, Loaded, readResource, useLoad} from "./load.js";
import {undoTools} from "./tool_shapes.js";

const BUDGET = {max_tokens: "6000"};

export default function Changes({session}) {
  const [older, setOlder] = useState([]);
  const read = async (cursor, signal) => JSON.parse(await readResource("changelog://recent", {...BUDGET, ...(cursor ? {cursor} : {})}, signal));
  const state = useLoad((signal) => {
    setOlder([]);
    return read(null, signal);
  });
  const undo = async (entry) => {
    if (!await confirm(`The change of ${entry.id} by ${entry.principal}, and all else that was changed by the same call, is taken back.`, {title: "Undo it?", yes: "Undo", no: "Leave it"})) return;
    if (await attempt(() => undoCall(session, entry.call_id), "Undone; that is a change too, and can be undone")) state.reload();
  };
  return html`<${Loaded} state=${state}>${(first) => {
    const pages = [first, ...older], last = pages.at(-1), entries = pages.flatMap((page) => page.changes);
    const more = async () => setOlder([...older, await read(last.cursor)]);
    return html`${!entries.length && html`<${Empty} title="Nothing has changed yet" />`}
      <ol class="stack">${entries.map((entry) => html`<li key=${`${entry.catalogue}:${entry.change_no}`} class="card"><${Entry} entry=${entry} undo=${undo} /></li>`)}</ol>
      ${last.has_more && html`<div><button type="button" class="plain" onClick=${() => attempt(more)}>Older changes</button></div>`}
      ${first.not_listed && html`<p class="quiet">Not listed: ${first.not_listed}</p>`}`;
  }}<//>`;
}

// One of the tools knows the call; the others refuse it.
async function undoCall(session, callId) {
  let refusal;
  for (const name of undoTools(session)) {
    try {
      return await callTool(name, {action: "undo", id: callId});
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal;
}

function Entry({entry, undo}) {
  const who = html`<span class="quiet">${entry.principal}, ${ago(entry.at)}, change ${number(entry.change_no)}</span>`;
  if (entry.op === "import") {
    const kinds = Object.entries(entry.kinds).map(([kind, count]) => `${number(count)} ${kind}`).join(", ");
    return html`<h2>${entry.catalogue}: import</h2><p>${kinds}</p>${who}`;
  }
  return html`<div class="row"><h2 class="grow"><a href=${`/c/${encodeURIComponent(entry.catalogue)}?open=${encodeURIComponent(`${entry.catalogue}/${entry.id}`)}`}>${entry.id}</a> <span class="quiet">${entry.op} ${entry.kind}</span></h2>
    ${entry.call_id && html`<button type="button" class="plain small" aria-label=${`Undo the change of ${entry.id}`} onClick=${() => undo(entry)}>Undo</button>`}</div>
    <dl class="facts">${Object.entries(entry.fields).map(([field, value]) => html`<dt key=${field}>${field}</dt><dd>${entry.op === "update"
      ? html`<del>${shown(value[0], field) || "nothing"}</del> → <ins>${shown(value[1], field) || "nothing"}</ins>` : shown(value, field)}</dd>`)}</dl>${who}`;
}
