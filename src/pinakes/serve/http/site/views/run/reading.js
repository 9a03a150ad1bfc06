// What can be read: calls over time as charts that move, the audit and its chain, the log, and statements.
import {html, useEffect, useMemo, useRef, useState} from "../../core/html.js";
import {change, link} from "../../core/address.js";
import {number} from "../../core/format.js";
import {ask, callTool} from "../../core/server.js";
import {Call, CopyButton} from "../../parts/basics.js";
import {DataTable} from "../../parts/result.js";
import {hasTool, Listing, Loaded, Pages, readResource, Small, State, Table, Tiles, useForm, useLoad, useTool, When} from "./run.js";

const SPANS = {hour: 3600, day: 86400};
const HEIGHT = 170, LEFT = 48, BOTTOM = 22, TOP = 8, RIGHT = 4;

export function Analytics({address, session}) {
  const span = address.query.get("span") === "day" ? "day" : "hour";
  const state = useLoad((signal) => ask("GET", `/v1/calls?span=${span}`, undefined, {signal}), [span], 3000);
  return html`
    <div class="row">${Object.keys(SPANS).map((name) => html`<${Small} key=${name} pressed=${name === span} onClick=${() => change({span: name}, {replace: true})}>Last ${name}<//>`)}</div>
    <${Loaded} state=${state}>${(calls) => html`<${Calls} key=${span} calls=${calls} seconds=${SPANS[span]} />`}<//>
    ${hasTool(session, "analytics.query") && html`<div class="halves"><${Queries} report="top_queries" title="Most asked" /><${Queries} report="no_results" title="Without results" /></div>
      <p><a href="/tools/analytics.query">All reports</a></p>`}`;
}

function Queries({report, title}) {
  const columns = {Query: ({query}) => html`<a href=${link("/search", {q: query})}>${query}</a>`, Asked: "searches", Users: "users", Last: ({last}) => html`<${When} at=${last} isAgo />`};
  return html`<${Listing} title=${title} label=${`Queries, ${title.toLowerCase()}`} state=${useTool("analytics.query", {query_type: report, limit: 15}, 30000)} rowsOf=${({rows}) => rows} columns=${columns} empty="None." />`;
}

function Calls({calls, seconds}) {
  const {times, pick} = useMemo(() => slotsOf(calls, seconds), [calls]), cache = useCacheRate(calls);
  const figures = {Tool: ({tool}) => html`<a href=${`/tools/${encodeURIComponent(tool)}`}>${tool}</a>`, Calls: "calls", Failed: "errors", "Half within, ms": "p50_ms", "95 % within, ms": "p95_ms"};
  const {hits, misses} = calls.cache;
  return html`<${Tiles} tiles=${{Calls: number(calls.calls), Failed: number(calls.errors), "Half within": written(calls.p50_ms, " ms"), "95 % within": written(calls.p95_ms, " ms"), "From the cache": written(share(hits, misses), " %"), "Open streams": calls.streams}} />
    <div class="charts">
      <${Chart} title="Calls" times=${times} series=${[["Failed", "--bad", pick("errors", 0)], ["Calls", "--accent", pick("calls", 0)]]} />
      <${Chart} title="Duration" unit=" ms" times=${times} series=${[["Half within", "--accent", pick("p50_ms", null)], ["95 % within", "--warn", pick("p95_ms", null)]]} />
      <${Chart} title="From the cache, while you look" unit=" %" top=${100} times=${cache.map((one) => one.at)} series=${[["From the cache", "--good", cache.map((one) => one.rate)]]} />
    </div>
    <section class="card"><h2>By tool</h2><${Table} label="Calls by tool" columns=${figures} rows=${calls.tools} /></section>`;
}

// Slots without calls are not sent: they are zero calls, and no durations.
function slotsOf({slots, now, step_s: step}, seconds) {
  const known = new Map(slots.map((slot) => [slot.at, slot])), count = seconds / step, first = (Math.floor(now / step) - count + 1) * step;
  const times = Array.from({length: count}, (_, place) => first + place * step);
  return {times, pick: (name, otherwise) => times.map((at) => known.get(at)?.[name] ?? otherwise)};
}

// The server counts hits of the cache since it started; the difference of two readings is the rate between them.
function useCacheRate({cache, now}) {
  const [readings, setReadings] = useState([]);
  useEffect(() => setReadings((all) => {
    const before = all.at(-1) ?? {hits: 0, misses: 0};
    return [...all.slice(-200), {at: now, hits: cache.hits, misses: cache.misses, rate: share(cache.hits - before.hits, cache.misses - before.misses)}];
  }), [now]);
  return readings;
}

function share(hits, misses) {
  return hits + misses > 0 ? Math.round(100 * hits / (hits + misses)) : null;
}

// Lines over time; `series`: [label, custom property of the colour, values], of which null is nothing known.
function Chart({title, unit = "", times, series, top}) {
  const [width, setWidth] = useState(420), [at, setAt] = useState(null), place = useRef(), last = Math.max(1, times.length - 1);
  useEffect(() => {
    const watcher = new ResizeObserver(([{contentRect}]) => setWidth(contentRect.width));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  const most = top ?? roundedUp(Math.max(1, ...series.flatMap(([, , values]) => values)));
  const x = (index) => LEFT + (width - LEFT - RIGHT) * index / last, y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const look = (event) => setAt(Math.max(0, Math.min(times.length - 1, Math.round((event.offsetX - LEFT) / (width - LEFT - RIGHT) * last))));
  const shown = at ?? times.length - 1, ends = ["start", "middle", "end"];
  return html`<section class="card chart"><h2>${title}</h2>
    <p class="unseen">${series.map(([label, , values]) => `${label}: ${written(values.at(-1), unit)} now, at most ${written(Math.max(0, ...values), unit)}`).join("; ")}</p>
    <div ref=${place} aria-hidden="true">
      <svg width=${width} height=${HEIGHT} onPointerMove=${look} onPointerLeave=${() => setAt(null)}>
        ${[0, most / 2, most].map((value) => html`<path class="grid-line" d=${`M${LEFT},${y(value)}H${width}`} /><text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${number(value)}</text>`)}
        ${times.length > 1 && ends.map((end, part) => html`<text x=${x(last * part / 2)} y=${HEIGHT - 4} text-anchor=${end}>${clock(times[Math.round(last * part / 2)])}</text>`)}
        ${series.map(([label, color, values]) => {
          const points = values.flatMap((value, index) => (value === null ? [] : `${x(index).toFixed(1)},${y(value).toFixed(1)}`));
          return points.length > 0 && html`<path key=${label} class="line" style=${{stroke: `var(${color})`}} d=${`M${points.join("L")}h.1`} />`;
        })}
        ${at !== null && html`<path class="grid-line" d=${`M${x(at)},${TOP}V${HEIGHT - BOTTOM}`} />`}
      </svg>
      <p class="legend">${times.length > 0 && clock(times[shown])}${series.map(([label, color, values]) => html`<span key=${label}><i style=${{background: `var(${color})`}}></i>${label} <b>${written(values[shown], unit)}</b></span>`)}</p>
    </div></section>`;
}

// The next of 1, 2, 5, 10, 20 … so that the axis has plain numbers.
function roundedUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((part) => part * size).find((step) => step >= value);
}

function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], {timeStyle: "short"});
}

function written(value, unit) {
  return value === null || value === undefined ? "–" : `${number(value)}${unit}`;
}

const SIZE = 50;
const FILTERS = {user: "User", tool: "Tool, URI or operation", since: "Since (day, or 2d)", until: "Until", outcome: "Outcome"};
const OUTCOMES = ["", "ok", "error", "refused", "limited", "overloaded", "failed", "interrupted"];
const AUDIT_COLUMNS = {
  "No.": "number", When: (row) => html`<${When} at=${row.at} />`, User: "user",
  What: (row) => html`<code>${row.target || row.operation}</code> <span class="quiet">${row.target && row.operation} ${row.via}</span>`,
  Outcome: (row) => html`<${State} good=${row.outcome === "ok"} bad=${row.outcome === "failed"}>${row.error ?? row.outcome}<//>`, ms: "ms",
  Parameters: (row) => row.parameters && html`<details><summary>${Object.keys(row.parameters).join(", ")}</summary><code class="wrapped">${JSON.stringify(row.parameters)}</code></details>`,
};

