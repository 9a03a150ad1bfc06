import {html, useRef, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {number} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Call, Notice} from "../../parts/basics.js";
import {Field} from "../../parts/form.js";
import {DataTable} from "../../parts/result.js";
import {Loaded, useLoad} from "./load.js";

const EXAMPLES = ["SELECT kind, count(*) AS records FROM items GROUP BY kind ORDER BY records DESC", "SELECT * FROM items LIMIT 20", "SELECT * FROM changes ORDER BY change_no DESC LIMIT 20"];

export default function Sql({address}) {
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
