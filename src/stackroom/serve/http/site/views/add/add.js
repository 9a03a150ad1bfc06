// Add a table: drop it, see what becomes of its columns, change that, build it, and search it.
import {html, useEffect, useRef, useState} from "../../core/html.js";
import {go} from "../../core/address.js";
import {number, plural} from "../../core/format.js";
import {bytes} from "../../core/units.js";
import {ask} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Icon, Notice, Problem, Spinner, toast} from "../../parts/basics.js";
import {hitOf} from "../../parts/found.js";
import {HitList} from "../../parts/hit.js";
import {confirm} from "../../parts/layers.js";

export const title = "Add a table";
const STATES = {reading: "is being read", proposed: "can be built", building: "is being built", built: "was built", failed: "was not built"};
const WAITING = ["receiving", "reading", "building"];
const GONE = [401, 403, 404], LONGEST_PAUSE_MS = 1500;
const TYPES = {text: "Text", "text[]": "List of texts", "tag[]": "Tags", int: "Whole number", float: "Number", date: "Date", url: "Link", json: "Data"};
const ROLES = {"": "Shown", title: "Title", body: "Main text", alternatives: "Other names", time: "Time", popularity: "How well known", people: "People", place: "Place", picture: "Picture", link: "Web page"};
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const OTHER_TABLE = {columns: {}, record_title: null, id: null, body: null, group: null};

export default function Add({address, session}) {
  const isStyled = useStyle("views/records.css");
  const id = address.query.get("table");
  if (!session.may("ServerAdmin")) return html`<${Empty} title="Administrators add tables"><p>Ask one for the permission ServerAdmin.</p><//>`;
  return isStyled && html`<div class="stack add"><h1>Add a table</h1>${id ? html`<${Table} key=${id} path=${`/v1/tables/${encodeURIComponent(id)}`} session=${session} />` : html`<${Drop} />`}</div>`;
}

function Drop() {
  const [server, setServer] = useState(null), [error, setError] = useState(null), [sending, setSending] = useState(null);
  const [isOver, setOver] = useState(false), stop = useRef(null);
  const send = async (file) => {
    if (!file || !server || sending) return;
    setError(null);
    try {
      stop.current = new AbortController();
      const id = await sendFile(file, server.piece_bytes, (part) => setSending({file, part}), stop.current.signal);
      go(`/add?table=${id}`);
    } catch (problem) {
      if (problem.name !== "AbortError") setError(problem);
      setSending(null);
    }
  };
  useEffect(() => {
    ask("GET", "/v1/tables").then(setServer, setError);
    return () => stop.current?.abort();
  }, []);
  useEffect(() => { // a file that misses the box would take the place of the page
    const take = (event) => {
      event.preventDefault();
      setOver(event.type === "dragover");
      if (event.type === "drop") send(event.dataTransfer.files[0]);
    };
    const events = ["dragover", "dragleave", "drop"];
    for (const name of events) addEventListener(name, take);
    return () => { for (const name of events) removeEventListener(name, take); };
  });
  if (!server) return error ? html`<${Problem} error=${error} />` : html`<${Spinner} />`;
  if (!server.max_bytes) return html`<${Empty} title="This server takes no tables"><p>The setting <code>server.max_upload_mb</code> is 0.</p><//>`;
  if (sending) return html`<${Progress} title=${`Sending ${sending.file.name}`} part=${sending.part} cancel=${() => stop.current.abort()} />`;
  const known = server.tables.filter(({state}) => STATES[state]);
  return html`${error && html`<${Problem} error=${error} />`}
    <label class=${`drop ${isOver ? "over" : ""}`}>
      <${Icon} name="upload" /><strong>Drop a table here, or choose a file</strong>
      <span class="quiet">CSV, JSON, Parquet, Excel, OpenDocument or SQLite, also compressed; up to ${bytes(server.max_bytes)}. It stays on this server.</span>
      <input type="file" class="unseen" accept=${server.suffixes.join()} onChange=${(event) => send(event.target.files[0])} />
    </label>
    ${known.length > 0 && html`<h2>Tables of today</h2><ul>${known.map(({id, file, state}) => html`
      <li key=${id}><a href=${`/add?table=${id}`}>${file}</a> <span class="quiet">${STATES[state]}</span></li>`)}</ul>`}`;
}

