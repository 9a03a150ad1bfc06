import {html} from "../../core/html.js";
import {change} from "../../core/address.js";
import {ago, bytes, inWords, number} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {DataTable} from "../../parts/result.js";
import {attempt, Loaded, State, Tiles, useLoad} from "./load.js";
import {queueTool} from "./tool_shapes.js";

const EVERY_MS = 4000;

export default function Downloads({address, session}) {
  const tools = queueTool(session), wanted = address.query.get("state") ?? "";
  const state = useLoad(async (signal) => {
    const [counted, queue] = await Promise.all([
      callTool(tools.query, {query_type: "stats"}, {signal}),
      callTool(tools.query, {query_type: "queue", limit: 50, ...(wanted ? {state: wanted} : {})}, {signal}),
    ]);
    return {stats: counted.stats, rows: queue.downloads};
  }, [wanted], EVERY_MS);
  const act = async (row, action) => { if (await attempt(() => callTool(tools.action, {action, id: row.id}), `${inWords(action)}: done`)) state.reload(); };
  return html`<${Loaded} state=${state}>${({stats, rows}) => html`
    <${Tiles} tiles=${{...Object.fromEntries(Object.entries(stats.by_state).map(([name, count]) => [inWords(name), number(count)])), Received: bytes(stats.received_bytes)}} />
    <div class="row"><label>State <select onChange=${(event) => change({state: event.target.value || null}, {replace: true})}>
      ${["", ...tools.states].map((name) => html`<option key=${name} value=${name} selected=${name === wanted}>${name || "what is open"}</option>`)}</select></label>
      ${tools.action && html`<a class="button plain" href=${`/tools/${encodeURIComponent(tools.action)}`}>Request something</a>`}</div>
    <section class="card"><${DataTable} label="Downloads" columns=${columnsOf(act, tools)} rows=${rows} keyOf=${(row) => row.id} empty="Nothing is waiting." /></section>`}<//>`;
}

function columnsOf(act, tools) {
  const button = (row, action) => html`<button type="button" class="plain small" aria-label=${`${inWords(action)} download ${row.id}`} onClick=${() => act(row, action)}>${inWords(action)}</button>`;
  return [
    {name: "id", label: "No.", number: true},
    {name: "what", label: "What", show: (row) => [row.artist, row.album].filter(Boolean).join(": ") || row.url || row.folder},
    {name: "state", label: "State", show: (row) => html`<${State} good=${row.state === "done"} bad=${row.state === "failed"}>${row.state}<//>${row.error_message && html`<br /><span class="error">${row.error_message}</span>`}`},
    {name: "received", label: "Received", number: true, show: (row) => [bytes(row.received_bytes), row.total_bytes && `of ${bytes(row.total_bytes)}`].filter(Boolean).join(" ")},
    {name: "user", label: "By", show: (row) => `${row.user}${row.created_at ? `, ${ago(row.created_at)}` : ""}`},
    {name: "act", label: "", show: (row) => tools.action && (["queued", "running"].includes(row.state) ? button(row, "cancel") : ["failed", "cancelled"].includes(row.state) && button(row, "retry"))},
  ];
}
