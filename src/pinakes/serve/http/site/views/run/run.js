// The server, for those who run it: one page for each concern, shown to whoever may see it; and what the pages share.
import {html, useEffect, useState} from "../../core/html.js";
import {bytes, duration, inWords, number} from "../../core/format.js";
import {askHealth, callTool, Refused} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {CodeBlock, Empty, Problem, Spinner, toast} from "../../parts/basics.js";
import {DataTable} from "../../parts/result.js";

export const title = "Run";

const managesUsers = (session) => session.server.accounts && hasTool(session, "users.query");
const seesAccess = (session) => session.server.accounts && (session.may("ManagePermissions") || session.may("ServerAdmin"));
const seesCalls = (session) => session.may("ViewAnalytics") || session.may("ServerAdmin");
const ANALYTICS = () => import("./analytics.js");
const PEOPLE = () => import("./people.js");
const WORK = () => import("./work.js");
const RECORDS = () => import("./records.js");
const PAGES = {
  health: ["Health", () => true, () => ({Health}), "Health"],
  analytics: ["Analytics", seesCalls, ANALYTICS, "Analytics"],
  users: ["Users", managesUsers, PEOPLE, "Users"],
  roles: ["Roles", managesUsers, PEOPLE, "Roles"],
  access: ["Access", seesAccess, PEOPLE, "Access"],
  tokens: ["Tokens", seesAccess, PEOPLE, "AllTokens"],
  jobs: ["Jobs", (session) => hasTool(session, "jobs.query"), WORK, "Jobs"],
  downloads: ["Downloads", (session) => Boolean(queueTool(session)), WORK, "Downloads"],
  changes: ["Changes", (session) => undoTools(session).length > 0, WORK, "Changes"],
  audit: ["Audit", (session) => session.server.accounts && hasTool(session, "server.query"), RECORDS, "Audit"],
  logs: ["Logs", (session) => hasTool(session, "server.query"), RECORDS, "Logs"],
  sql: ["SQL", (session) => hasTool(session, "debug.sql"), RECORDS, "Sql"],
};

