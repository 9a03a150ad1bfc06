// What was found, whatever its tool calls it: the lists in an answer, and their records in the form that cards take.
import {inWords, shown} from "../core/format.js";
import {pageOf, tileOf} from "./hit.js";

const TITLES = ["title", "name"];
const TEXTS = ["text", "content", "snippet", "passage", "synopsis", "abstract", "summary", "description", "bio", "about"];
const MARKS_OF_HIT = [...TEXTS, "score", "relevance", "evidence", "similarity", "fields", "metadata"];
const LEFT_OUT = ["id", "url", "score", "catalogue", "kind", "evidence", "relevance", "fields", "metadata", "origin", "written", "image", "tile"];
const UNSAID = ["cursor", "has_more", "total", "totalMatches"];

// An answer in parts: facts, and lists with their names; a list may be within an object, as {items, total}.
export function partsOf(answer) {
  const facts = {}, sections = [];
  for (const [name, value] of Object.entries(answer ?? {})) {
    if (isRows(value) && value.length === 1 && !isHit(value[0])) addNested(name, value[0], facts, sections);
    else if (isRows(value)) sections.push({label: name, items: value, total: answer.total ?? answer.totalMatches});
    else if (isRows(value?.items)) sections.push({label: name, items: value.items, total: value.total});
    else if (name === "rows" && Array.isArray(answer.columns)) sections.push({label: name, items: value.map((row) => named(row, answer.columns)), total: answer.total});
    else if (name === "columns" && answer.rows) continue;
    else if (UNSAID.includes(name)) continue;
    else if (Array.isArray(value) ? value.length : value !== null && typeof value === "object" ? false : value !== undefined) facts[name] = value;
    else if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length) addNested(name, value, facts, sections);
  }
  return {facts, sections};
}

function addNested(name, value, facts, sections) {
  const within = partsOf(value);
  for (const [inner, fact] of Object.entries(within.facts)) facts[`${name} ${inner}`] = fact;
  for (const section of within.sections) sections.push({...section, label: `${name} ${section.label}`});
}

// An item of any search tool in the form that the cards take.
export function hitOf(item) {
  return item.tile ? tileOf(item) : cardOf(item);
}

function cardOf(item) {
  const values = {...item.metadata, ...item}, title = TITLES.find((name) => isText(values[name])), text = TEXTS.find((name) => isText(values[name]) && name !== title);
  const others = Object.entries(item.fields ?? values).filter(([name, value]) => ![...LEFT_OUT, title, text].includes(name) && isShort(value));
  const id = String(item.id), catalogue = item.catalogue ?? (id.includes("/") ? id.split("/")[0] : null);
  return {
    key: id.includes("/") || !catalogue ? id : `${catalogue}/${id}`, catalogue, id, kind: item.kind, title: values[title], text: text && withoutFields(values[text], item.fields),
    subtitle: [catalogue, item.kind].filter(Boolean).join(" · "), relevance: item.relevance ?? null, image: null, url: pageOf(item.url),
    fields: others.map(([field, value]) => ({field, label: inWords(field), value})),
  };
}

// Some texts begin with a line of the fields, which the card shows by themselves.
function withoutFields(text, fields) {
  const [first, ...rest] = text.split("\n");
  return fields && rest.length && Object.keys(fields).some((name) => first.startsWith(`${name}: `)) ? rest.join("\n") : text;
}

export function isHit(item) {
  return item.id !== undefined && TITLES.some((name) => isText(item[name])) && MARKS_OF_HIT.some((name) => name in item);
}

function isRows(value) {
  return Array.isArray(value) && value.length > 0 && value.every((one) => one !== null && typeof one === "object" && !Array.isArray(one));
}

function named(row, columns) {
  return Object.fromEntries(columns.map((column, place) => [column, row[place]]));
}

function isText(value) {
  return typeof value === "string" && value !== "";
}

function isShort(value) {
  const text = shown(value);
  return text !== "" && text.length <= 120 && !text.includes("{");
}
