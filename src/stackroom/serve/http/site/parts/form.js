// Forms: a field with its label, hint and error, and a whole form made from a JSON schema.
import {html, useEffect, useId, useRef, useState, t} from "../core/html.js";
import {inWords} from "../core/format.js";

// `children` is a function of the attributes that tie a control to its label, hint and error.
function Field({label, hint, error, required, children}) {
  const id = useId(), hintId = `${id}-hint`, errorId = `${id}-error`;
  const described = [hint && hintId, error && errorId].filter(Boolean).join(" ") || undefined;
  return html`<div class="field">
    <label for=${id}><span>${label}${required && html` <span class="hint">required</span>`}</span></label>
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

// The part of a tool's schema that one form asks for; `fields`: {name: {title, description, values: those that there are now, optional}}.
export function partOf({properties, ...schema}, fields) {
  const asked = Object.entries(fields).map(([name, {values, optional, ...words}]) => [name, {...properties[name], description: undefined, ...words,
    ...values && {type: "array", anyOf: undefined, items: {enum: values}}}]);
  return {...schema, properties: Object.fromEntries(asked), required: Object.keys(fields).filter((name) => !fields[name].optional)};
}

// A form that is sent once at a time; an error is shown at the field that it names, and there the focus goes.
export function SchemaForm({schema, initial = {}, onSubmit, submit = t`Run it`, children}) {
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
      const found = error instanceof SchemaProblem ? error.problems : {[placeOf(schema, error.field ?? "")]: error.message};
      setProblems(found);
    } finally {
      setBusy(false);
    }
  };
  const given = {raw, problems, change: (path, value) => setRaw((all) => ({...all, [path]: value}))};
  return html`<form ref=${form} class="stack schema-form" noValidate onSubmit=${send}>
    ${fieldsOf(schema).map((field) => html`<${SchemaField} key=${field.path} field=${field} ...${given} />`)}
    ${problems[""] && html`<p class="notice bad" role="alert">${problems[""]}</p>`}
    <div class="row"><button type="submit" disabled=${isBusy}>${isBusy ? t`Running…` : submit}</button>${children}</div>
  </form>`;
}

function SchemaField({field, ...given}) {
  const {path, name, kind, schema, required, inner} = field;
  const label = schema.title ?? inWords(name), hint = schema.description, value = given.raw[path];
  const change = (changed) => given.change(path, changed);
  if (kind === "group") {
    return html`<fieldset class="group"><legend>${label}</legend>${hint && html`<p class="hint">${hint}</p>`}
      ${inner.map((one) => html`<${SchemaField} key=${one.path} field=${one} ...${given} />`)}</fieldset>`;
  }
  if (kind === "choices") return html`<${Boxes} legend=${label} hint=${hint} options=${schema.items.enum} chosen=${value ?? []} onChange=${change} labelOf=${(one) => schema.labels?.[one] ?? one} />`;
  return html`<${Field} label=${label} hint=${withBounds(schema, hint, kind)} required=${required} error=${given.problems[path]}>
    ${(tied) => control(kind, schema, {...tied, name: path, value: value ?? ""}, change)}<//>`;
}

