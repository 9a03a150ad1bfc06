// A JSON schema as the fields of a form: which control each has, and what was typed as the value that the schema means.

export class SchemaProblem extends Error {
  constructor(problems) {
    super(Object.values(problems)[0]);
    this.problems = problems;
  }
}

// The fields of an object: {path, name, kind, schema, required, inner}; those that are needed come first.
export function fieldsOf(schema, root = schema, prefix = "") {
  const needed = schema.required ?? [];
  const fields = Object.entries(schema.properties ?? {}).map(([name, given]) => {
    const plain = resolved(given, root), path = prefix + name, kind = kindOf(plain);
    return {path, name, kind, schema: plain, required: needed.includes(name), inner: kind === "group" ? fieldsOf(plain, root, `${path}.`) : []};
  });
  return fields.sort((one, other) => other.required - one.required);
}

export function rawOf(schema, values) {
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
export function readForm(schema, raw) {
  const problems = {}, values = readFields(fieldsOf(schema), raw, problems);
  if (Object.keys(problems).length) throw new SchemaProblem(problems);
  return values;
}

// The field that an error of the server names, as in 'limit': must be 50 or less; "" where it names none.
export function placeOf(schema, message) {
  const steps = (/^'([^']+)'/u.exec(message)?.[1] ?? "").split("."), known = new Set();
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
      if (required) problems[path] = "is missing";
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
  if (!Number.isFinite(value) || (type === "integer" && !Number.isInteger(value))) throw new Error(`must be a ${type === "integer" ? "whole " : ""}number; this is “${raw}”`);
  if (minimum !== undefined && value < minimum) throw new Error(`must be ${minimum} or more`);
  if (maximum !== undefined && value > maximum) throw new Error(`must be ${maximum} or less`);
  return value;
}

function readJson(raw, {type}) {
  let value;
  try {
    value = JSON.parse(raw);
  } catch (error) {
    throw new Error(`is not valid JSON: ${error.message}`);
  }
  const isRight = type === "array" ? Array.isArray(value) : value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isRight && type) throw new Error(type === "array" ? "must be a list: […]" : "must be an object: {…}");
  return value;
}
