// What was done and what is stored: the audit and its chain, the log, and statements over a catalogue.
import {html, useEffect, useRef, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {moment, number, plural} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Call, CopyButton, Notice, Problem} from "../../parts/basics.js";
import {Field} from "../../parts/form.js";
import {DataTable} from "../../parts/result.js";
import {Loaded, Pages, readResource, State, useLoad} from "./run.js";

const SIZE = 50;
const FILTERS = {user: ["User", ""], tool: ["Tool, URI or operation", "such as search or account/login"], since: ["Since", "a day, a moment, or 2d"], until: ["Until", ""]};
const OUTCOMES = ["ok", "error", "refused", "limited", "overloaded", "failed", "interrupted"];
const AUDIT_COLUMNS = [
  {name: "number", label: "No.", number: true},
  {name: "at", label: "When", tight: true, show: (row) => moment(row.at)},
  {name: "user", label: "User"},
  {name: "what", label: "What", show: (row) => html`<code>${row.target || row.operation}</code> <span class="quiet">${row.target ? row.operation : ""} ${row.via}</span>`},
  {name: "outcome", label: "Outcome", show: (row) => html`<${State} good=${row.outcome === "ok"} bad=${row.outcome === "failed"}>${row.error ?? row.outcome}<//>`},
  {name: "ms", label: "ms", number: true},
  {name: "parameters", label: "Parameters", show: (row) => row.parameters && html`<details><summary>${Object.keys(row.parameters).join(", ")}</summary><code class="wrapped">${JSON.stringify(row.parameters)}</code></details>`},
];

export function Audit({address}) {
  const given = Object.fromEntries([...Object.keys(FILTERS), "outcome"].map((name) => [name, address.query.get(name)]).filter(([, value]) => value));
  const [page, setPage] = useState({offset: 0}), asked = JSON.stringify(given);
  useEffect(() => setPage({offset: 0}), [asked]);
  const state = useLoad((signal) => callTool("server.query", {query_type: "audit", limit: SIZE, ...given, ...page}, {signal}), [asked, page.offset]);
  const send = (event) => {
    event.preventDefault();
    change(Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, value || null])));
  };
  return html`<${Chain} />
    <form class="row filters" key=${asked} onSubmit=${send}>
      ${Object.entries(FILTERS).map(([name, [label, example]]) => html`<label key=${name} class="grow">${label} <input name=${name} value=${given[name] ?? ""} placeholder=${example} autocomplete="off" /></label>`)}
      <label>Outcome <select name="outcome">${["", ...OUTCOMES].map((one) => html`<option key=${one} value=${one} selected=${one === (given.outcome ?? "")}>${one || "any"}</option>`)}</select></label>
      <button type="submit">Filter</button></form>
    <${Loaded} state=${state}>${({rows, total, values}) => html`<section class="card"><${DataTable} label="Calls" columns=${AUDIT_COLUMNS} rows=${rows} keyOf=${(row) => row.number} empty="No call matches." />
      <${Pages} offset=${page.offset} shown=${rows.length} total=${total} size=${SIZE} onMove=${(offset) => setPage({offset, up_to: values.up_to})} /></section>`}<//>`;
}

// The check goes on from where it stopped, until the last row.
function Chain() {
  const [checked, setChecked] = useState({rows: 0}), [error, setError] = useState(null), [turn, setTurn] = useState(0);
  useEffect(() => {
    let isHere = true, rows = 0;
    const check = async (head) => {
      const {values} = await callTool("server.query", {query_type: "audit_check", ...(head ? {head} : {})});
      rows += values.verified;
      if (!isHere) return;
      setChecked({...values, rows});
      if (values.whole && !values.complete) await check(values.last);
    };
    setError(null);
    setChecked({rows: 0});
    check(null).catch((failure) => isHere && setError(failure));
    return () => { isHere = false; };
  }, [turn]);
  if (error) return html`<${Problem} error=${error} retry=${() => setTurn(turn + 1)} />`;
  const {rows, whole, complete, first_problem: problem, head, pruned} = checked;
  return html`<section class="card"><div class="row"><h2 class="grow">The chain</h2>
    <${State} good=${whole && complete} bad=${whole === false}>${whole === false ? "broken" : complete ? "whole" : "checking…"}<//>
    <button type="button" class="plain small" onClick=${() => setTurn(turn + 1)}>Check again</button></div>
    <p class="quiet" role="status">${whole === false ? `The first row that is not as it was written: ${problem}.` : `${number(rows)} rows verified${complete ? "" : " so far"}; each is bound to the one before by its hash${pruned ? `; ${number(pruned)} older ones were pruned` : ""}.`}</p>
    ${head && html`<p class="head"><span class="quiet">Head</span> <code class="wrapped">${head}</code> <${CopyButton} text=${head} what="the head" /></p>`}</section>`;
}

