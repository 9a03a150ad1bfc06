// The server, for those who run it: one page for each concern, shown to whoever may see it.
import {html, useEffect, useRef, t} from "../../core/html.js";
import {inWords, number} from "../../core/format.js";
import {bytes, duration, moment} from "../../core/units.js";
import {ask, askHealth} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Named} from "../../parts/basics.js";
import {CodeBlock} from "../../parts/code.js";
import {findTool, Listing, Loaded, queueTool, State, Tiles, undoTools, useLoad, useTool} from "./shared.js";

export const title = t`Run`;

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

const LABELS = {Health: t`Health`, Analytics: t`Analytics`, Users: t`Users`, Roles: t`Roles`, Access: t`Access`, Tokens: t`Tokens`, Jobs: t`Jobs`, Downloads: t`Downloads`, Changes: t`Changes`, Audit: t`Audit`, Logs: t`Logs`, SQL: t`SQL`};

export default function Run({address, session}) {
  useStyle("views/run/run.css");
  useStyle("parts/layers.css");
  const name = address.params.page ?? "health", label = Object.keys(PAGES).find((one) => one.toLowerCase() === name);
  const [isFor, load] = PAGES[label] ?? [], tabs = useRef();
  // On a phone the tabs are one row that scrolls.
  useEffect(() => tabs.current.querySelector("[aria-current]")?.scrollIntoView({block: "nearest", inline: "center"}), [label]);
  return html`<div class="run">
    <nav ref=${tabs} class="run-nav" aria-label="Run">${Object.keys(PAGES).filter((one) => PAGES[one][0](session)).map((one) => html`
      <a key=${one} href=${`/run/${one.toLowerCase()}`} aria-current=${one === label ? "page" : undefined}>${LABELS[one]}</a>`)}</nav>
    <div class="stack run-page"><h1>${LABELS[label] ?? t`Run`}</h1>${!label ? html`<${Empty} title="Page not found" />`
      : !isFor(session) ? html`<${Empty} title="You do not have access"><p>This page needs a permission that you do not have, or the server does not offer it.</p><//>`
      : html`<${Page} key=${name} label=${label} load=${load} address=${address} session=${session} />`}</div>
  </div>`;
}

function Page({label, load, ...given}) {
  const state = useLoad(load);
  useEffect(() => { document.title = `${LABELS[label]} · Stackroom`; }, []);
  return html`<${Loaded} state=${state}>${(module) => html`<${module[label]} ...${given} />`}<//>`;
}

function Health({session}) {
  const state = useLoad(askHealth, [], 5000);
  return html`<${Loaded} state=${state}>${({status, version, uptime_s: uptime, streams, calls_in_flight: inFlight, cache, parts}) => html`
    <${Tiles} tiles=${{[t`State`]: inWords(status), [t`Version`]: version, [t`Uptime`]: duration(uptime), [t`Active calls`]: number(inFlight), [t`Open streams`]: number(streams), [t`Cache hits`]: `${Math.round(100 * cache.hit_rate)} %`}} />
    <section class="card"><h2>Parts</h2><ul class="parts">${parts.map((one) => html`<li key=${one.part}>
      <${State} good=${one.state === "ok"} bad=${one.state !== "ok"}>${one.state}<//> ${inWords(one.part)}${one.detail && html`: <span class="quiet">${one.detail}</span>`}</li>`)}</ul></section>`}<//>
  ${seesTasks(session) && html`<${Tasks} />`}
  ${administers(session) && html`<${Inside} />`}`;
}

function Tasks() {
  const state = useLoad((signal) => ask("GET", "/status", undefined, {signal}), [], 5000);
  const at = (time) => (time ? moment(time) : "–");
  const columns = {
    [t`Task`]: (row) => html`<span title=${row.description}>${row.name}</span>`,
    [t`State`]: (row) => html`<${State} good=${!row.last_error} bad=${Boolean(row.last_error)}>${row.state}<//>`,
    [t`Last success`]: (row) => at(row.last_success_at), [t`Next run`]: (row) => at(row.next_at), [t`Report`]: (row) => row.last_error || row.note,
  };
  return html`<${Listing} title="Background tasks" state=${state} rowsOf=${({tasks}) => tasks} columns=${columns} />`;
}

function Inside() {
  const ask = (query) => useTool("server.query", {query_type: query, limit: 200});
  const columns = {
    [t`Catalogue`]: (row) => html`<a href=${`/c/${encodeURIComponent(row.catalogue)}`}><${Named} title=${row.title} name=${row.catalogue} /></a>`, [t`Records`]: "records",
    [t`Model`]: (row) => row.model ?? t`none, words only`, [t`State`]: (row) => row.problem ?? row.stale ?? t`up to date`,
  };
  const rowsOf = ({rows, values}) => [...Object.entries(values).filter(([name]) => name.endsWith("_bytes")).map(([name, size]) => ({part: inWords(name.replace("_bytes", " memory")), bytes: size})), ...rows];
  return html`<${Listing} title="Catalogues" state=${ask("info")} rowsOf=${({rows}) => rows} columns=${columns} />
    <${Listing} title="Memory" state=${ask("memory")} rowsOf=${rowsOf} columns=${{[t`Part`]: "part", [t`Size`]: (row) => bytes(row.bytes)}} />
    <details class="card"><summary><h2 class="inline-title">Configuration</h2> <span class="quiet">without secrets</span></summary>
      <${Loaded} state=${ask("config")}>${({values}) => html`<${CodeBlock} text=${JSON.stringify(values, null, 2)} what="the configuration" />`}<//></details>`;
}
