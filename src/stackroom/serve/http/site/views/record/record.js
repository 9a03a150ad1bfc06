// The record that the address names: its fields by role, what it is related to, why it has its place, and its edits.
import {html, useEffect, useState, t} from "../../core/html.js";
import {go, link, useAddress} from "../../core/address.js";
import {searchOf} from "../../core/catalogue.js";
import {inWords, number, plural} from "../../core/format.js";
import {callTool, useSession} from "../../core/server.js";
import {useKeys} from "../../core/keys.js";
import {useStore, useStyle} from "../../core/store.js";
import {addIcons, Icon, Notice, Problem, Spinner, toast} from "../../parts/basics.js";
import {Call} from "../../parts/code.js";
import {Face} from "../../parts/face.js";
import {confirm, Drawer} from "../../parts/layers.js";
import {dislike, like, moodOf, remove, taste} from "../taste/store.js";
import {hitOf} from "../../parts/found.js";
import {closeRecord, fetchRecord, Finder, openRecord, recordCall, recordLink} from "./open.js";

export const calls = ({query}) => [recordCall(query.get("open"))];

addIcons({dislike: "M5 5l14 14M9 5a4 4 0 0 0-5 4c0 6 8 11 8 11l4-3M15.5 5a4 4 0 0 1 4.5 4c0 1.5-.5 3-1.2 4.2"});

const FIRST = 6, SIMILAR = 8, EDIT_TOOL = "catalog.mutate";

export default function Record({address}) {
  const key = address.query.get("open");
  const [state, setState] = useState({}), [isEditing, setEditing] = useState(false), [tries, setTries] = useState(0), tool = useSession().tool(EDIT_TOOL);
  const isStyled = [useStyle("views/records.css"), useStyle("parts/layers.css")].every(Boolean);
  const load = () => setTries((count) => count + 1);
  useEffect(() => setEditing(false), [key]);
  useEffect(() => {
    const stop = new AbortController(), give = (found) => stop.signal.aborted || setState({key, ...found});
    fetchRecord(key, stop).then((found) => give({record: {...found, hit: hitOf(found), call: {name: "fetch", arguments: {id: found.id}}}}), (error) => give({error}));
    window.addEventListener("recordchange", load);
    return () => {
      stop.abort();
      window.removeEventListener("recordchange", load);
    };
  }, [key, tries]);
  const {record: found, error} = state.key === key ? state : {}, record = found && {...found, edit: formOf(found, tool)};
  return isStyled && html`<${Drawer} className="record" title=${record?.hit.title ?? t`Record`} onClose=${closeRecord}>
    ${error ? html`<${Problem} error=${error} retry=${error.status === 404 ? null : load} />`
      : !record ? html`<${Spinner} />`
      : isEditing ? html`<${Edit} record=${record} onDone=${() => setEditing(false)} />`
      : html`<${Shown} key=${key} record=${record} onEdit=${() => setEditing(true)} />`}
  <//>`;
}

// The call that edits a record, with its fields; null where it cannot be edited, or not by this person.
function formOf({editable, fields, hit: {catalogue, id, kind}}, tool) {
  if (!tool || !editable) return null;
  const named = "catalogue" in tool.inputSchema.properties ? {catalogue} : {};
  return {name: tool.name, arguments: {...named, id, kind}, fields: fields.filter((one) => one.is_edited)};
}

function Shown({record, onEdit}) {
  const {hit, relations, origin, call} = record, fields = record.fields.filter((one) => one.is_shown);
  const body = fields.find((one) => one.role === "body");
  return html`
    <div class="record-head">
      <${Face} ...${hit} />
      <div><p class="quiet">${hit.subtitle}</p><${Actions} record=${record} onEdit=${onEdit} /></div>
    </div>
    ${body && html`<${Body} text=${String(body.value)} />`}
    <${Facts} catalogue=${hit.catalogue} fields=${ordered(fields)} written=${record.written ?? {}} />
    ${relations.map((one) => html`<${Group} key=${one.name} title=${one.name} hits=${one.results.map(hitOf)} total=${one.total} />`)}
    ${record.has_vectors && html`<${Similar} key=${hit.key} of=${hit.key} />`}
    <${Why} hit=${hit} />
    ${origin && html`<p class="quiet">From ${origin}</p>`}
    <${Call} ...${call} />`;
}

