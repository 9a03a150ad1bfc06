// What can be read: what is asked, the audit and its chain, the log, and statements.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {change, link} from "../../core/address.js";
import {listCatalogues} from "../../core/catalogue.js";
import {LOCALE} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Call, CopyButton} from "../../parts/code.js";
import {DataTable} from "../../parts/result.js";
import {Listing, Loaded, Pages, readResource, Small, State, Table, useForm, useLoad, useTool, When} from "./shared.js";

export function Analytics() {
  return html`<div class="halves"><${Queries} report="top_queries" title="Top searches" /><${Queries} report="no_results" title="Searches without results" /></div>
    <p><a href="/tools/analytics.query">All reports</a></p>`;
}

function Queries({report, title}) {
  const columns = {[t`Query`]: ({query}) => html`<a href=${link("/search", {q: query})}>${query}</a>`, [t`Searches`]: "searches", [t`Users`]: "users", [t`Last`]: ({last}) => html`<${When} at=${last} isAgo />`};
  return html`<${Listing} title=${title} label=${title} state=${useTool("analytics.query", {query_type: report, limit: 15}, 30000)} rowsOf=${({rows}) => rows} columns=${columns} empty="None." />`;
}

const SIZE = 50;
const FILTERS = {user: t`User`, tool: t`Tool, URI or operation`, since: t`Since (date, or 2d)`, until: t`Until`, outcome: t`Outcome`};
const OUTCOMES = ["", "ok", "error", "refused", "limited", "overloaded", "failed", "interrupted"];
const AUDIT_COLUMNS = {
  [t`No.`]: "number", [t`When`]: (row) => html`<${When} at=${row.at} />`, [t`User`]: "user",
  [t`What`]: (row) => html`<code>${row.target || row.operation}</code> <span class="quiet">${row.target && row.operation} ${row.via}</span>`,
  [t`Outcome`]: (row) => html`<${State} good=${row.outcome === "ok"} bad=${row.outcome === "failed"}>${row.error ?? row.outcome}<//>`, ms: "ms",
  [t`Parameters`]: (row) => row.parameters && html`<details><summary>${Object.keys(row.parameters).join(", ")}</summary><code class="wrapped">${JSON.stringify(row.parameters)}</code></details>`,
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
      ? html`<select name=${name}>${OUTCOMES.map((one) => html`<option key=${one} value=${one} selected=${one === given[name]}>${one || t`any`}</option>`)}</select>`
      : html`<input name=${name} defaultValue=${given[name] ?? ""} autocomplete="off" />`}</label>`)}<button type="submit">Filter</button></form>
    <section class="card"><${Loaded} state=${state}>${({rows, total, values}) => html`<${Table} label="Calls" columns=${AUDIT_COLUMNS} rows=${rows} empty="No call matches." />
      <${Pages} offset=${page.offset} shown=${rows.length} total=${total} size=${SIZE} onMove=${(offset) => setPage({offset})} />`}<//></section>`;
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
  return html`<section class="card"><div class="row"><h2 class="grow">Audit chain</h2>
    <${State} good=${whole} bad=${whole === false}>${whole === false ? t`broken` : whole ? t`intact` : t`checking…`}<//><${Small} onClick=${state.reload}>Check again<//></div>
    <${Loaded} state=${state}>${() => null}<//>
    <p class="quiet" role="status">${whole === false ? t`First altered row: ${problem}.` : t`${rows} rows verified, each linked to the previous one by its hash.`}${pruned > 0 && t` ${pruned} older rows have been removed.`}</p>
    ${head && html`<p class="head">Head <code class="wrapped">${head}</code> <${CopyButton} text=${head} what="the head" /></p>`}</section>`;
}

const SAID = ["at", "level", "logger", "message", "problem"];
const LOG_COLUMNS = {
  [t`When`]: (line) => html`<span class="tight">${new Date(line.at).toLocaleTimeString(LOCALE)}</span>`,
  [t`Level`]: (line) => html`<${State} good=${line.level === "INFO"} bad=${line.level === "ERROR"}>${line.level.toLowerCase()}<//>`,
  [t`Line`]: (line) => html`<span class="wrapped">${[line.message, line.problem, ...Object.keys(line).filter((name) => !SAID.includes(name)).map((name) => `${name}=${JSON.stringify(line[name])}`)].filter(Boolean).join(" ")}</span>`,
};

export function Logs({address}) {
  const kind = address.query.get("lines") ?? "recent", words = (address.query.get("q") ?? "").toLowerCase();
  const state = useLoad(async (signal) => JSON.parse(await readResource(`logs://${kind}`, {max_tokens: "12000"}, signal)), [kind], 4000);
  return html`<div class="row">${[["recent", t`recent`], ["errors", t`errors`]].map(([name, label]) => html`<${Small} key=${name} pressed=${name === kind} onClick=${() => change({lines: name})}>${label}<//>`)}
      <label class="find grow"><span class="unseen">Filter lines</span><input type="search" placeholder="Filter lines" value=${words} onInput=${(event) => change({q: event.target.value}, {replace: true})} /></label></div>
    <${Listing} label="Log" state=${state} rowsOf=${({lines}) => lines.filter((line) => JSON.stringify(line).toLowerCase().includes(words))} columns=${LOG_COLUMNS} empty="No lines." />`;
}

const EXAMPLES = ["SELECT kind, count(*) AS records FROM items GROUP BY kind", "SELECT * FROM items LIMIT 20", "SELECT * FROM changes ORDER BY change_no DESC LIMIT 20"];

export function SQL({address}) {
  const names = useLoad((signal) => listCatalogues({signal})), form = useRef();
  const [text, setText] = useState(address.query.get("sql") ?? EXAMPLES[0]), [outcome, setOutcome] = useState(null);
  const [send, problem] = useForm(async () => {
    const args = {query: text, catalogue: form.current.elements.catalogue.value}, started = performance.now();
    change({sql: text, catalogue: args.catalogue}, {replace: true});
    setOutcome(null);
    setOutcome({args, answer: await callTool("debug.sql", args), ms: Math.round(performance.now() - started)});
  });
  const onKey = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.current.requestSubmit();
  return html`<p class="quiet">One read-only statement: <code>items</code> has a column for each field, <code>changes</code> lists what was changed, <code>records</code> what is stored.</p>
    <form ref=${form} class="card stack" onSubmit=${send}>
      <${Loaded} state=${names}>${(catalogues) => html`<label>Catalogue <select name="catalogue">${catalogues.map(({name}) => html`
        <option key=${name} selected=${name === address.query.get("catalogue")}>${name}</option>`)}</select></label>`}<//>
      <label>Statement <textarea rows="4" class="mono" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey} /><span class="hint">Press Ctrl+Enter to run it</span></label>
      ${problem}<div class="row"><button type="submit">Run it</button>${EXAMPLES.map((one, place) => html`<${Small} key=${one} onClick=${() => setText(one)}>Example ${place + 1}<//>`)}</div>
    </form>
    ${outcome && html`<${Rows} ...${outcome} />`}`;
}

function Rows({args, answer: {columns, rows, notes, has_more: hasMore}, ms}) {
  return html`<section class="card stack"><p class="quiet" role="status">${hasMore ? t`The first ${rows.length} rows, in ${ms} ms.` : t`${rows.length} rows in ${ms} ms.`} ${notes.join(" ")}</p>
    <${DataTable} label="Rows" columns=${columns.map((label, name) => ({name, label, number: rows.every((row) => typeof row[name] === "number")}))} rows=${rows} empty="No rows." />
    <${Call} name="debug.sql" arguments=${args} /></section>`;
}