const EVERY_MS = 4000;
const KINDS = {recent: "All lines", errors: "Errors"};
const SAID = ["at", "level", "logger", "message", "problem"];
const LOG_COLUMNS = [
  {name: "at", label: "When", tight: true, show: (line) => new Date(line.at).toLocaleTimeString()},
  {name: "level", label: "Level", show: (line) => html`<${State} good=${line.level === "INFO"} bad=${line.level === "ERROR"}>${line.level.toLowerCase()}<//>`},
  {name: "text", label: "Line", show: (line) => html`<span class="wrapped">${[line.message, line.problem, fieldsOf(line)].filter(Boolean).join(" · ")}</span>`},
];

export function Logs({address}) {
  const kind = KINDS[address.query.get("lines")] ? address.query.get("lines") : "recent", words = (address.query.get("q") ?? "").toLowerCase();
  const state = useLoad(async (signal) => JSON.parse(await readResource(`logs://${kind}`, {max_tokens: "12000"}, signal)), [kind], EVERY_MS);
  return html`<div class="row">${Object.entries(KINDS).map(([name, label]) => html`
      <button key=${name} type="button" class="plain small" aria-pressed=${name === kind} onClick=${() => change({lines: name === "recent" ? null : name})}>${label}</button>`)}
      <label class="find grow"><span class="unseen">Find in the lines</span><input type="search" placeholder="Find in the lines" value=${words} onInput=${(event) => change({q: event.target.value}, {replace: true})} /></label></div>
    <${Loaded} state=${state}>${({lines, total}) => {
      const shown = lines.filter((line) => JSON.stringify(line).toLowerCase().includes(words));
      return html`<section class="card"><p class="quiet">${plural(shown.length, "line")} of the last ${total}, latest first; without what was found, and without secrets.</p>
        <${DataTable} label="Log" columns=${LOG_COLUMNS} rows=${shown} empty=${kind === "errors" ? "No errors." : "No lines."} /></section>`;
    }}<//>`;
}

function fieldsOf(line) {
  return Object.entries(line).filter(([name]) => !SAID.includes(name)).map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`).join(" ");
}

const EXAMPLES = ["SELECT kind, count(*) AS records FROM items GROUP BY kind ORDER BY records DESC", "SELECT * FROM items LIMIT 20", "SELECT * FROM changes ORDER BY change_no DESC LIMIT 20"];

export function Sql({address}) {
  const names = useLoad(async (signal) => (await callTool("browse", {}, {signal}).catch(() => callTool("server.query", {query_type: "info", limit: 200}, {signal}))));
  const [text, setText] = useState(address.query.get("sql") ?? EXAMPLES[0]), [outcome, setOutcome] = useState(null), [isBusy, setBusy] = useState(false), form = useRef();
  const run = async (event) => {
    event.preventDefault();
    const args = {query: text, catalogue: new FormData(form.current).get("catalogue")}, started = performance.now();
    setBusy(true);
    change({sql: text, catalogue: args.catalogue}, {replace: true});
    try {
      setOutcome({args, answer: await callTool("debug.sql", args), ms: Math.round(performance.now() - started)});
    } catch (error) {
      setOutcome({args, error});
    } finally {
      setBusy(false);
    }
  };
  const onKey = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.current.requestSubmit();
  return html`<p class="quiet">One statement that reads: <code>items</code> has a column for each field, <code>changes</code> what was changed, <code>records</code> the records as they are stored.</p>
    <form ref=${form} class="card stack" onSubmit=${run}>
      <${Loaded} state=${names}>${(answer) => html`<label>Catalogue <select name="catalogue">${namesOf(answer).map((name) => html`
        <option key=${name} value=${name} selected=${name === address.query.get("catalogue")}>${name}</option>`)}</select></label>`}<//>
      <${Field} label="Statement" hint="Ctrl and Enter run it">${(tied) => html`<textarea ...${tied} rows="4" class="mono" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey} />`}<//>
      <div class="row"><button type="submit" disabled=${isBusy || !names.value}>${isBusy ? "Running…" : "Run"}</button>
        ${EXAMPLES.map((one, place) => html`<button key=${one} type="button" class="plain small" onClick=${() => setText(one)}>Example ${place + 1}</button>`)}</div>
    </form>
    ${outcome?.error && html`<${Notice} mood="bad">${outcome.error.message}<//>`}
    ${outcome?.answer && html`<section class="card stack"><p class="quiet" role="status">${countOf(outcome.answer)} in ${outcome.ms} ms.</p>
      <${DataTable} label="Rows" columns=${outcome.answer.columns.map((label, place) => ({name: place, label, number: outcome.answer.rows.every((row) => typeof row[place] === "number")}))} rows=${outcome.answer.rows} empty="No rows." />
      ${outcome.answer.notes.map((note) => html`<p key=${note} class="quiet">${note}</p>`)}<${Call} name="debug.sql" arguments=${outcome.args} /></section>`}`;
}

function namesOf(answer) {
  return (answer.catalogues?.map((one) => one.name) ?? answer.rows.map((row) => row.catalogue)).sort();
}

function countOf({rows, total}) {
  return total === null || total > rows.length ? `The first ${number(rows.length)} rows` : `${number(rows.length)} rows`;
}