function Actions({record, onEdit}) {
  const {hit} = record;
  const play = () => import("../music/queue.js").then(({play: start}) => start([hit]));
  return html`<div class="row">
    ${hit.audio && html`<button type="button" class="small" onClick=${play}><${Icon} name="play" /> Play</button>`}
    ${record.has_vectors && html`<${Moods} hit=${hit} />
      <button type="button" class="plain small" onClick=${() => { like(hit); go(`/taste/${encodeURIComponent(hit.catalogue)}`); }}>More like this</button>`}
    ${record.edit && html`<button type="button" class="plain small" onClick=${onEdit}><${Icon} name="edit" /> Edit</button>`}
    ${hit.url && html`<a class="button plain small" href=${hit.url} target="_blank" rel="noreferrer noopener"><${Icon} name="link" /> Source page</a>`}
  </div>`;
}

export function Moods({hit, isBrief}) {
  const mood = useStore(taste, (tray) => moodOf(hit.key, tray));
  return [["like", t`Like`, like], ["dislike", t`Dislike`, dislike]].map(([name, label, put]) => html`
    <button key=${name} type="button" class=${isBrief ? "quiet-button" : "plain small"} aria-pressed=${mood === name} aria-label=${isBrief ? `${label} ${hit.title}` : undefined}
      onClick=${() => (mood === name ? remove(hit.key) : put(hit))}><${Icon} name=${name} /> ${!isBrief && label}</button>`);
}

function Body({text}) {
  const [isWhole, setWhole] = useState(false), isLong = text.length > 900;
  return html`<p class=${`record-text ${isLong && !isWhole ? "cut" : ""}`}>${text}</p>
    ${isLong && html`<button type="button" class="link" onClick=${() => setWhole(!isWhole)}>${isWhole ? t`Show less` : t`Show all`}</button>`}`;
}

function Similar({of}) {
  const [found, setFound] = useState(null);
  const asked = {id: of, limit: SIMILAR};
  useEffect(() => { callTool("similar", {...asked, include: ["tiles"]}).then(({results}) => setFound(results.map(hitOf)), () => setFound([])); }, [of]);
  if (!found) return html`<section class="record-group"><h3>Similar</h3><${Spinner} /></section>`;
  return found.length > 0 && html`<${Group} title="Similar" hits=${found} total=${found.length}><${Call} name="similar" arguments=${asked} /><//>`;
}

function Group({title, hits, total, children}) {
  const [isWhole, setWhole] = useState(false);
  return html`<section class="record-group">
    <h3>${title} ${total > FIRST && html`<span class="quiet">${total}</span>`}</h3>
    <ul class="brief">${hits.slice(0, isWhole ? undefined : FIRST).map((hit) => html`<li key=${hit.key}>
      <a href=${recordLink(hit.key)}><${Face} ...${hit} /><span>${hit.title}</span></a>
      <span class="quiet">${hit.subtitle}</span></li>`)}</ul>
    ${hits.length > FIRST && !isWhole && html`<button type="button" class="link" onClick=${() => setWhole(true)}>${total > hits.length ? t`Show ${hits.length} of ${total}` : t`Show all ${total}`}</button>`}
    ${children}
  </section>`;
}

const ORDER = ["people", "time", "place", "alternatives", null, "popularity", "picture", "link"];
const LABELS = {alternatives: t`Also called`};

// Title and body are shown apart; the others as their roles say how much they tell.
function ordered(fields) {
  const rest = fields.filter(({role}) => role !== "title" && role !== "body");
  return rest.sort((one, other) => ORDER.indexOf(one.role) - ORDER.indexOf(other.role));
}

function Facts({catalogue, fields, written}) {
  return fields.length > 0 && html`<dl class="facts">${fields.map((field) => html`
    <dt key=${field.field}>${LABELS[field.role] ?? field.label}</dt><dd><${Value} catalogue=${catalogue} field=${field} />
      ${written[field.field] && html` <span class="quiet">(written: ${written[field.field]})</span>`}</dd>`)}</dl>`;
}

function Value({catalogue, field}) {
  const {filter, type, value, text} = field, all = texts(value);
  const found = (name, one) => link(`/c/${encodeURIComponent(catalogue)}`, {[`${name}.${field.field}`]: one});
  if (type === "json") return html`<code>${JSON.stringify(value)}</code>`;
  if (all.some(isPage)) return html`<ul>${all.map((one) => html`<li>${isPage(one)
    ? html`<a href=${one} target="_blank" rel="noreferrer noopener">${one.replace(/^https?:\/\/(www\.)?/u, "")}</a>` : one}</li>`)}</ul>`;
  if (filter === "values") return html`<span class="chips">${all.map((one) => html`<a class="chip" href=${found("f", one)}>${Array.isArray(value) ? one : text}</a>`)}</span>`;
  if (filter === "range") return html`<a href=${found("r", `${value}..${value}`)}>${text}</a>`;
  return Array.isArray(value) ? all.join(" · ") : text;
}

