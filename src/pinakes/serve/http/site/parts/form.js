// Forms: a field with its label, hint and error, and a whole form made from a JSON schema.
import {html, useEffect, useId, useRef, useState} from "../core/html.js";
import {inWords} from "../core/format.js";
import {SchemaProblem, fieldsOf, placeOf, rawOf, readForm} from "./schema.js";

// `children` is a function of the attributes that tie a control to its label, hint and error.
export function Field({label, hint, error, required, children}) {
  const id = useId(), hintId = `${id}-hint`, errorId = `${id}-error`;
  const described = [hint && hintId, error && errorId].filter(Boolean).join(" ") || undefined;
  return html`<div class="field">
    <label for=${id}><span>${label}${required && html` <span class="hint">needed</span>`}</span></label>
    ${children({id, "aria-describedby": described, "aria-invalid": error ? "true" : undefined, "aria-required": required ? "true" : undefined})}
    ${hint && html`<span class="hint" id=${hintId}>${hint}</span>`}
    ${error && html`<span class="error" id=${errorId}>${error}</span>`}
  </div>`;
}

// Several of a few values, as boxes.
export function Boxes({legend, options, chosen, onChange, hint, labelOf = String}) {
  const toggle = (option) => onChange(chosen.includes(option) ? chosen.filter((one) => one !== option) : [...chosen, option]);
  return html`<fieldset class="field"><legend>${legend}</legend>
    ${hint && html`<p class="hint">${hint}</p>`}
    <div class="boxes">${options.map((option) => html`<label key=${option} class="inline">
      <input type="checkbox" checked=${chosen.includes(option)} onChange=${() => toggle(option)} />${labelOf(option)}</label>`)}</div>
  </fieldset>`;
}

// A form that is sent once at a time; an error is shown at the field that it names, and there the focus goes.
export function SchemaForm({schema, initial = {}, onSubmit, submit = "Run", children}) {
  const [raw, setRaw] = useState(() => rawOf(schema, initial)), [problems, setProblems] = useState({}), [isBusy, setBusy] = useState(false);
  const form = useRef();
  useEffect(() => form.current.querySelector("[aria-invalid=true]")?.focus(), [problems]);
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onSubmit(readForm(schema, raw));
      setProblems({});
    } catch (error) {
      const found = error instanceof SchemaProblem ? error.problems : {[placeOf(schema, error.message)]: error.message};
      setProblems(found);
    } finally {
      setBusy(false);
    }
  };
  const given = {raw, problems, change: (path, value) => setRaw((all) => ({...all, [path]: value}))};
  return html`<form ref=${form} class="stack schema-form" noValidate onSubmit=${send}>
    ${fieldsOf(schema).map((field) => html`<${SchemaField} key=${field.path} field=${field} ...${given} />`)}
    ${problems[""] && html`<p class="notice bad" role="alert">${problems[""]}</p>`}
    <div class="row"><button type="submit" disabled=${isBusy}>${isBusy ? "Running…" : submit}</button>${children}</div>
  </form>`;
}

function SchemaField({field, ...given}) {
  const {path, name, kind, schema, required, inner} = field;
  const label = inWords(name), hint = schema.description, value = given.raw[path];
  const change = (changed) => given.change(path, changed);
  if (kind === "group") {
    return html`<fieldset class="group"><legend>${label}</legend>${hint && html`<p class="hint">${hint}</p>`}
      ${inner.map((one) => html`<${SchemaField} key=${one.path} field=${one} ...${given} />`)}</fieldset>`;
  }
  if (kind === "choices") return html`<${Boxes} legend=${label} hint=${hint} options=${schema.items.enum} chosen=${value ?? []} onChange=${change} />`;
  return html`<${Field} label=${label} hint=${withBounds(schema, hint, kind)} required=${required} error=${given.problems[path]}>
    ${(tied) => control(kind, schema, {...tied, name: path, value: value ?? ""}, change)}<//>`;
}

function control(kind, schema, tied, change) {
  const given = {...tied, onInput: (event) => change(event.target.value)};
  if (kind === "choice" || kind === "flag") {
    const options = kind === "flag" ? ["yes", "no"] : schema.enum.filter((one) => one !== null);
    return html`<select ...${given}><option value="">${defaultOf(schema)}</option>${options.map((one) => html`
      <option key=${one} value=${String(one)} selected=${tied.value === String(one)}>${String(one)}</option>`)}</select>`;
  }
  if (kind === "json" || kind === "lines") return html`<textarea ...${given} rows="3" spellcheck="false" class=${kind === "json" ? "mono" : ""} />`;
  const type = kind === "number" ? {inputMode: schema.type === "integer" ? "numeric" : "decimal"} : {};
  const secret = /password|secret/iu.test(tied.name) ? {type: "password", autocomplete: "new-password"} : {autocomplete: "off"};
  return html`<input type="text" ...${given} ...${type} ...${secret} placeholder=${schema.default === undefined ? "" : String(schema.default ?? "")} />`;
}

function defaultOf(schema) {
  return schema.default === undefined || schema.default === null ? "–" : `– (${String(schema.default)})`;
}

function withBounds(schema, hint, kind) {
  const {minimum, maximum} = schema, far = 1e6;
  const bounds = minimum !== undefined && maximum !== undefined && maximum < far ? `${minimum} to ${maximum}`
    : maximum !== undefined && maximum < far ? `at most ${maximum}` : "";
  const how = {json: "JSON, as {\"name\": \"value\"}", lines: "one a line"}[kind];
  return [hint, kind === "json" && schema.type === "array" ? "JSON, as [{…}]" : how, bounds].filter(Boolean).join(" · ") || undefined;
}