// Announce a file and send it in pieces; `onPart` is told the share that has arrived. Returns the id of the table.
async function sendFile(file, pieceBytes, onPart, signal) {
  const {id} = await ask("POST", "/v1/tables", {file: file.name, size_bytes: file.size});
  try {
    for (let offset = 0; offset < file.size; offset += pieceBytes) {
      onPart(offset / file.size);
      await ask("PUT", `/v1/tables/${id}/content?offset=${offset}`, file.slice(offset, offset + pieceBytes), {signal});
    }
  } catch (error) {
    ask("DELETE", `/v1/tables/${id}`).catch(() => {});
    throw error;
  }
  return id;
}

// One table, from when it was received until it was built or discarded.
function Table({path, session}) {
  const [table, setTable] = useState(null), [proposal, setProposal] = useState(null), [error, setError] = useState(null);
  const [looks, setLooks] = useState(0), timer = useRef(), state = table?.state;
  useEffect(() => {
    const look = async (pause, wasLost) => {
      const found = await ask("GET", path).catch((refused) => ({refused})), {refused} = found;
      if (!refused) setTable(found);
      if (refused || wasLost) setError(refused);
      const goesOn = refused ? !GONE.includes(refused.status) : WAITING.includes(found.state);
      if (goesOn && timer.current !== null) timer.current = setTimeout(look, pause, Math.min(pause * 1.3, LONGEST_PAUSE_MS), refused);
    };
    timer.current = 0;
    look(200);
    return stop;
  }, [looks]);
  const stop = () => {
    clearTimeout(timer.current);
    timer.current = null;
  };
  useEffect(() => {
    if (state === "built") session.reload();
    if (!proposal && ["proposed", "failed"].includes(state)) ask("GET", `${path}/proposal`).then(setProposal, () => {});
  }, [state]);
  const build = async (embed) => {
    try {
      setTable(await ask("POST", `${path}/build`, {embed}));
      setError(null);
      setLooks(looks + 1);
    } catch (problem) {
      setError(problem);
    }
  };
  const discard = async (said, question) => {
    if (question && !(await confirm(question, {yes: "Yes, remove", no: "Keep", danger: true}))) return;
    stop();
    try {
      await ask("DELETE", path);
      toast(said);
      session.reload();
      go("/add");
    } catch (problem) {
      setError(problem);
      setLooks(looks + 1);
    }
  };
  const discardTable = () => discard("The table was discarded.");
  const problem = error ?? (table?.problem && {message: table.problem});
  return html`${problem && html`<${Problem} error=${problem} />`}
    ${state === "building" ? html`<${Building} table=${table} cancel=${() => discard("The build was cancelled.", "What was built so far is removed.")} />`
      : state === "built" ? html`<${Built} table=${table} remove=${() => discard("The catalogue was removed.", `The catalogue ${table.catalogue} and its file are removed from this server.`)} />`
      : proposal ? html`<${Proposal} path=${path} file=${table.file} proposal=${proposal} onProposal=${setProposal} build=${build} discard=${discardTable} />`
      : problem ? html`<div class="row">${table && html`<button type="button" class="plain" onClick=${discardTable}>Discard it</button>`}<a href="/add">Choose another file</a></div>`
      : html`<${Spinner} label=${table ? `Reading ${table.file}…` : undefined} />`}`;
}

