// Calls over time, by tool and by query, as charts that move.
import {html, useEffect, useMemo, useRef, useState} from "../../core/html.js";
import {change, link} from "../../core/address.js";
import {ago, inWords, number} from "../../core/format.js";
import {ask, callTool} from "../../core/server.js";
import {DataTable} from "../../parts/result.js";
import {hasTool, Loaded, Tiles, useLoad} from "./run.js";

const EVERY_MS = 3000;
const SPANS = {hour: ["Last hour", 3600], day: ["Last day", 86400]};
const REPORTS = {top_queries: "Most asked", no_results: "Without results"};

export function Analytics({address, session}) {
  const span = SPANS[address.query.get("span")] ? address.query.get("span") : "hour";
  const state = useLoad((signal) => ask("GET", `/v1/calls?span=${span}`, undefined, {signal}), [span], EVERY_MS);
  return html`
    <div class="row" role="group" aria-label="Span">${Object.entries(SPANS).map(([name, [label]]) => html`
      <button key=${name} type="button" class="plain small" aria-pressed=${name === span} onClick=${() => change({span: name === "hour" ? null : name}, {replace: true})}>${label}</button>`)}</div>
    <${Loaded} state=${state}>${(calls) => html`<${Calls} key=${span} calls=${calls} seconds=${SPANS[span][1]} />`}<//>
    ${hasTool(session, "analytics.query") && html`<div class="halves">${Object.entries(REPORTS).map(([report, label]) => html`<${Queries} key=${report} report=${report} label=${label} />`)}</div>
      <p class="quiet">Listening, bandwidth, what is popular and what nobody played: <a href="/tools/analytics.query">all reports</a></p>`}`;
}

function Calls({calls, seconds}) {
  const drawn = useMemo(() => seriesOf(calls, seconds), [calls, seconds]), cache = useCacheRate(calls);
  const tiles = {
    Calls: number(calls.calls), Failed: number(calls.errors),
    "Half within": milliseconds(calls.p50_ms), "95 % within": milliseconds(calls.p95_ms),
    "From the cache": shareOf(calls.cache), "Open streams": number(calls.streams),
  };
  return html`<${Tiles} tiles=${tiles} />
    <div class="charts">
      <${Chart} title="Calls" times=${drawn.times} series=${[{label: "Failed", color: "--bad", values: drawn.errors}, {label: "Calls", color: "--accent", values: drawn.calls, fill: true}]} />
      <${Chart} title="Duration" unit=" ms" times=${drawn.times} series=${[{label: "Half within", color: "--accent", values: drawn.p50, spans: true}, {label: "95 % within", color: "--warn", values: drawn.p95, spans: true}]} />
      <${Chart} title="From the cache, while you look" unit=" %" top=${100} times=${cache.times} series=${[{label: "From the cache", color: "--good", values: cache.rates, fill: true, spans: true}]} />
    </div>
    <section class="card"><h2>By tool</h2><${DataTable} label="Calls by tool" columns=${TOOL_COLUMNS} rows=${calls.tools} empty="No tool was called since the server started." /></section>`;
}

const TOOL_COLUMNS = [
  {name: "tool", label: "Tool", show: ({tool}) => html`<a href=${`/tools/${encodeURIComponent(tool)}`}>${tool}</a>`},
  {name: "calls", label: "Calls", number: true}, {name: "errors", label: "Failed", number: true},
  {name: "p50_ms", label: "Half within, ms", number: true}, {name: "p95_ms", label: "95 % within, ms", number: true},
];

// Slots without calls are not sent: here they are zero calls, and no durations.
function seriesOf({slots, now, step_s: step}, seconds) {
  const known = new Map(slots.map((slot) => [slot.at, slot])), last = Math.floor(now / step) * step;
  const times = Array.from({length: Math.floor(seconds / step)}, (_, place) => last - (Math.floor(seconds / step) - 1 - place) * step);
  const pick = (name, otherwise) => times.map((at) => known.get(at)?.[name] ?? otherwise);
  return {times, calls: pick("calls", 0), errors: pick("errors", 0), p50: pick("p50_ms", null), p95: pick("p95_ms", null)};
}

// The server counts hits of the cache since it started; the difference of two readings is the rate between them.
function useCacheRate({cache, now}) {
  const [readings, setReadings] = useState([]);
  useEffect(() => setReadings((before) => [...before.slice(-200), {at: now, ...cache}]), [now]);
  return useMemo(() => ({
    times: readings.map((one) => one.at),
    rates: readings.map((one, place) => rateBetween(readings[place - 1], one)),
  }), [readings]);
}

function rateBetween(before, after) {
  const hits = after.hits - (before?.hits ?? 0), asked = hits + after.misses - (before?.misses ?? 0);
  return asked > 0 ? Math.round(100 * hits / asked) : null;
}

function shareOf({hits, misses}) {
  return hits + misses ? `${Math.round(100 * hits / (hits + misses))} %` : "–";
}

