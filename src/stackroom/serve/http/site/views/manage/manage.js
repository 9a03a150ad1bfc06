// A catalogue's own page for its owner.
import {html, useEffect, useState, t} from "../../core/html.js";
import {go} from "../../core/address.js";
import {inWords, number, plural} from "../../core/format.js";
import {ask} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Notice, Problem, toast} from "../../parts/basics.js";
import {sendFile} from "../add/add.js";
import {Loaded, Table, Tiles, useForm, useLoad} from "../run/shared.js";

const LOOK_MS = 700, FOLLOWED_MS = 1000;
const COUNTS = {added: t`Added`, changed: t`Modified`, removed: t`Removed`, unchanged: t`Unchanged`, rejected: t`Rejected`};
const OPS = {insert: COUNTS.added, update: COUNTS.changed, delete: COUNTS.removed};

export const title = t`Manage`;

export default function Manage({address, session}) {
  const isStyled = useStyle("views/run/run.css") & useStyle("views/records.css");
  const name = address.params.catalogue;
  if (!session.may("ServerAdmin")) return html`<${Empty} title="Administrators manage catalogues" />`;
  return isStyled ? html`<${Owned} key=${name} name=${name} session=${session} />` : null;
}

function Owned({name, session}) {
  const path = `/v1/catalogues/${encodeURIComponent(name)}`, [isBusy, setBusy] = useState(false), [table, setTable] = useState(null), [error, setError] = useState(null);
  const state = useLoad((signal) => ask("GET", path, undefined, {signal}), [], isBusy ? LOOK_MS : 0), {value} = state, work = value?.work;
  const isRunning = Boolean(work?.is_running);
  useEffect(() => { if (isBusy && work && !isRunning) { setBusy(false); session.reload(); } }, [work, isRunning]);
  useEffect(() => { if (isRunning) setBusy(true); }, [isRunning]);
  const run = async (what, more = {}) => {
    setError(null);
    try {
      await ask("POST", `${path}/work`, {what, ...more});
      state.reload();
      setBusy(true);
    } catch (problem) {
      setError(problem);
    }
  };
  const change = async (verb, body, said) => {
    await ask("POST", `${path}/${verb}`, body);
    toast(said);
    setTimeout(session.reload, FOLLOWED_MS);
    state.reload();
  };
  const done = work && !isRunning && !isBusy ? work : {};
  const given = {value, run, change, isBusy, report: (...whats) => whats.includes(done.what) && !done.problem && done.report};
  return html`<div class="stack manage"><header><p class="quiet"><a href=${`/c/${encodeURIComponent(name)}`}>${value?.title ?? name}</a></p><h1>Manage ${value?.title ?? name}</h1></header>
    <${Loaded} state=${state}>${() => html`
      <${Tiles} tiles=${tilesOf(value)} />
      <div aria-live="polite">${isBusy && html`<section class="card"><p>Working …</p><progress aria-label="Working"></progress></section>`}
        ${(error || done.problem) && html`<${Problem} error=${error ?? {message: done.problem}} />`}
        <${Said} report=${given.report("replace", "refresh", "rebuild", "update", "rollback")} /></div>
      <div class="halves"><div class="stack"><${Words} ...${given} /><${Name} name=${name} ...${given} /></div>
        <div class="stack"><${NewFile} name=${name} table=${table} setTable=${setTable} ...${given} /><${Quality} ...${given} /></div></div>
      <${Columns} ...${given} />
      <${Rejects} ...${given} />
      <${Removal} name=${name} path=${path} session=${session} />`}<//></div>`;
}

function tilesOf({records, model, awaiting_vectors: waiting, sources}) {
  const found = waiting ? t`words and meaning; ${waiting} wait` : t`words and meaning`;
  return {[t`Records`]: number(records), [t`Found by`]: model ? found : t`words alone`, ...sources.length && {[t`Read from`]: sources.join(", ")}};
}

function Said({report}) {
  if (!report) return null;
  const {written, unchanged, removed, rejected = 0, duplicates = 0, version, former, notes = []} = report, left = rejected + duplicates;
  return html`<${Notice} mood="good"><p>${version ? `${former ?? t`Release`} → ${version}. ` : ""}${[t`${plural(written, "record")} written`, unchanged !== undefined && t`${unchanged} unchanged`, t`${removed} removed`, left && t`${plural(left, "row")} left out`].filter(Boolean).join(", ")}.</p>
    ${notes.map((note) => html`<p>${note}</p>`)}<//>`;
}

