import {html} from "../../core/html.js";
import {bytes, duration, inWords, number} from "../../core/format.js";
import {askHealth, callTool} from "../../core/server.js";
import {CodeBlock} from "../../parts/basics.js";
import {DataTable} from "../../parts/result.js";
import {hasTool, Loaded, State, Tiles, useLoad} from "./load.js";

const STATUS = {ok: "All is well", degraded: "Degraded", starting: "Starting", ending: "Ending"};
const EVERY_MS = 5000;

export default function Health({session}) {
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