function control(kind, schema, tied, change) {
  const given = {...tied, onInput: (event) => change(event.target.value)};
  if (kind === "choice" || kind === "flag") {
    const options = kind === "flag" ? ["yes", "no"] : schema.enum.filter((one) => one !== null);
    return html`<select ...${given}><option value="">${defaultOf(schema)}</option>${options.map((one) => html`
      <option key=${one} value=${String(one)} selected=${tied.value === String(one)}>${FLAGS[one] ?? String(one)}</option>`)}</select>`;
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
  const bounds = minimum !== undefined && maximum !== undefined && maximum < far ? t`${minimum} to ${maximum}`
    : maximum !== undefined && maximum < far ? t`at most ${maximum}` : "";
  const how = {json: t`JSON, such as {"name": "value"}`, lines: t`one per line`}[kind];
  return [hint, kind === "json" && schema.type === "array" ? t`JSON, such as [{…}]` : how, bounds].filter(Boolean).join(" · ") || undefined;
}

// A JSON schema as the fields of a form: which control each has, and what was typed as the value that the schema means.

class SchemaProblem extends Error {
  constructor(problems) {
    super(Object.values(problems)[0]);
    this.problems = problems;
  }
}

// The fields of an object: {path, name, kind, schema, required, inner}; those that are needed come first.
function fieldsOf(schema, root = schema, prefix = "") {
  const needed = schema.required ?? [];
  const fields = Object.entries(schema.properties ?? {}).map(([name, given]) => {
    const plain = resolved(given, root), path = prefix + name, kind = kindOf(plain);
    return {path, name, kind, schema: plain, required: needed.includes(name), inner: kind === "group" ? fieldsOf(plain, root, `${path}.`) : []};
  });
  return fields.sort((one, other) => other.required - one.required);
}

function rawOf(schema, values) {
  const raw = {};
  const fill = (fields, given) => fields.forEach(({path, name, kind, inner}) => {
    const value = given?.[name];
    if (kind === "group") fill(inner, value);
    else if (value !== undefined && value !== null) raw[path] = WRITERS[kind]?.(value) ?? String(value);
  });
  fill(fieldsOf(schema), values);
  return raw;
}

// The arguments that were typed; throws a SchemaProblem that has what is wrong by field.
function readForm(schema, raw) {
  const problems = {}, values = readFields(fieldsOf(schema), raw, problems);
  if (Object.keys(problems).length) throw new SchemaProblem(problems);
  return values;
}

// The field of the form that an error of the server names; "" where it names none.
function placeOf(schema, field) {
  const steps = field.split("."), known = new Set();
  const learn = (fields) => fields.forEach((one) => (one.kind === "group" ? learn(one.inner) : known.add(one.path)));
  learn(fieldsOf(schema));
  while (steps.length && !known.has(steps.join("."))) steps.pop();
  return steps.join(".");
}

function resolved(schema, root) {
  const reference = schema.$ref?.replace(/^#\//u, "").split("/").reduce((value, step) => value?.[step], root);
  const plain = {...reference, ...schema};
  const options = (plain.anyOf ?? plain.oneOf ?? []).map((one) => resolved(one, root)).filter((one) => one.type !== "null");
  const chosen = options.find((one) => one.type === "array") ?? options[0];
  const merged = chosen ? {...chosen, ...plain, type: chosen.type ?? plain.type} : plain;
  const type = Array.isArray(merged.type) ? merged.type.find((one) => one !== "null") : merged.type;
  return {...merged, type, items: merged.items ? resolved(merged.items, root) : undefined};
}

function kindOf({type, enum: values, items, properties}) {
  if (values) return "choice";
  if (type === "boolean") return "flag";
  if (type === "integer" || type === "number") return "number";
  if (type === "array") return items?.enum ? "choices" : ["string", "integer", "number"].includes(items?.type) ? "lines" : "json";
  if (type === "object") return properties ? "group" : "json";
  return "text";
}

const FLAGS = {yes: t`yes`, no: t`no`};

const WRITERS = {
  flag: (value) => (value ? "yes" : "no"),
  lines: (value) => [value].flat().join("\n"),
  choices: (value) => [value].flat(),
  json: (value) => JSON.stringify(value, null, 2),
};

const READERS = {
  text: (raw) => raw,
  flag: (raw) => raw === "yes",
  choice: (raw, {enum: values}) => values.find((one) => String(one) === raw),
  choices: (raw) => raw,
  number: readNumber,
  lines: (raw, {items}) => raw.split("\n").map((line) => line.trim()).filter(Boolean)
    .map((line) => (items.type === "string" ? line : readNumber(line, items))),
  json: readJson,
};

function readFields(fields, raw, problems) {
  const values = {};
  for (const {path, name, kind, schema, required, inner} of fields) {
    const typed = raw[path] ?? "";
    if (kind === "group") {
      const within = readFields(inner, raw, problems);
      if (required || Object.keys(within).length) values[name] = within;
    } else if (typed.length === 0 || (typeof typed === "string" && !typed.trim())) {
      if (required) problems[path] = t`This is required.`;
    } else {
      try {
        values[name] = READERS[kind](typed, schema);
      } catch (error) {
        problems[path] = error.message;
      }
    }
  }
  return values;
}

function readNumber(raw, {type, minimum, maximum}) {
  const value = Number(raw);
  if (!Number.isFinite(value) || (type === "integer" && !Number.isInteger(value))) throw new Error(type === "integer" ? t`Must be a whole number, not “${raw}”` : t`Must be a number, not “${raw}”`);
  if (minimum !== undefined && value < minimum) throw new Error(t`Must be ${minimum} or more`);
  if (maximum !== undefined && value > maximum) throw new Error(t`Must be ${maximum} or less`);
  return value;
}

function readJson(raw, {type}) {
  let value;
  try {
    value = JSON.parse(raw);
  } catch (error) {
    throw new Error(t`Not valid JSON: ${error.message}`);
  }
  const isRight = type === "array" ? Array.isArray(value) : value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isRight && type) throw new Error(type === "array" ? t`Must be a list: […]` : t`Must be an object: {…}`);
  return value;
}