const isPage = (text) => /^https?:\/\/\S+$/iu.test(text);

function Why({hit}) {
  const {path: here, query: parameters} = useAddress(), isHere = here === `/c/${hit.catalogue}`;
  const asked = isHere || here === "/search" ? parameters.get("q") ?? "" : "";
  const [typed, setTyped] = useState(asked), [state, setState] = useState(null);
  const explain = async (query) => {
    setState({});
    try {
      const call = query === asked && isHere ? searched(hit.catalogue, parameters) : {query};
      setState({told: await callTool("explain", {id: hit.key, arguments: call})});
    } catch (error) {
      setState({error});
    }
  };
  useEffect(() => { setState(null); setTyped(asked); }, [asked, hit.key]);
  const onSubmit = (event) => { event.preventDefault(); if (typed.trim()) explain(typed.trim()); };
  return html`<details class="record-group why" onToggle=${(event) => event.target.open && !state && asked && explain(asked)}>
    <summary><h3>${asked ? t`Why this rank?` : t`How would it rank?`}</h3></summary>
    <form class="row" onSubmit=${onSubmit}>
      <label class="grow">For the query<input value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
      <button type="submit" class="plain">Explain</button>
    </form>
    <div aria-live="polite">${state?.error ? html`<${Problem} error=${state.error} />` : state?.told ? html`<${Told} told=${state.told} />` : state && html`<${Spinner} />`}</div>
    ${isHere && asked && html`<${Finder} catalogue=${hit.catalogue} label="Why not another? Its name" onChoose=${(other) => openRecord(other.key)} />`}
  </details>`;
}

// The very call that the results on the page came from, so that the explanation is of what is seen.
function searched(catalogue, parameters) {
  const {query, filters, exclude, area} = searchOf(catalogue, parameters);
  return {query, catalogue, filters, exclude, ...(area && {area})};
}

function Told({told}) {
  const place = told.found ? t`Number ${told.rank}, by ${told.tool}` : t`Not among the results`;
  const strongest = Math.max(...Object.values(told.strength).map(Math.abs), 0.0001);
  return html`<p><b>${place}</b> · evidence ${number(told.score)} of 1</p>
    <ul class="because">${told.because.map((one) => html`<li>${one}</li>`)}</ul>
    <table class="bars"><caption>What its evidence is made of</caption><tbody>${Object.entries(told.strength).map(([name, part]) => html`<tr key=${name}>
      <th scope="row">${name.replace(/[:_]/gu, " ")}</th><td><span class=${`bar-part ${part < 0 ? "minus" : ""}`} style=${{width: `${100 * Math.abs(part) / strongest}%`}}></span></td><td class="number">${part.toFixed(3)}</td></tr>`)}</tbody></table>`;
}

// A value of a record as texts: a list's items, a tag's value.
function texts(value) {
  return [value ?? []].flat().map((one) => (one && typeof one === "object" ? one.value ?? JSON.stringify(one) : String(one)));
}

const LISTS = ["text[]", "tag[]"];
const NUMBERS = ["int", "float"];
const OPS = {insert: t`New`, update: t`Changed`, delete: t`Deleted`};

function Edit({record, onDone}) {
  const {name, arguments: given, fields} = record.edit;
  const [typed, setTyped] = useState(() => Object.fromEntries(fields.map((one) => [one.field, asText(one)])));
  const [state, setState] = useState({});
  const altered = fields.filter((one) => typed[one.field] !== asText(one));
  const mutate = async (change, isPreview) => {
    setState({...state, isBusy: true});
    try {
      const answer = await callTool(name, {...given, ...change, ...(isPreview ? {preview: true} : {plan: state.preview.plan})});
      if (isPreview) setState({change, preview: answer});
      else finish(name, given, record.hit, change, answer, onDone);
    } catch (error) {
      setState({change, error, mayCascade: change.action === "delete" && !change.cascade});
    }
  };
  const onSubmit = (event) => {
    event.preventDefault();
    mutate({action: "update", fields: Object.fromEntries(altered.map((one) => [one.field, asValue(one, typed[one.field])]))}, true);
  };
  const {preview, change, error, mayCascade, isBusy} = state;
  const leave = async () => {
    if (preview) setState({});
    else if (!altered.length || await confirm(t`What you changed here is not saved.`, {title: t`Leave the form?`, yes: t`Leave it`, no: t`Keep editing`, danger: true})) onDone();
  };
  useKeys(t`Form`, {Escape: [t`leave the form`, leave]});
  if (preview) return html`<${Changes} preview=${preview} record=${record.hit} />
    <div class="row end">
      <button type="button" class="plain" onClick=${() => setState({})}>Back</button>
      <button type="button" class=${change.action === "delete" ? "danger" : ""} disabled=${isBusy || !preview.plan} onClick=${() => mutate(change, false)}>${change.action === "delete" ? t`Delete` : t`Apply`}</button>
    </div>`;
  return html`<form class="stack" onSubmit=${onSubmit}>
    ${fields.map((one) => html`<${Input} key=${one.field} field=${one} value=${typed[one.field]} onInput=${(text) => setTyped({...typed, [one.field]: text})} />`)}
    <div class="row edit-actions">
      ${error && html`<${Problem} error=${error} />`}
      ${mayCascade && html`<button type="button" class="plain danger" onClick=${() => mutate({action: "delete", cascade: true}, true)}>See what would be deleted with it</button>`}
      <button type="submit" disabled=${isBusy || altered.length === 0}>Preview</button>
      <button type="button" class="plain" onClick=${onDone}>Cancel</button>
      <span class="spring"></span>
      <button type="button" class="plain danger" disabled=${isBusy} onClick=${() => mutate({action: "delete"}, true)}>Delete …</button>
    </div>
  </form>`;
}

