// What the server works at: jobs, downloads, and the changes of catalogues.
import {html, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {ago, bytes, inWords, moment, number, shown} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Empty, Icon} from "../../parts/basics.js";
import {Field} from "../../parts/form.js";
import {confirm, Dialog} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {attempt, Loaded, queueTool, readResource, State, Tiles, undoTools, useLoad} from "./run.js";

const BUSY_MS = 2000;
const IDLE_MS = 10000;
const LIVE = ["queued", "running", "cancelling"];
const isLive = (run) => LIVE.includes(run?.state);

export function Jobs({address}) {
  const chosen = address.query.get("job"), [isBusy, setBusy] = useState(false);
  const state = useLoad(async (signal) => {
    const {jobs} = await callTool("jobs.query", {query_type: "list", limit: 100}, {signal});
    setBusy(jobs.some((job) => isLive(job.last_run)));
    return jobs;
  }, [], isBusy ? BUSY_MS : IDLE_MS);
  const act = async (job, args, done) => { if (await attempt(() => callTool("jobs.action", {job_id: job.job_id, ...args}), done)) state.reload(); };
  return html`<${Loaded} state=${state}>${(jobs) => {
    const job = jobs.find((one) => one.job_id === chosen);
    return html`<section class="card"><${DataTable} label="Jobs" columns=${jobColumns(act)} rows=${jobs} keyOf=${(one) => one.job_id} /></section>
      ${job && html`<${Job} key=${job.job_id} job=${job} act=${act} />`}`;
  }}<//>`;
}

function jobColumns(act) {
  return [
    {name: "job_id", label: "Job", show: (job) => html`<button type="button" class="link" onClick=${() => change({job: job.job_id})}>${inWords(job.job_id)}</button><br /><span class="quiet">${job.description}</span>`},
    {name: "last", label: "Last run", tight: true, show: ({last_run: run}) => (run ? html`<${RunState} run=${run} /> <span class="quiet">${ago(run.ended_at ?? run.started_at ?? run.queued_at)}</span>` : "never")},
    {name: "next", label: "Next run", tight: true, show: (job) => (job.next_run_at ? moment(job.next_run_at) : job.enabled ? "when it is asked for" : "disabled")},
    {name: "run", label: "", show: (job) => (isLive(job.last_run)
      ? html`<button type="button" class="plain small" aria-label=${`Cancel ${job.job_id}`} onClick=${() => act(job, {action: "cancel"}, "It ends at its next checkpoint")}>Cancel</button>`
      : html`<button type="button" class="plain small" aria-label=${`Run ${job.job_id} now`} onClick=${() => { change({job: job.job_id}); act(job, {action: "trigger"}, `${inWords(job.job_id)} is queued`); }}>Run now</button>`)},
  ];
}

function RunState({run}) {
  return html`<${State} good=${run.state === "done" || run.state === "succeeded"} bad=${run.state === "failed"}>${run.state}<//>`;
}

function Job({job, act}) {
  const [isScheduling, setScheduling] = useState(false);
  const output = useLoad((signal) => readResource(`jobs://${encodeURIComponent(job.job_id)}/output`, {}, signal), [job.job_id, job.last_run?.run_id, job.last_run?.state], isLive(job.last_run) ? BUSY_MS : 0);
  const history = useLoad((signal) => callTool("jobs.query", {query_type: "history", job_id: job.job_id, limit: 10}, {signal}), [job.last_run?.run_id, job.last_run?.state]);
  return html`<section class="card stack" aria-label=${inWords(job.job_id)}>
    <header class="row"><h2 class="grow">${inWords(job.job_id)}</h2>
      <button type="button" class="plain small" onClick=${() => setScheduling(true)}>Schedule: ${job.schedule}</button>
      <button type="button" class="plain small" onClick=${() => act(job, {action: job.enabled ? "disable" : "enable"}, job.enabled ? "It runs only when it is asked for" : "It runs by its schedule")}>${job.enabled ? "Disable" : "Enable"}</button>
      <button type="button" class="quiet-button" aria-label="Close the job" onClick=${() => change({job: null})}><${Icon} name="close" /></button></header>
    ${job.last_run?.progress && html`<p role="status">${job.last_run.progress}</p>`}
    ${job.last_run?.error && html`<p class="error">${job.last_run.error}</p>`}
    <${Loaded} state=${output}>${(text) => html`<pre class="output" tabindex="0" aria-label="Output">${text}</pre>`}<//>
    <h3>Runs</h3>
    <${Loaded} state=${history}>${({runs}) => html`<${DataTable} label="Runs" columns=${RUN_COLUMNS} rows=${runs} keyOf=${(run) => run.run_id} empty="It has not run yet." />`}<//>
    ${isScheduling && html`<${Schedule} job=${job} act=${act} onClose=${() => setScheduling(false)} />`}
  </section>`;
}