const typedIn = ({target}) => Object.fromEntries(new FormData(target));

function Words({value: {title, summary, editable}, change}) {
  const [send, problem] = useForm((event) => change("describe", {...typedIn(event), editable: event.target.editable.checked}, t`Saved.`));
  return html`<section class="card"><h2>In words</h2><form class="stack" onSubmit=${send}>
    <label>Title<input name="title" defaultValue=${title} maxlength="120" /></label>
    <label>What is in it<textarea name="summary" rows="3" maxlength="600" defaultValue=${summary}></textarea><span class="hint">Assistants read this to decide where to search.</span></label>
    <label class="inline"><input type="checkbox" name="editable" defaultChecked=${editable} />Its records can be edited</label>
    ${problem}<div><button type="submit">Save</button></div></form></section>`;
}

function Name({name, change}) {
  const [send, problem] = useForm(async (event) => {
    const {new: given} = typedIn(event);
    await change("rename", {new: given}, t`It is called ${given} now.`);
    go(`/manage/${encodeURIComponent(given)}`, {replace: true});
  });
  return html`<section class="card"><h2>Name</h2><form class="stack" onSubmit=${send}>
    <label>Its name in addresses and commands<input name="new" defaultValue=${name} spellcheck="false" /><span class="hint">Links that people kept go on with the former name.</span></label>
    ${problem}<div><button type="submit">Rename</button></div></form></section>`;
}

function NewFile({name, value: {sources, model, models}, run, report, isBusy, table, setTable}) {
  const [part, setPart] = useState(null), [error, setError] = useState(null), plan = report("plan");
  const send = async ({target: {files: [file]}}) => {
    if (!file) return;
    setError(null);
    try {
      const {piece_bytes: piece} = await ask("GET", "/v1/tables");
      const id = await sendFile(file, piece, setPart, {catalogue: name});
      setTable(id);
      run("plan", {table: id});
    } catch (problem) {
      setError(problem);
    }
    setPart(null);
  };
  const embed = (event) => {
    event.preventDefault();
    run("refresh", typedIn(event));
  };
  const discard = async () => {
    await ask("DELETE", `/v1/tables/${table}`);
    setTable(null);
  };
  return html`<section class="card stack"><h2>New data</h2>
    ${error && html`<${Problem} error=${error} />`}
    ${part !== null ? html`<progress value=${part} max="1" aria-label="Sending the file"></progress>`
      : plan && table ? html`<${Plan} plan=${plan} /><div class="row"><button type="button" disabled=${isBusy} onClick=${() => run("replace", {table}).then(() => setTable(null))}>Apply</button>
        <button type="button" class="plain" onClick=${discard}>Discard the file</button></div>`
      : sources.length === 1 ? html`<label>A new file in place of ${sources[0]}<input type="file" disabled=${isBusy} onChange=${send} /><span class="hint">What would change is shown first. Edits made by hand stay.</span></label>
        <div><button type="button" class="plain" disabled=${isBusy} onClick=${() => run("refresh")}>Read ${sources[0]} again</button></div>
        <form class="row" onSubmit=${embed}><label>Model that finds by meaning<select name="model">${models.map((one) => html`<option key=${one} selected=${model?.startsWith(one)}>${one}</option>`)}</select></label>
          <button type="submit" class="plain" disabled=${isBusy}>Embed all texts anew</button></form>`
      : html`<p class="quiet">It has ${plural(sources.length, "source")}; on the server: <code>stackroom add</code></p>`}</section>`;
}

function Plan({plan}) {
  return html`<${Tiles} tiles=${Object.fromEntries(Object.keys(COUNTS).map((one) => [COUNTS[one], number(plan[one])]))} />
    ${plan.examples.length > 0 && html`<${Table} label="What would change" rows=${plan.examples} columns=${{"": ({op}) => OPS[op], [t`Record`]: "title",
      [t`Fields`]: ({fields}) => fields.map(({field, before, after}) => html`<div key=${field}>${inWords(field)}: <del>${before}</del> <ins>${after}</ins></div>`)}} />`}
    ${plan.rejects.length > 0 && html`<${Table} label="Left out" rows=${plan.rejects} columns=${{[t`Left out`]: ([place]) => place, [t`Because`]: ([, reason]) => reason}} />`}
    ${plan.notes.map((note) => html`<p class="quiet">${note}</p>`)}`;
}

