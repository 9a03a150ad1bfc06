import {html, useEffect, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {moment, number} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {CopyButton, Problem} from "../../parts/basics.js";
import {DataTable} from "../../parts/result.js";
import {Loaded, Pages, State, useLoad} from "./load.js";

const SIZE = 50;
const FILTERS = {user: ["User", ""], tool: ["Tool, URI or operation", "such as search or account/login"], since: ["Since", "a day, a moment, or 2d"], until: ["Until", ""]};
const OUTCOMES = ["ok", "error", "refused", "limited", "overloaded", "failed", "interrupted"];
const COLUMNS = [
  {name: "number", label: "No.", number: true},
  {name: "at", label: "When", tight: true, show: (row) => moment(row.at)},
  {name: "user", label: "User"},
  {name: "what", label: "What", show: (row) => html`<code>${row.target || row.operation}</code> <span class="quiet">${row.target ? row.operation : ""} ${row.via}</span>`},
  {name: "outcome", label: "Outcome", show: (row) => html`<${State} good=${row.outcome === "ok"} bad=${row.outcome === "failed"}>${row.error ?? row.outcome}<//>`},
  {name: "ms", label: "ms", number: true},
  {name: "parameters", label: "Parameters", show: (row) => row.parameters && html`<details><summary>${Object.keys(row.parameters).join(", ")}</summary><code class="wrapped">${JSON.stringify(row.parameters)}</code></details>`},
];

export default function Audit({address}) {
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
    <${Loaded} state=${state}>${({rows, total, values}) => html`<section class="card"><${DataTable} label="Calls" columns=${COLUMNS} rows=${rows} keyOf=${(row) => row.number} empty="No call matches." />
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