const RUN_COLUMNS = [
  {name: "run_id", label: "Run", number: true},
  {name: "state", label: "State", show: (run) => html`<${RunState} run=${run} />`},
  {name: "started_at", label: "Started", tight: true, show: (run) => (run.started_at ? moment(run.started_at) : "not yet")},
  {name: "took", label: "Took", show: (run) => (run.started_at && run.ended_at ? `${((new Date(run.ended_at) - new Date(run.started_at)) / 1000).toFixed(1)} s` : "")},
  {name: "requested_by", label: "By", show: (run) => `${run.requested_by} (${run.cause})`},
  {name: "error", label: "Error"},
];

function Schedule({job, act, onClose}) {
  const [text, setText] = useState(job.schedule);
  const send = async (event) => {
    event.preventDefault();
    await act(job, {action: "schedule", schedule: text}, "Scheduled");
    onClose();
  };
  return html`<${Dialog} title=${`When ${inWords(job.job_id).toLowerCase()} runs`} onClose=${onClose}><form class="stack" onSubmit=${send}>
    <${Field} label="Schedule" hint="6h, five cron fields in UTC such as 0 3 * * *, or manual">${(tied) => html`<input ...${tied} value=${text} onInput=${(event) => setText(event.target.value)} />`}<//>
    <div><button type="submit">Save</button></div></form><//>`;
}

const QUEUE_MS = 4000;

export function Downloads({address, session}) {
  const tools = queueTool(session), wanted = address.query.get("state") ?? "";
  const state = useLoad(async (signal) => {
    const [counted, queue] = await Promise.all([
      callTool(tools.query, {query_type: "stats"}, {signal}),
      callTool(tools.query, {query_type: "queue", limit: 50, ...(wanted ? {state: wanted} : {})}, {signal}),
    ]);
    return {stats: counted.stats, rows: queue.downloads};
  }, [wanted], QUEUE_MS);
  const act = async (row, action) => { if (await attempt(() => callTool(tools.action, {action, id: row.id}), `${inWords(action)}: done`)) state.reload(); };
  return html`<${Loaded} state=${state}>${({stats, rows}) => html`
    <${Tiles} tiles=${{...Object.fromEntries(Object.entries(stats.by_state).map(([name, count]) => [inWords(name), number(count)])), Received: bytes(stats.received_bytes)}} />
    <div class="row"><label>State <select onChange=${(event) => change({state: event.target.value || null}, {replace: true})}>
      ${["", ...tools.states].map((name) => html`<option key=${name} value=${name} selected=${name === wanted}>${name || "what is open"}</option>`)}</select></label>
      ${tools.action && html`<a class="button plain" href=${`/tools/${encodeURIComponent(tools.action)}`}>Request something</a>`}</div>
    <section class="card"><${DataTable} label="Downloads" columns=${downloadColumns(act, tools)} rows=${rows} keyOf=${(row) => row.id} empty="Nothing is waiting." /></section>`}<//>`;
}

function downloadColumns(act, tools) {
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

const BUDGET = {max_tokens: "6000"};

export function Changes({session}) {
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