function Quality({value: {grade, release, former_release: former}, run, isBusy}) {
  const Do = ({what, children}) => html`<button type="button" class="plain" disabled=${isBusy} onClick=${() => run(what)}>${children}</button>`;
  return html`<section class="card stack"><h2>${release ? t`Quality and releases` : t`Quality`}</h2>
    <p>${grade ?? t`Never graded.`}</p>
    ${release && html`<p>${former ? t`Release ${release}; before it ${former}.` : t`Release ${release}.`}</p>`}
    <div class="row"><${Do} what="grade">Grade it<//>${release && html`<${Do} what="update">Look for a newer release<//>`}${former && html`<${Do} what="rollback">Go back to ${former}<//>`}</div></section>`;
}

const ROLES = {none: "–", title: t`Title`, body: t`Main text`, alternatives: t`Also called`, people: t`People`, time: t`Time`, place: t`Place`, popularity: t`Popularity`, picture: t`Picture`, link: t`Link`};

function Columns({value: {package: followed, sources, fields}, run, report, isBusy}) {
  const proposal = report("columns"), present = Object.fromEntries(fields.map(({column, role}) => [column, role ?? "none"]));
  const roleOf = ({column, role}) => present[column] ?? role ?? "none";
  const build = (event) => {
    event.preventDefault();
    const typed = new FormData(event.target), drop = typed.getAll("drop"), all = proposal.fields.filter(({column}) => !drop.includes(column));
    const roles = Object.fromEntries(all.map(({column}) => [column, typed.get(column)])), titles = all.filter(({column}) => roles[column] === "title");
    const named = titles.find((one) => roleOf(one) !== "title") ?? titles[0];
    for (const {column, role} of all) if (roles[column] === "title" || roles[column] === (role ?? "none")) delete roles[column];
    run("rebuild", {roles, drop, title: named?.column ?? ""});
  };
  return html`<section class="card stack"><h2>Columns</h2>
    ${followed ? html`<p class="quiet">It follows the package ${followed}.</p>`
      : proposal ? html`<form class="stack" onSubmit=${build}><${Table} label="Columns" rows=${proposal.fields} columns=${{[t`Column`]: "column", [t`Type`]: ({type}) => inWords(type), [t`Role`]: (field) => html`
          <select name=${field.column} aria-label=${t`Role of ${field.column}`}>${Object.entries(ROLES).map(([role, label]) => html`<option key=${role} value=${role} selected=${roleOf(field) === role}>${label}</option>`)}</select>`,
        [t`Because`]: "reason", [t`Left out`]: ({column}) => html`<input type="checkbox" name="drop" value=${column} aria-label=${t`Leave out ${column}`} />`}} />
        ${proposal.left_out.length > 0 && html`<p class="quiet">Left out: ${proposal.left_out.map(({column, reason}) => `${column} (${reason})`).join("; ")}</p>`}
        <div><button type="submit" disabled=${isBusy}>Build with these</button></div></form>`
      : html`<p class="quiet">${fields.map(({name, role}) => `${inWords(name)}${role ? ` (${ROLES[role].toLowerCase()})` : ""}`).join(", ")}</p>
        ${sources.length === 1 && html`<div><button type="button" class="plain" disabled=${isBusy} onClick=${() => run("columns")}>Change columns and roles</button></div>`}`}</section>`;
}

function Rejects({run, report, isBusy}) {
  const rows = report("rejects");
  return html`<section class="card stack"><h2>Left out</h2>
    ${rows && html`<${Table} label="Left out" rows=${rows} empty="Nothing was left out." columns=${{[t`Place`]: ({place, column, field}) => [place ?? column, field].filter(Boolean).join(", "), [t`Why`]: ({reason, cells}) => reason ?? cells}} />`}
    <div><button type="button" class="plain" disabled=${isBusy} onClick=${() => run("rejects")}>List them</button></div></section>`;
}

function Removal({name, path, session}) {
  const undo = async () => {
    await ask("POST", `${path}/undo`, {});
    session.reload();
    go(`/manage/${encodeURIComponent(name)}`);
  };
  const remove = async () => {
    await ask("DELETE", path);
    session.reload();
    go("/");
    toast(t`${name} was removed.`, {undo});
  };
  return html`<section class="card stack"><h2>Remove</h2><p class="quiet">For a day it can be brought back.</p>
    <div><button type="button" class="plain danger" onClick=${remove}>Remove this catalogue</button></div></section>`;
}