// The proposed catalogue as a form: what becomes of each column and why, and the first records as they will look.
function Proposal({path, file, proposal, onProposal, build, discard}) {
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
      const present = await ask("GET", `${path}/proposal`).catch(() => proposal);
      wanted.current = present.changes;
      onProposal(present);
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
    <${Names} proposal=${proposal} save=${save} />
    <div class="sides"><section class="card"><h2>Columns</h2>
      <table class="data columns"><thead><tr>${["Keep", "Column", "Type", "Use", "Why"].map((one) => html`<th key=${one}>${one}</th>`)}</tr></thead>
        <tbody>${columns.map((one) => html`<${Column} key=${one.column} column=${one} proposal=${proposal} setColumn=${setColumn} setRole=${setRole} />`)}
          ${composed.map((one) => html`<tr key=${one.column}><td></td><th scope="row">${one.field}</th><td>${TYPES[one.type]}</td><td>${one.uses}</td><td class="quiet">${one.reason}</td></tr>`)}</tbody></table>
      ${notes.map((note) => html`<p class="quiet" key=${note}>${upper(note)}.</p>`)}</section>
    <section class="first"><h2>First records, as they will look</h2><${HitList} hits=${proposal.results.map(hitOf)} label="First records" /></section></div>
    <details><summary>The spec that is written</summary><div class="block"><pre tabindex="0">${proposal.declaration}</pre></div></details>
    <div class="card row foot"><label class="inline grow"><input type="checkbox" defaultChecked ref=${embed} /> Find by meaning too, which takes longer to build</label>
      <button type="button" class="plain" onClick=${discard}>Discard</button><button type="button" disabled=${isBusy} onClick=${() => build(embed.current.checked)}>Build ${proposal.name}</button></div>
  </div>`;
}

function Names({proposal, save}) {
  const columns = proposal.columns.map(({column}) => [column]), {reading} = proposal.changes, {record_title: title, tables} = proposal;
  const text = (name, label, hint) => html`<div class="field"><label>${label}<input key=${proposal[name]} defaultValue=${proposal[name]} maxlength="100"
    aria-describedby=${`hint-${name}`} onChange=${(event) => save({[name]: event.target.value.trim() || null})} /></label><span class="hint" id=${`hint-${name}`}>${hint}</span></div>`;
  const choose = (label, ...given) => html`<label>${label}${select(undefined, ...given)}</label>`;
  return html`<section class="card grid">
    ${text("title", "Title of the catalogue", "as people see it")}
    ${text("name", "Name", "in addresses; a–z, digits, - and _")}
    ${choose("What names a record", title, columns.some(([one]) => one === title) ? columns : [[title], ...columns], (chosen) => save({record_title: chosen}))}
    ${choose("What identifies a row", proposal.id ?? "none", [["none", "made of the row's values"], ...columns], (id) => save({id}))}
    ${choose("One record of", proposal.group ?? "", [["", "each row"], ...columns.map(([one]) => [one, `all rows with the same ${one}`])], (group) => save({group: group || null}))}
    ${tables.length > 0 && choose("Table of the file", "", [["", reading.table ?? "the main one"], ...tables.map((one) => [one])], (table) => save({...OTHER_TABLE, reading: {...reading, table}}))}
  </section>`;
}

function Column({column: {column: name, field, type, role, examples, reason}, proposal, setColumn, setRole}) {
  const isTitle = proposal.record_title === name, isKept = field !== null;
  const choose = (what, value, names, onChoose) => isKept && select(`${what} of ${name}`, value, Object.entries(names), onChoose, isTitle);
  const check = (label, isOn, change) => html`<input type="checkbox" aria-label=${`${label} ${name}`} checked=${isOn} disabled=${isTitle} onChange=${() => setColumn(name, change)} />`;
  return html`<tr class=${isKept ? "" : "left-out"}>
    <td>${check("Keep", isKept, {use: isKept ? "drop" : "keep"})}</td>
    <th scope="row">${name}<span class="hint">${examples.join(" · ")}</span></th>
    <td>${choose("Type", type, TYPES, (chosen) => setColumn(name, {type: chosen}))}</td>
    <td>${choose("Use", role ?? "", ROLES, (chosen) => setRole(name, chosen))}</td>
    <td class="quiet">${reason}</td>
  </tr>`;
}

function select(label, value, options, onChoose, isDisabled = false) {
  return html`<select aria-label=${label} value=${value} disabled=${isDisabled} onChange=${(event) => onChoose(event.target.value)}>
    ${options.map(([one, shown = one]) => html`<option key=${one} value=${one}>${shown}</option>`)}</select>`;
}

function Building({table, cancel}) {
  const {phase, done, total, is_searchable: isSearchable} = table.progress;
  return html`<${Progress} title=${`Building ${table.catalogue}`} part=${total ? done / total : undefined} cancel=${cancel}>
    <p class="quiet" aria-live="polite">${number(done)}${total ? ` of ${number(total)}` : ""} ${phase === "texts" ? "texts embedded" : "rows read"}</p>
    ${isSearchable && html`<p>Words find its records already: <a href=${`/c/${table.catalogue}`}>search it now</a>. Their meaning is found as this goes on.</p>`}<//>`;
}

function Progress({title: told, part, cancel, children}) {
  return html`<section class="card stack"><h2>${told}</h2><progress value=${part} max="1" aria-label=${told}></progress>
    ${children}<div><button type="button" class="plain" onClick=${cancel}>Cancel</button></div></section>`;
}

function Built({table, remove}) {
  const heading = useRef();
  useEffect(() => heading.current.focus(), []);
  return html`<${Notice} mood="good"><h2 tabindex="-1" ref=${heading}>${table.catalogue} is ready</h2>
      <ul>${table.report.map((line) => html`<li>${upper(line)}.</li>`)}</ul><//>
    <div class="row"><a class="button" href=${`/c/${table.catalogue}`}>Search it</a><a class="button plain" href="/add">Add another</a>
      <button type="button" class="plain danger" onClick=${remove}><${Icon} name="undo" /> Undo: remove it</button></div>`;
}
