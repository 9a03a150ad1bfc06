// Results of tools as things: lists of records become hits, whatever their tool calls them; the rest tables and values.
import {inWords} from "../../core/format.js";

const TITLES = ["title", "name"];
const TEXTS = ["text", "synopsis", "abstract", "summary", "description", "about"];
const APART = new Set([...TITLES, ...TEXTS, "id", "key", "url", "catalogue", "kind", "score", "relevance", "evidence", "origin", "image", "signals", "fields", "matchType", "similarityScore", "otherSignals", "alternatives", "audio", "subtitle"]);
const MOST_FIELDS = 6;

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isRecord = (item) => isObject(item) && item.id !== undefined && (titleOf(item) || typeof item.text === "string");
const first = (item, names) => names.map((name) => item[name]).find((value) => typeof value === "string" && value);
const titleOf = (item) => first(item, TITLES) ?? item.titles?.canonical ?? null;

// {groups: [{label, hits, total}], rest: {…what is not a list of records}}
export function arrange(value) {
  const groups = [], rest = {};
  for (const [name, held] of Object.entries(value ?? {})) {
    const list = Array.isArray(held) ? held : isObject(held) && Array.isArray(held.items) ? held.items : isRecord(held) ? [held] : null;
    if (list?.length && list.every(isRecord)) groups.push({label: inWords(name), hits: list.map(toHit), total: held.total ?? (Array.isArray(held) ? value.total : undefined)});
    else if (!isEmpty(held) && !["cursor", "call_id", "searchMode", "degraded", "has_more", "total"].includes(name)) rest[name] = held;
  }
  return {groups, rest};
}

const isEmpty = (value) => value === null || value === "" || value === false || (Array.isArray(value) && !value.length) || (isObject(value) && (!Object.keys(value).length || (Array.isArray(value.items) && !value.items.length)));

export function toHit(item) {
  const id = String(item.id);
  const slash = id.indexOf("/");
  const catalogue = item.catalogue ?? (slash > 0 ? id.slice(0, slash) : null);
  const own = catalogue && id.startsWith(`${catalogue}/`) ? id.slice(catalogue.length + 1) : id;
  const text = first(item, TEXTS) ?? "";
  return {
    key: catalogue ? `${catalogue}/${own}` : null,
    catalogue,
    id: own,
    kind: item.kind ?? "",
    title: titleOf(item) ?? text.slice(0, 60),
    subtitle: typeof item.subtitle === "string" ? item.subtitle : "",
    text: text.includes("\n") && isObject(item.fields) ? text.slice(text.indexOf("\n") + 1) : text,
    fields: fieldsOf(item),
    image: null,
    audio: false,
    score: typeof item.score === "number" ? item.score : item.similarityScore ?? null,
    evidence: item.evidence ?? null,
    url: /^https?:\/\//.test(item.url ?? "") ? item.url : null,
  };
}

function fieldsOf(item) {
  const given = isObject(item.fields) ? item.fields : Object.fromEntries(Object.entries(item).filter(([name]) => !APART.has(name)));
  return Object.entries(given)
    .filter(([, value]) => !isEmpty(value))
    .slice(0, MOST_FIELDS)
    .map(([field, value]) => ({field, label: inWords(field), value: inText(value)}));
}

export function inText(value) {
  if (Array.isArray(value)) return value.slice(0, 8).map(inText).join(", ") + (value.length > 8 ? ", …" : "");
  if (!isObject(value)) return String(value ?? "");
  if ("value" in value) return inText(value.value);
  if (typeof value.name === "string") return value.name;
  return Object.entries(value).map(([name, held]) => `${inWords(name)} ${inText(held)}`).join(", ");
}

// A list of objects as a table: its columns, those that most rows have first.
export function tableOf(list) {
  if (!Array.isArray(list) || !list.length || !list.every(isObject)) return null;
  const counts = new Map();
  for (const row of list) for (const name of Object.keys(row)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const columns = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name).slice(0, 6);
  return {columns, rows: list.slice(0, 30), left: Math.max(0, list.length - 30)};
}

// The address at which Explore shows what a call of a search asked for; null where there is none.
export function exploreAddress(call, catalogues) {
  const {query, catalogue, filters, exclude} = call.args ?? {};
  if (typeof query !== "string") return null;
  const of = new Set(arrange(call.result).groups.flatMap((group) => group.hits.map((hit) => hit.catalogue)));
  const name = catalogue ?? (of.size === 1 ? [...of][0] : null);
  if (!name || !catalogues.includes(name)) return `/search?${new URLSearchParams({q: query})}`;
  return addressOf({catalogue: name, query, filters, exclude});
}

export function addressOf({catalogue, query, filters, exclude, sort, view, open}) {
  const params = new URLSearchParams();
  if (query) params.set("q", query);
  for (const [field, wanted] of Object.entries(filters ?? {})) addFilter(params, field, wanted);
  for (const [field, values] of Object.entries(exclude ?? {})) for (const value of [values].flat()) params.append(`x.${field}`, value);
  for (const [name, value] of Object.entries({sort, view, open})) if (value) params.set(name, value);
  const asked = params.toString();
  return `/c/${encodeURIComponent(catalogue)}${asked ? `?${asked}` : ""}`;
}

function addFilter(params, field, wanted) {
  if (isObject(wanted)) params.set(`r.${field}`, `${wanted.min ?? ""}..${wanted.max ?? ""}`);
  else for (const value of [wanted].flat()) params.append(`f.${field}`, value);
}