function milliseconds(value) {
  return value === null ? "–" : `${number(value)} ms`;
}

function Queries({report, label}) {
  const state = useLoad((signal) => callTool("analytics.query", {query_type: report, limit: 15}, {signal}), [report], 30000);
  const columns = [
    {name: "query", label: "Query", show: ({query}) => html`<a href=${link("/search", {q: query})}>${query}</a>`},
    {name: "searches", label: "Asked", number: true}, {name: "users", label: "Users", number: true},
    {name: "last", label: "Last", tight: true, show: ({last}) => ago(last)},
  ];
  return html`<section class="card"><h2>${label}</h2><${Loaded} state=${state}>${({rows}) => html`
    <${DataTable} label=${`Queries, ${inWords(label).toLowerCase()}`} columns=${columns} rows=${rows} empty=${report === "no_results" ? "Every query found something." : "Nobody has searched yet."} />`}<//></section>`;
}

const HEIGHT = 170, LEFT = 48, BOTTOM = 22, TOP = 8;

// Lines over time. `series`: [{label, color (a custom property), values, fill}]; null is a gap, bridged where it `spans`.
export function Chart({title, unit = "", times, series, top}) {
  const [width, setWidth] = useState(420), [at, setAt] = useState(null), place = useRef();
  useEffect(() => {
    const watcher = new ResizeObserver(([{contentRect}]) => setWidth(contentRect.width));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  const most = top ?? roundedUp(Math.max(1, ...series.flatMap((one) => one.values).filter((value) => value !== null)));
  const x = (index) => LEFT + (width - LEFT - 4) * (times.length > 1 ? index / (times.length - 1) : 1);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const look = (event) => {
    const from = event.clientX - place.current.getBoundingClientRect().left - LEFT;
    setAt(Math.max(0, Math.min(times.length - 1, Math.round((from / (width - LEFT - 4)) * (times.length - 1)))));
  };
  const index = at ?? times.length - 1;
  return html`<section class="card chart"><h2>${title}</h2>
    <p class="unseen">${series.map((one) => inShort(one, unit)).join("; ")}</p>
    <div ref=${place} aria-hidden="true">
      <svg width=${width} height=${HEIGHT} onPointerMove=${look} onPointerLeave=${() => setAt(null)}>
        ${[0, most / 2, most].map((value) => html`<g key=${value}><line class="grid-line" x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} />
          <text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${number(value)}</text></g>`)}
        ${times.length > 1 && [0, 0.5, 1].map((part) => html`<text key=${part} x=${x((times.length - 1) * part)} y=${HEIGHT - 4} text-anchor=${["start", "middle", "end"][part * 2]}>${clock(times[Math.round((times.length - 1) * part)])}</text>`)}
        ${series.map((one) => html`<${Line} key=${one.label} one=${one} x=${x} y=${y} />`)}
        ${at !== null && html`<line class="cursor-line" x1=${x(at)} x2=${x(at)} y1=${TOP} y2=${HEIGHT - BOTTOM} />`}
      </svg>
      <p class="legend"><span>${times.length ? clock(times[index], true) : ""}</span>${series.map((one) => html`<span key=${one.label}><i style=${{background: `var(${one.color})`}}></i>${one.label} <b>${written(one.values[index], unit)}</b></span>`)}</p>
    </div></section>`;
}

function Line({one, x, y}) {
  const runs = [[]];
  one.values.forEach((value, index) => {
    if (value !== null) runs.at(-1).push([x(index), y(value)]);
    else if (!one.spans && runs.at(-1).length) runs.push([]);
  });
  const drawn = runs.filter((run) => run.length), path = (run) => run.map((point) => point.map((part) => part.toFixed(1)).join(",")).join("L");
  const color = {stroke: `var(${one.color})`};
  return html`<g style=${color}>
    ${one.fill && drawn.map((run) => html`<path class="area" style=${{fill: `var(${one.color})`}} d=${`M${run[0][0]},${y(0)}L${path(run)}L${run.at(-1)[0]},${y(0)}Z`} />`)}
    ${drawn.map((run) => (run.length > 1 ? html`<path class="line" d=${`M${path(run)}`} />` : html`<circle cx=${run[0][0]} cy=${run[0][1]} r="2.5" style=${{fill: `var(${one.color})`}} />`))}</g>`;
}

// The next of 1, 2, 5, 10, 20 … so that the axis has plain numbers.
function roundedUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((part) => part * size).find((step) => step >= value);
}

function clock(seconds, isExact = false) {
  return new Date(seconds * 1000).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", ...(isExact ? {second: "2-digit"} : {})});
}

function written(value, unit) {
  return value === null || value === undefined ? "–" : `${number(value)}${unit}`;
}

function inShort({label, values}, unit) {
  const known = values.filter((value) => value !== null);
  return known.length ? `${label}: ${written(known.at(-1), unit)} now, at most ${written(Math.max(...known), unit)}` : `${label}: nothing yet`;
}