export function Audit({address}) {
  const given = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, address.query.get(name)]).filter(([, value]) => value));
  const [page, setPage] = useState({offset: 0}), asked = JSON.stringify(given), state = useTool("server.query", {query_type: "audit", limit: SIZE, ...given, ...page});
  useEffect(() => setPage({offset: 0}), [asked]);
  const send = (event) => {
    event.preventDefault();
    change(Object.fromEntries(new FormData(event.target)));
  };
  return html`<${Chain} />
    <form class="row filters" key=${asked} onSubmit=${send}>${Object.entries(FILTERS).map(([name, label]) => html`<label key=${name} class="grow">${label} ${name === "outcome"
      ? html`<select name=${name}>${OUTCOMES.map((one) => html`<option key=${one} value=${one} selected=${one === given[name]}>${one || "any"}</option>`)}</select>`
      : html`<input name=${name} defaultValue=${given[name] ?? ""} autocomplete="off" />`}</label>`)}<button type="submit">Filter</button></form>
    <section class="card"><${Loaded} state=${state}>${({rows, total, values}) => html`<${Table} label="Calls" columns=${AUDIT_COLUMNS} rows=${rows} empty="No call matches." />
      <${Pages} offset=${page.offset} shown=${rows.length} total=${total} size=${SIZE} onMove=${(offset) => setPage({offset, up_to: values.up_to})} />`}<//></section>`;
}

