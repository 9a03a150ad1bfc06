// The proposed catalogue as a form: what becomes of each column and why, and the first records as they will look.
import {html, useRef, useState} from "../../core/html.js";
import {plural} from "../../core/format.js";
import {ask} from "../../core/server.js";
import {Notice, Problem} from "../../parts/basics.js";
import {HitList} from "../../parts/hit.js";

const TYPES = {text: "Text", "text[]": "List of texts", "tag[]": "Tags", int: "Whole number", float: "Number", date: "Date", url: "Link", json: "Data"};
const ROLES = {"": "Shown", title: "Title", body: "Main text", alternatives: "Other names", time: "Time", popularity: "How well known", people: "People", place: "Place", picture: "Picture", link: "Web page"};
const OTHER_TABLE = {columns: {}, record_title: null, id: null, body: null, group: null};

export function Proposal({path, file, proposal, onProposal, build, discard}) {
  const [error, setError] = useState(null), [isBusy, setBusy] = useState(false);
  const last = useRef(null), wanted = useRef(proposal.changes), embed = useRef();
  // What was chosen is shown at once; where it is refused, it goes back to what was.
  const save = async (change, columns = proposal.columns) => {
    last.current?.abort();
    const {signal} = last.current = new AbortController();
    setBusy(true);
    onProposal({...proposal, ...change, name: change.name ?? proposal.name, title: change.title ?? proposal.title, columns});
    try {
      const changed = await ask("PUT", `${path}/proposal`, wanted.current = {...wanted.current, ...change}, {signal});
      setError(null);
      onProposal(changed);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      setError(problem);
      wanted.current = proposal.changes;
      onProposal(proposal);
    }
    setBusy(false);
  };
  const setColumn = (name, change, more) => {
    const known = wanted.current.columns, shown = {...change};
    if (change.role === "none") shown.role = null;
    if (change.use) shown.field = change.use === "keep" ? name : null;
    return save({...more, columns: {...known, [name]: {...known[name], ...change}}},
      proposal.columns.map((one) => (one.column === name ? {...one, ...shown} : one)));
  };
  const setRole = (name, role) => {
    if (role === "title") return save({record_title: name});
    return !role && proposal.body === name ? setColumn(name, {role: null}, {body: "none"}) : setColumn(name, {role: role || "none"});
  };
  const {columns, composed, notes} = proposal;
  const fields = columns.filter(({field}) => field).length + composed.length;
  return html`<div class="stack proposal" aria-busy=${isBusy}>
    <p class="quiet" role="status">${file}: ${plural(proposal.rows, "row")}${proposal.is_sample ? " looked at" : ""}, ${plural(columns.length, "column")}, ${plural(fields, "field")}${isBusy ? "; looking again…" : "."}</p>
    ${error && html`<${Problem} error=${error} />`}
    ${[proposal.verdict, ...proposal.questions].filter(Boolean).map((one) => html`<${Notice} key=${one}>${one.charAt(0).toUpperCase() + one.slice(1)}<//>`)}
    <${Names} proposal=${proposal} save=${save} />
    <div class="sides"><section class="card"><h2>Columns</h2>
      <table class="data columns"><thead><tr>${["Keep", "Column", "Type", "Use", "Filter", "Why"].map((one) => html`<th key=${one}>${one}</th>`)}</tr></thead>
        <tbody>${columns.map((one) => html`<${Column} key=${one.column} column=${one} proposal=${proposal} setColumn=${setColumn} setRole=${setRole} />`)}
          ${composed.map((one) => html`<tr key=${one.column}><td></td><th scope="row">${one.field}</th><td>${TYPES[one.type]}</td><td>${one.uses}</td><td></td><td class="quiet">${one.reason}</td></tr>`)}</tbody></table>
      ${notes.map((note) => html`<p class="quiet" key=${note}>${note.charAt(0).toUpperCase() + note.slice(1)}.</p>`)}</section>
    <section class="first"><h2>First records, as they will look</h2><${HitList} hits=${proposal.hits} label="First records" /></section></div>
    <details><summary>The spec that is written</summary><div class="block"><pre tabindex="0">${proposal.declaration}</pre></div></details>
    <div class="card row foot"><label class="inline grow"><input type="checkbox" defaultChecked ref=${embed} /> Find by meaning too, which takes longer to build</label>
      <button type="button" class="plain" onClick=${discard}>Discard</button><button type="button" disabled=${isBusy} onClick=${() => build(embed.current.checked)}>Build ${proposal.name}</button></div>
  </div>`;
}

function Names({proposal, save}) {
  const columns = proposal.columns.map(({column}) => [column, column]), {reading} = proposal.changes, {record_title: title} = proposal;
  const text = (name, label, hint) => html`<div class="field"><label>${label}<input key=${proposal[name]} value=${proposal[name]} maxlength="100"
    aria-describedby=${`hint-${name}`} onChange=${(event) => save({[name]: event.target.value.trim() || null})} /></label><span class="hint" id=${`hint-${name}`}>${hint}</span></div>`;
  const choose = (label, value, options, onChoose) => html`<label>${label}<${Choice} value=${value} options=${options} onChoose=${onChoose} /></label>`;
  return html`<section class="card grid">
    ${text("title", "Title of the catalogue", "as people see it")}
    ${text("name", "Name", "in addresses; a–z, digits, - and _")}
    ${choose("What names a record", title, columns.some(([one]) => one === title) ? columns : [[title, title], ...columns], (value) => save({record_title: value}))}
    ${choose("What identifies a row", proposal.id ?? "none", [["none", "made of the row's values"], ...columns], (id) => save({id}))}
    ${choose("One record of", proposal.group ?? "", [["", "each row"], ...columns.map(([one]) => [one, `all rows with the same ${one}`])], (group) => save({group: group || null}))}
    ${proposal.tables.length > 0 && choose("Table of the file", "", [["", reading.table ?? "the main one"], ...proposal.tables.map((one) => [one, one])], (table) => save({...OTHER_TABLE, reading: {...reading, table}}))}
  </section>`;
}

function Column({column: {column: name, field, type, role, examples, filter, can_filter: canFilter, reason}, proposal, setColumn, setRole}) {
  const isTitle = proposal.record_title === name, isKept = field !== null;
  const choose = (what, value, options, onChoose) => isKept && html`<${Choice} label=${`${what} of ${name}`} value=${value} options=${options} onChoose=${onChoose} disabled=${isTitle} />`;
  const check = (label, isOn, change) => html`<input type="checkbox" aria-label=${`${label} ${name}`} checked=${isOn} disabled=${isTitle} onChange=${() => setColumn(name, change)} />`;
  return html`<tr class=${isKept ? "" : "left-out"}>
    <td>${check("Keep", isKept, {use: isKept ? "drop" : "keep"})}</td>
    <th scope="row">${name}<span class="hint">${examples.join(" · ")}</span></th>
    <td>${choose("Type", type, Object.entries(TYPES), (chosen) => setColumn(name, {type: chosen}))}</td>
    <td>${choose("Use", role ?? "", Object.entries(ROLES), (chosen) => setRole(name, chosen))}</td>
    <td>${canFilter && check("Filter by", filter, {filter: !filter})}</td>
    <td class="quiet">${reason}</td>
  </tr>`;
}

function Choice({label, value, options, onChoose, disabled}) {
  return html`<select aria-label=${label} value=${value} disabled=${disabled} onChange=${(event) => onChoose(event.target.value)}>
    ${options.map(([one, shown]) => html`<option key=${one} value=${one}>${shown}</option>`)}</select>`;
}