function Input({field, value, onInput}) {
  const given = {value, required: field.required, onInput: (event) => onInput(event.target.value)};
  const hint = [field.description, LISTS.includes(field.type) && t`One per line.`].filter(Boolean).join(" ");
  return html`<label>${field.label}
    ${field.choices.length ? html`<select ...${given}><option value=""></option>${field.choices.map((one) => html`<option>${one}</option>`)}</select>`
      : field.role === "body" || LISTS.includes(field.type) ? html`<textarea rows=${field.role === "body" ? 6 : 2} ...${given}></textarea>`
      : html`<input type=${NUMBERS.includes(field.type) ? "number" : "text"} step="any" ...${given} />`}
    ${hint && html`<span class="hint">${hint}</span>`}
  </label>`;
}

// Say what was done, with its undoing, and show the record as it is now.
function finish(name, given, hit, change, answer, onDone) {
  const named = given.catalogue ? {catalogue: given.catalogue} : {};
  const tell = () => window.dispatchEvent(new CustomEvent("recordchange", {detail: {catalogue: hit.catalogue}}));
  const undo = async () => {
    await callTool(name, {...named, action: "undo", id: answer.call_id});
    toast(t`Undone.`);
    tell();
  };
  toast(change.action === "delete" ? t`${hit.title} was deleted.` : t`${hit.title} was changed.`, answer.call_id ? {undo} : {});
  tell();
  change.action === "delete" ? closeRecord() : onDone();
}

function asText({type, value}) {
  return LISTS.includes(type) ? texts(value).join("\n") : String(value ?? "");
}

function asValue({type}, text) {
  if (LISTS.includes(type)) return text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (text.trim() === "") return null;
  return NUMBERS.includes(type) ? Number(text) : text;
}

function Changes({preview, record}) {
  return html`<h3>${preview.total ? t`${plural(preview.total, "record")} would change` : t`Nothing would change`}</h3>
    ${preview.notes.map((note) => html`<${Notice}>${note}<//>`)}
    <ul class="changes stack">${preview.changes.map((one) => html`<li key=${one.id} class="card">
      <p><b>${OPS[one.op]}</b> ${one.id === record.id ? record.title : one.id} <span class="quiet">${one.kind}</span></p>
      <dl class="facts">${one.fields.map(({field, before, after}) => html`<dt key=${field}>${inWords(field)}</dt><dd><${Difference} before=${before} after=${after} /></dd>`)}</dl>
    </li>`)}</ul>
    ${preview.has_more && html`<p class="quiet">The first ${preview.changes.length} are shown.</p>`}`;
}

// What is the same at both ends is shown once.
function Difference({before, after}) {
  const [old, fresh] = [before, after].map((value) => texts(value).join(", ").split(/(?<=\s)/u));
  const same = (one, other) => { const place = one.findIndex((word, at) => word !== other[at]); return place < 0 ? one.length : place; };
  const head = same(old, fresh), rest = [old.slice(head), fresh.slice(head)];
  const tail = same(rest[0].toReversed(), rest[1].toReversed());
  const [gone, come] = rest.map((words) => words.slice(0, words.length - tail).join(""));
  return html`${old.slice(0, head).join("")}${gone && html`<del>${gone}</del>`} ${come && html`<ins>${come}</ins>`}${rest[0].slice(rest[0].length - tail).join("")}`;
}