// The check goes on from where it stopped, until the last row.
function Chain() {
  const [rows, setRows] = useState(0);
  const state = useLoad(async (signal) => {
    let checked = {}, sum = 0;
    do {
      checked = (await callTool("server.query", {query_type: "audit_check", ...(checked.last && {head: checked.last})}, {signal})).values;
      setRows(sum += checked.verified);
    } while (checked.whole && !checked.complete);
    return checked;
  });
  const {whole, first_problem: problem, head, pruned} = state.value ?? {};
  return html`<section class="card"><div class="row"><h2 class="grow">The chain</h2>
    <${State} good=${whole} bad=${whole === false}>${whole === false ? "broken" : whole ? "whole" : "checking…"}<//><${Small} onClick=${state.reload}>Check again<//></div>
    <${Loaded} state=${state}>${() => null}<//>
    <p class="quiet" role="status">${whole === false ? `The first row that is not as it was written: ${problem}.` : `${number(rows)} rows verified, each bound to the one before by its hash${pruned ? `; ${number(pruned)} older ones were pruned` : ""}.`}</p>
    ${head && html`<p class="head">Head <code class="wrapped">${head}</code> <${CopyButton} text=${head} what="the head" /></p>`}</section>`;
}

const SAID = ["at", "level", "logger", "message", "problem"];
const LOG_COLUMNS = {
  When: (line) => html`<span class="tight">${new Date(line.at).toLocaleTimeString()}</span>`,
  Level: (line) => html`<${State} good=${line.level === "INFO"} bad=${line.level === "ERROR"}>${line.level.toLowerCase()}<//>`,
  Line: (line) => html`<span class="wrapped">${[line.message, line.problem, ...Object.keys(line).filter((name) => !SAID.includes(name)).map((name) => `${name}=${JSON.stringify(line[name])}`)].filter(Boolean).join(" ")}</span>`,
};

export function Logs({address}) {
  const kind = address.query.get("lines") ?? "recent", words = (address.query.get("q") ?? "").toLowerCase();
  const state = useLoad(async (signal) => JSON.parse(await readResource(`logs://${kind}`, {max_tokens: "12000"}, signal)), [kind], 4000);
  return html`<div class="row">${["recent", "errors"].map((name) => html`<${Small} key=${name} pressed=${name === kind} onClick=${() => change({lines: name})}>${name}<//>`)}
      <label class="find grow"><span class="unseen">Find in the lines</span><input type="search" placeholder="Find in the lines" value=${words} onInput=${(event) => change({q: event.target.value}, {replace: true})} /></label></div>
    <${Listing} label="Log" state=${state} rowsOf=${({lines}) => lines.filter((line) => JSON.stringify(line).toLowerCase().includes(words))} columns=${LOG_COLUMNS} empty="No lines." />`;
}

const EXAMPLES = ["SELECT kind, count(*) AS records FROM items GROUP BY kind", "SELECT * FROM items LIMIT 20", "SELECT * FROM changes ORDER BY change_no DESC LIMIT 20"];

export function SQL({address}) {
  const names = useLoad((signal) => ask("GET", "/v1/catalogues", undefined, {signal})), form = useRef();
  const [text, setText] = useState(address.query.get("sql") ?? EXAMPLES[0]), [outcome, setOutcome] = useState(null);
  const [send, problem] = useForm(async () => {
    const args = {query: text, catalogue: form.current.elements.catalogue.value}, started = performance.now();
    change({sql: text, catalogue: args.catalogue}, {replace: true});
    setOutcome(null);
    setOutcome({args, answer: await callTool("debug.sql", args), ms: Math.round(performance.now() - started)});
  });
  const onKey = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.current.requestSubmit();
  return html`<p class="quiet">One statement that reads: <code>items</code> has a column for each field, <code>changes</code> what was changed, <code>records</code> what is stored.</p>
    <form ref=${form} class="card stack" onSubmit=${send}>
      <${Loaded} state=${names}>${({catalogues}) => html`<label>Catalogue <select name="catalogue">${catalogues.map(({name}) => html`
        <option key=${name} selected=${name === address.query.get("catalogue")}>${name}</option>`)}</select></label>`}<//>
      <label>Statement <textarea rows="4" class="mono" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey} /><span class="hint">Ctrl and Enter run it</span></label>
      ${problem}<div class="row"><button type="submit">Run</button>${EXAMPLES.map((one, place) => html`<${Small} key=${one} onClick=${() => setText(one)}>Example ${place + 1}<//>`)}</div>
    </form>
    ${outcome && html`<${Rows} ...${outcome} />`}`;
}

function Rows({args, answer: {columns, rows, notes, has_more: hasMore}, ms}) {
  return html`<section class="card stack"><p class="quiet" role="status">${hasMore && "The first "}${number(rows.length)} rows in ${ms} ms. ${notes.join(" ")}</p>
    <${DataTable} label="Rows" columns=${columns.map((label, name) => ({name, label, number: rows.every((row) => typeof row[name] === "number")}))} rows=${rows} empty="No rows." />
    <${Call} name="debug.sql" arguments=${args} /></section>`;
}
