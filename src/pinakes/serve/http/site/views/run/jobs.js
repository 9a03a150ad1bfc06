import {html, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {ago, inWords, moment} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Icon} from "../../parts/basics.js";
import {Field} from "../../parts/form.js";
import {Dialog} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {attempt, Loaded, readResource, State, useLoad} from "./load.js";

const BUSY_MS = 2000;
const IDLE_MS = 10000;
const LIVE = ["queued", "running", "cancelling"];
const isLive = (run) => LIVE.includes(run?.state);

export default function Jobs({address}) {
  const chosen = address.query.get("job"), [isBusy, setBusy] = useState(false);
  const state = useLoad(async (signal) => {
    const {jobs} = await callTool("jobs.query", {query_type: "list", limit: 100}, {signal});
    setBusy(jobs.some((job) => isLive(job.last_run)));
    return jobs;
  }, [], isBusy ? BUSY_MS : IDLE_MS);
  const act = async (job, args, done) => { if (await attempt(() => callTool("jobs.action", {job_id: job.job_id, ...args}), done)) state.reload(); };
  return html`<${Loaded} state=${state}>${(jobs) => {
    const job = jobs.find((one) => one.job_id === chosen);
    return html`<section class="card"><${DataTable} label="Jobs" columns=${columnsOf(act)} rows=${jobs} keyOf=${(one) => one.job_id} /></section>
      ${job && html`<${Job} key=${job.job_id} job=${job} act=${act} />`}`;
  }}<//>`;
}

function columnsOf(act) {
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
