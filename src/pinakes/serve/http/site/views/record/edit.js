// Edits of a record: a form, the preview of every change that follows, and undo.
import {html, useState} from "../../core/html.js";
import {inWords, plural} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {Notice, Problem, toast} from "../../parts/basics.js";
import {texts} from "./finder.js";
import {closeRecord} from "./open.js";

const LISTS = ["text[]", "tag[]"];
const NUMBERS = ["int", "float"];
const OPS = {insert: "New", update: "Changed", delete: "Deleted"};

export function Edit({record, onDone}) {
  const {name, arguments: given, fields} = record.edit;
  const [typed, setTyped] = useState(() => Object.fromEntries(fields.map((one) => [one.field, asText(one)])));
  const [state, setState] = useState({});
  const altered = fields.filter((one) => typed[one.field] !== asText(one));
  const ask = async (change, isPreview) => {
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
    ask({action: "update", fields: Object.fromEntries(altered.map((one) => [one.field, asValue(one, typed[one.field])]))}, true);
  };
  const {preview, change, error, mayCascade, isBusy} = state;
  if (preview) return html`<${Changes} preview=${preview} record=${record.hit} />
    <div class="row end">
      <button type="button" class="plain" onClick=${() => setState({})}>Back</button>
      <button type="button" class=${change.action === "delete" ? "danger" : ""} disabled=${isBusy || !preview.plan} onClick=${() => ask(change, false)}>${change.action === "delete" ? "Delete" : "Apply"}</button>
    </div>`;
  return html`<form class="stack" onSubmit=${onSubmit}>
    ${fields.map((one) => html`<${Input} key=${one.field} field=${one} value=${typed[one.field]} onInput=${(text) => setTyped({...typed, [one.field]: text})} />`)}
    <div class="row edit-actions">
      ${error && html`<${Problem} error=${error} />`}
      ${mayCascade && html`<button type="button" class="plain danger" onClick=${() => ask({action: "delete", cascade: true}, true)}>See what would be deleted with it</button>`}
      <button type="submit" disabled=${isBusy || altered.length === 0}>Preview</button>
      <button type="button" class="plain" onClick=${onDone}>Cancel</button>
      <span class="spring"></span>
      <button type="button" class="plain danger" disabled=${isBusy} onClick=${() => ask({action: "delete"}, true)}>Delete …</button>
    </div>
  </form>`;
}

function Input({field, value, onInput}) {
  const given = {value, required: field.required, onInput: (event) => onInput(event.target.value)};
  const hint = [field.description, LISTS.includes(field.type) && "One a line."].filter(Boolean).join(" ");
  return html`<label>${field.label}
    ${field.values.length ? html`<select ...${given}><option value=""></option>${field.values.map((one) => html`<option>${one}</option>`)}</select>`
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
    try {
      await callTool(name, {...named, action: "undo", id: answer.call_id});
      toast("Undone.");
      tell();
    } catch (error) {
      toast(error.message, {mood: "bad"});
    }
  };
  toast(change.action === "delete" ? `Deleted ${hit.title}.` : `Changed ${hit.title}.`, answer.call_id ? {undo} : {});
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
  return html`<h3>${preview.total ? `${plural(preview.total, "record")} would change` : "Nothing would change"}</h3>
    ${preview.notes.map((note) => html`<${Notice}>${note}<//>`)}
    <ul class="changes">${preview.changes.map((one) => html`<li key=${one.id}>
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
