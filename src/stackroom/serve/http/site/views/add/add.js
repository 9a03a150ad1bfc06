// Add a table: drop it, see it built, and search it.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {go} from "../../core/address.js";
import {bytes} from "../../core/units.js";
import {ask} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {addIcons, Empty, Icon, Notice, Problem, Spinner, toast} from "../../parts/basics.js";
import {confirm} from "../../parts/layers.js";

addIcons({upload: "M12 16V4M7 9l5-5 5 5M4 20h16"});

export const title = t`Add a table`;
const STATES = {building: t`is being built`, built: t`was built`, failed: t`was not built`};
const WAITING = ["receiving", "building"];
const AGAIN = [0, 409, 429, 503, 507], GONE = [401, 403, 404], LONGEST_PAUSE_MS = 1500;
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

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
      const id = await sendFile(file, server.piece_bytes, (part) => setSending({file, part}), {signal: stop.current.signal});
      go(`/add?table=${id}`);
    } catch (problem) {
      if (problem.name !== "AbortError") setError({...problem, message: problem.message, file});
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
  if (sending) return html`<${Progress} title=${t`Sending ${sending.file.name}`} part=${sending.part} cancel=${() => stop.current.abort()} />`;
  const known = server.tables.filter(({state}) => STATES[state]);
  return html`${error && html`<${Problem} error=${error} retry=${AGAIN.includes(error.status) && (() => send(error.file))} />`}
    <label class=${`drop ${isOver ? "over" : ""}`}>
      <${Icon} name="upload" /><strong>Drop a table here, or choose a file</strong>
      <span class="quiet">CSV, JSON, Parquet, Excel, OpenDocument or SQLite, also compressed; up to ${bytes(server.max_bytes)}. It stays on this server.</span>
      <input type="file" class="unseen" accept=${server.suffixes.join()} onChange=${(event) => send(event.target.files[0])} />
    </label>
    ${known.length > 0 && html`<h2>Tables of today</h2><ul>${known.map(({id, file, state}) => html`
      <li key=${id}><a href=${`/add?table=${id}`}>${file}</a> <span class="quiet">${STATES[state]}</span></li>`)}</ul>`}`;
}

export async function sendFile(file, pieceBytes, onPart, {signal, ...more} = {}) {
  const {id} = await ask("POST", "/v1/tables", {file: file.name, size_bytes: file.size, ...more});
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
  const [table, setTable] = useState(null), [error, setError] = useState(null);
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
  }, [state]);
  const discard = async (said, question) => {
    if (question && !(await confirm(question, {yes: t`Yes, remove`, no: t`Keep`, danger: true}))) return;
    stop();
    try {
      const owned = table?.is_searchable ? [`/v1/catalogues/${table.catalogue}`] : [];
      for (const one of state === "built" ? [...owned, path] : [path, ...owned]) await ask("DELETE", one);
      toast(said, {undo: owned.length && bringBack});
      session.reload();
      go("/add");
    } catch (problem) {
      setError(problem);
      setLooks(looks + 1);
    }
  };
  const bringBack = async () => {
    await ask("POST", `/v1/catalogues/${table.catalogue}/undo`, {});
    session.reload();
    go(`/manage/${table.catalogue}`);
  };
  const discardTable = () => discard(t`The table was discarded.`);
  const build = (options) => ask("POST", `${path}/build`, {options}).then(() => setLooks(looks + 1), setError);
  const problem = error ?? (table?.problem && {message: inFields(table.problem)});
  return html`${problem && html`<${Problem} error=${problem} />`}
    ${state === "building" ? html`<${Building} table=${table} cancel=${() => discard(t`The build was cancelled.`, t`What was built so far is removed.`)} />`
      : state === "built" ? html`<${Built} table=${table} remove=${() => discard(t`The catalogue was removed.`, t`The catalogue ${table.catalogue} is removed from this server; for a day it can be brought back.`)} />`
      : problem ? html`${state === "failed" && html`<${Otherwise} key=${table.problem} problem=${table.problem} onBuild=${build} />`}<div class="row">${table && html`<button type="button" class="plain" onClick=${discardTable}>Discard it</button>`}<a href="/add">Choose another file</a></div>`
      : html`<${Spinner} />`}`;
}

const OTHERWISE = {skip: t`Lines above the header`, "header-rows": t`Lines of the header`, encoding: t`Encoding`, sheet: t`Sheet`, records: t`Where the records are`, "accept-losses": t`Build it without the rows that cannot be read`};
const NAMED = /--(skip|header-rows|encoding|sheet|records|accept-losses)( \d+)?(?: NAME)?/gu;
const inFields = (text) => text.replace(NAMED, (_whole, name, value = "") => `“${OTHERWISE[name]}”${value}`);

function Otherwise({problem, onBuild}) {
  const names = [...new Set([...problem.matchAll(NAMED)].map(([, name]) => name))];
  const onSubmit = (event) => {
    event.preventDefault();
    onBuild(Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value)));
  };
  return names.length > 0 && html`<form class="card stack" onSubmit=${onSubmit}><h2>Read it otherwise</h2>${names.map((name) => (name === "accept-losses"
    ? html`<label key=${name} class="inline"><input type="checkbox" name=${name} />${OTHERWISE[name]}</label>` : html`<label key=${name}>${OTHERWISE[name]}<input name=${name} /></label>`))}
    <div><button type="submit">Try again</button></div></form>`;
}

function Building({table, cancel}) {
  return html`<${Progress} title=${t`Building ${table.catalogue}`} cancel=${cancel}>
    ${table.is_searchable && html`<p aria-live="polite">Words find its records already: <a href=${`/c/${table.catalogue}`}>search it now</a>. Their meaning is found as this goes on.</p>`}<//>`;
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
    <div class="row"><a class="button" href=${`/c/${table.catalogue}`}>Search it</a><a class="button plain" href=${`/manage/${table.catalogue}`}>Columns and more</a><a class="button plain" href="/add">Add another</a>
      <button type="button" class="plain danger" onClick=${remove}><${Icon} name="undo" /> Undo: remove it</button></div>`;
}
