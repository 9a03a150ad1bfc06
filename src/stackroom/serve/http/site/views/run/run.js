// The server, for those who run it: one page for each concern, shown to whoever may see it.
import {html, useEffect} from "../../core/html.js";
import {inWords, number} from "../../core/format.js";
import {bytes, duration, moment} from "../../core/units.js";
import {ask, askHealth} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Named} from "../../parts/basics.js";
import {CodeBlock} from "../../parts/code.js";
import {findTool, Listing, Loaded, queueTool, State, Tiles, undoTools, useLoad, useTool} from "./shared.js";

export const title = "Run";

const managesUsers = (session) => session.server.accounts && findTool(session, "users.query");
const seesAccess = (session) => session.server.accounts && (session.may("ManagePermissions") || session.may("ServerAdmin"));
const seesTasks = (session) => session.may("ServerAdmin") || session.may("ViewAnalytics");
const administers = (session) => findTool(session, "server.query");
const MANAGING = () => import("./managing.js");
const READING = () => import("./reading.js");
// Label, which is the name of the component too → for whom it is, and where it is.
const PAGES = {
  Health: [() => true, () => ({Health})],
  Analytics: [(session) => findTool(session, "analytics.query"), READING],
  Users: [managesUsers, MANAGING],
  Roles: [managesUsers, MANAGING],
  Access: [seesAccess, MANAGING],
  Tokens: [seesAccess, MANAGING],
  Jobs: [(session) => findTool(session, "jobs.query"), MANAGING],
  Downloads: [(session) => Boolean(queueTool(session)), MANAGING],
  Changes: [(session) => undoTools(session).length > 0, MANAGING],
  Audit: [(session) => session.server.accounts && administers(session), READING],
  Logs: [administers, READING],
  SQL: [(session) => findTool(session, "debug.sql"), READING],
};

export default function Run({address, session}) {
  useStyle("views/run/run.css");
  useStyle("parts/layers.css");
  const name = address.params.page ?? "health", label = Object.keys(PAGES).find((one) => one.toLowerCase() === name);
  const [isFor, load] = PAGES[label] ?? [];
  return html`<div class="run">
    <nav class="run-nav" aria-label="Run">${Object.keys(PAGES).filter((one) => PAGES[one][0](session)).map((one) => html`
      <a key=${one} href=${`/run/${one.toLowerCase()}`} aria-current=${one === label ? "page" : undefined}>${one}</a>`)}</nav>
    <div class="stack run-page"><h1>${label ?? "Run"}</h1>${!label ? html`<${Empty} title="There is no such page" />`
      : !isFor(session) ? html`<${Empty} title="This is not for you"><p>It needs a permission that you do not have, or this server does not offer it.</p><//>`
      : html`<${Page} key=${name} label=${label} load=${load} address=${address} session=${session} />`}</div>
  </div>`;
}

function Page({label, load, ...given}) {
  const state = useLoad(load);
  useEffect(() => { document.title = `${label} · Stackroom`; }, []);
  return html`<${Loaded} state=${state}>${(module) => html`<${module[label]} ...${given} />`}<//>`;
}

function Health({session}) {
  const state = useLoad(askHealth, [], 5000);
  return html`<${Loaded} state=${state}>${({status, version, uptime_s: uptime, streams, calls_in_flight: inFlight, cache, parts}) => html`
    <${Tiles} tiles=${{State: inWords(status), Version: version, "Up for": duration(uptime), "Calls now": number(inFlight), "Open streams": number(streams), "From the cache": `${Math.round(100 * cache.hit_rate)} %`}} />
    <section class="card"><h2>Parts</h2><ul class="parts">${parts.map((one) => html`<li key=${one.part}>
      <${State} good=${one.state === "ok"} bad=${one.state !== "ok"}>${one.state}<//> ${inWords(one.part)}${one.detail && html`: <span class="quiet">${one.detail}</span>`}</li>`)}</ul></section>`}<//>
  ${seesTasks(session) && html`<${Tasks} />`}
  ${administers(session) && html`<${Inside} />`}`;
}

function Tasks() {
  const state = useLoad((signal) => ask("GET", "/status", undefined, {signal}), [], 5000);
  const at = (time) => (time ? moment(time) : "–");
  const columns = {
    Task: (row) => html`<span title=${row.description}>${row.name}</span>`,
    State: (row) => html`<${State} good=${!row.last_error} bad=${Boolean(row.last_error)}>${row.state}<//>`,
    "Last done": (row) => at(row.last_success_at), Next: (row) => at(row.next_at), Report: (row) => row.last_error || row.note,
  };
  return html`<${Listing} title="In the background" state=${state} rowsOf=${({tasks}) => tasks} columns=${columns} />`;
}

function Inside() {
  const ask = (query) => useTool("server.query", {query_type: query, limit: 200});
  const columns = {
    Catalogue: (row) => html`<a href=${`/c/${encodeURIComponent(row.catalogue)}`}><${Named} title=${row.title} name=${row.catalogue} /></a>`, Records: "records",
    Model: (row) => row.model ?? "words only", State: (row) => row.problem ?? row.stale ?? "up to date",
  };
  const rowsOf = ({rows, values}) => [...Object.entries(values).filter(([name]) => name.endsWith("_bytes")).map(([name, size]) => ({part: inWords(name.replace("_bytes", " memory")), bytes: size})), ...rows];
  return html`<${Listing} title="Catalogues" state=${ask("info")} rowsOf=${({rows}) => rows} columns=${columns} />
    <${Listing} title="Memory" state=${ask("memory")} rowsOf=${rowsOf} columns=${{Part: "part", Size: (row) => bytes(row.bytes)}} />
    <details class="card"><summary><h2 class="inline-title">Configuration</h2> <span class="quiet">without secrets</span></summary>
      <${Loaded} state=${ask("config")}>${({values}) => html`<${CodeBlock} text=${JSON.stringify(values, null, 2)} what="the configuration" />`}<//></details>`;
}