export default function Run({address, session}) {
  useStyle("views/run/run.css");
  const name = address.params.page ?? "health";
  const [label, isFor, load, part] = PAGES[name] ?? [];
  const offered = Object.entries(PAGES).filter(([, [, isOffered]]) => isOffered(session));
  return html`<div class="run">
    <nav class="run-nav" aria-label="Run">${offered.map(([page, [text]]) => html`
      <a key=${page} href=${`/run/${page}`} aria-current=${page === name ? "page" : undefined}>${text}</a>`)}</nav>
    <div class="stack run-page"><h1>${label ?? "Run"}</h1>${!label ? html`<${Empty} title="There is no such page" />`
      : !isFor(session) ? html`<${Empty} title="This is not for you"><p>${label} needs a permission that you do not have, or is not offered by this server.</p><//>`
      : html`<${Page} key=${name} label=${label} load=${load} part=${part} address=${address} session=${session} />`}</div>
  </div>`;
}

function Page({label, load, part, ...given}) {
  const [module, setModule] = useState(null), [error, setError] = useState(null);
  useEffect(() => {
    document.title = `${label} · Pinakes`;
    Promise.resolve(load()).then(setModule, setError);
  }, [load]);
  return html`${error ? html`<${Problem} error=${{message: "This page could not be loaded."}} retry=${() => location.reload()} />`
    : module ? html`<${module[part]} ...${given} />` : html`<${Spinner} />`}`;
}

// `work(signal)` runs at once, when an input changes, on `reload()`, and every so often while somebody looks.
export function useLoad(work, inputs = [], everyMs = 0) {
  const [state, setState] = useState({value: null, error: null}), [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer;
    const load = async () => {
      try {
        const value = document.hidden && timer ? null : await work(stop.signal);
        if (value !== null && !stop.signal.aborted) setState({value, error: null});
      } catch (error) {
        if (!stop.signal.aborted) setState((before) => ({...before, error}));
      }
      if (everyMs && !stop.signal.aborted) timer = setTimeout(load, everyMs);
    };
    load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...inputs, turn, everyMs]);
  return {...state, reload: () => setTurn((before) => before + 1)};
}

export function Loaded({state, children}) {
  return html`${state.error && html`<${Problem} error=${state.error} retry=${state.reload} />`}
    ${state.value === null ? !state.error && html`<${Spinner} />` : children(state.value)}`;
}

// The tools have dots in their names, or none where the server lists them so; both are answered.
export function hasTool(session, name) {
  return Boolean(session.tool(name) ?? session.tool(name.replaceAll(".", "_")));
}

// A tool's whole list, for choices: pages of 200 up to a bound.
export async function listAll(name, args, key, most = 1000) {
  const found = [];
  for (let offset = 0; offset < most; offset = found.length) {
    const answer = await callTool(name, {...args, limit: 200, offset});
    found.push(...answer[key]);
    if (!answer.has_more || !answer[key].length) break;
  }
  return found;
}

export async function readResource(uri, parameters = {}, signal) {
  const query = new URLSearchParams({uri, ...parameters});
  const reply = await fetch(`/v1/resources/read?${query}`, {headers: {Accept: "application/json, text/plain"}, signal});
  const text = await reply.text();
  if (reply.ok) return text;
  throw new Refused(reply.status, JSON.parse(text).error?.message ?? `The server answered ${reply.status}.`);
}

// Do something that may be refused, and say what came of it.
export async function attempt(work, done) {
  try {
    const result = await work();
    if (done) toast(done);
    return result ?? true;
  } catch (error) {
    toast(error.message, {mood: "bad"});
    return null;
  }
}

export function Tiles({tiles}) {
  return html`<dl class="tiles">${Object.entries(tiles).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function Pages({offset, shown, total, onMove, size}) {
  if (!offset && shown >= total) return null;
  return html`<div class="row"><button type="button" class="plain small" disabled=${offset === 0} onClick=${() => onMove(Math.max(0, offset - size))}>Before</button>
    <span class="quiet" role="status">${offset + 1} to ${offset + shown} of ${total}</span>
    <button type="button" class="plain small" disabled=${offset + shown >= total} onClick=${() => onMove(offset + size)}>Next</button></div>`;
}

export function State({good, bad, children}) {
  return html`<span class=${`state ${good ? "good" : bad ? "bad" : ""}`}>${children}</span>`;
}

// A queue of downloads: its query can list a queue; the tool that acts on it has the same first name.
export function queueTool(session) {
  const query = session.tools.find((tool) => choices(tool, "query_type").includes("queue"));
  const action = query && session.tools.find((tool) => tool !== query && firstName(tool) === firstName(query) && choices(tool, "action").includes("retry"));
  return query && {query: query.name, action: action?.name, states: choices(query, "state")};
}

// Tools that can undo a call by its id.
export function undoTools(session) {
  return session.tools.filter((tool) => choices(tool, "action").includes("undo")).map((tool) => tool.name);
}

export function choices(tool, name) {
  return tool.inputSchema.properties?.[name]?.enum ?? [];
}

function firstName(tool) {
  return tool.name.split(/[._]/u)[0];
}

const STATUS = {ok: "All is well", degraded: "Degraded", starting: "Starting", ending: "Ending"};
const EVERY_MS = 5000;

export function Health({session}) {
  const health = useLoad(askHealth, [], EVERY_MS), mayInspect = hasTool(session, "server.query");
  return html`<${Loaded} state=${health}>${(value) => html`
    <${Tiles} tiles=${tilesOf(value)} />
    <section class="card"><h2>Parts</h2><ul class="parts">${value.parts.map((one) => html`<li key=${one.part}>
      <${State} good=${one.state === "ok"} bad=${one.state !== "ok"}>${one.state === "ok" ? "ok" : "degraded"}<//> ${inWords(one.part)}${one.detail && html`: <span class="quiet">${one.detail}</span>`}</li>`)}</ul></section>`}<//>
  ${mayInspect && html`<${Catalogues} /><${Memory} /><${Configuration} />`}`;
}

function tilesOf({status, version, uptime_s: uptime, streams, calls_in_flight: inFlight, cache}) {
  const asked = cache.hits + cache.misses;
  return {
    State: STATUS[status] ?? status, Version: version, "Up for": duration(uptime), "Calls now": number(inFlight), "Open streams": number(streams),
    "Answers from the cache": asked ? `${Math.round(100 * cache.hit_rate)} % of ${number(asked)}` : "none yet",
  };
}

function Catalogues() {
  const columns = [
    {name: "title", label: "Catalogue", show: (row) => html`<a href=${`/c/${encodeURIComponent(row.catalogue)}`}>${row.title}</a> <code>${row.catalogue}</code>`},
    {name: "records", label: "Records", number: true, show: (row) => number(row.records ?? 0)},
    {name: "model", label: "Model", show: (row) => row.model ?? "words only"},
    {name: "stale", label: "State", show: (row) => row.problem ?? row.stale ?? "up to date"},
  ];
  const state = useLoad((signal) => callTool("server.query", {query_type: "info", limit: 200}, {signal}));
  return html`<section class="card"><h2>Catalogues</h2><${Loaded} state=${state}>${({rows}) => html`<${DataTable} label="Catalogues" columns=${columns} rows=${rows} />`}<//></section>`;
}

function Memory() {
  const state = useLoad((signal) => callTool("server.query", {query_type: "memory", limit: 200}, {signal}));
  const columns = [{name: "part", label: "Part"}, {name: "bytes", label: "Size", number: true, show: (row) => bytes(row.bytes)}];
  return html`<section class="card"><h2>Memory</h2><${Loaded} state=${state}>${({values, rows}) => html`
    <${Tiles} tiles=${Object.fromEntries(Object.entries(values).filter(([name]) => name.endsWith("_bytes")).map(([name, value]) => [inWords(name.replace("_bytes", "")), bytes(value)]))} />
    <${DataTable} label="Memory by part" columns=${columns} rows=${rows} />`}<//></section>`;
}

function Configuration() {
  const state = useLoad((signal) => callTool("server.query", {query_type: "config"}, {signal}));
  return html`<details class="card"><summary><h2 class="inline-title">Configuration</h2> <span class="quiet">without secrets</span></summary>
    <${Loaded} state=${state}>${({values}) => html`<${CodeBlock} text=${JSON.stringify(values, null, 2)} what="the configuration" />`}<//></details>`;
}
