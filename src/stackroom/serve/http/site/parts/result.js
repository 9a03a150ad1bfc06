// The answer of a tool as things: records as cards, other lists as tables, the rest as facts, and the JSON folded.
import {html, useEffect, useState, t} from "../core/html.js";
import {link} from "../core/address.js";
import {inWords, number, shortened, shown} from "../core/format.js";
import {callTool} from "../core/server.js";
import {useStyle} from "../core/store.js";
import {CodeBlock} from "./code.js";
import {hitOf, isHit, partsOf} from "./found.js";
import {HitList, tileOf} from "./hit.js";

export function Result({answer}) {
  const {facts, sections} = partsOf(answer);
  return html`<div class="stack result">
    <${Facts} facts=${facts} />
    ${sections.map((section) => html`<section key=${section.label}>
      ${section.label && html`<h3>${inWords(section.label)} <span class="quiet">${countOf(section)}</span></h3>`}
      <${Items} section=${section} /></section>`)}
    <details class="raw"><summary>The answer as your assistant sees it</summary><${CodeBlock} text=${JSON.stringify(answer, null, 2)} what="the answer" /></details>
  </div>`;
}

export function Facts({facts}) {
  const filled = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  return filled.length > 0 && html`<dl class="facts">${filled.map(([name, value]) => html`
    <dt key=${name}>${inWords(name)}</dt><dd>${cellText(value, name)}</dd>`)}</dl>`;
}

export function Items({section: {label, items}, hrefOf = inCatalogue, isFolded}) {
  const areHits = items.every(isHit), hits = useTiles(areHits ? items.map(hitOf) : []);
  if (areHits) return html`<${HitList} hits=${hits} hrefOf=${hrefOf} isFolded=${isFolded} label=${inWords(label)} />`;
  return html`<${DataTable} label=${inWords(label)} columns=${columnsOf(items)} rows=${items} />`;
}

// Records that a tool found, with what the list shows of them: their faces, and their fields in words.
function useTiles(hits) {
  const [tiles, setTiles] = useState({}), missing = hits.filter(({catalogue, image, key}) => catalogue && !image && !tiles[key]);
  const wanted = Object.entries(Object.groupBy(missing, ({catalogue}) => catalogue)).map(([catalogue, some]) => [catalogue, some.map(({key}) => key.slice(catalogue.length + 1))]);
  useEffect(() => {
    for (const [catalogue, ids] of wanted) {
      callTool("search", {query: "*", catalogue, ids: ids.slice(0, 50), limit: 50, include: ["tiles"]}).then(
        ({results}) => setTiles((before) => ({...before, ...Object.fromEntries(results.map((one) => [one.id, tileOf(one)]))})), () => {});
    }
  }, [JSON.stringify(wanted)]);
  return hits.map((hit) => {
    const {image, kind, subtitle, fields} = tiles[hit.key] ?? hit;
    return {...hit, image, kind, subtitle, fields};
  });
}

function inCatalogue(hit) {
  return hit.catalogue ? link(`/c/${encodeURIComponent(hit.catalogue)}`, {open: hit.key}) : undefined;
}

function countOf({items, total}) {
  return typeof total === "number" && total > items.length ? t`${items.length} of ${total}` : number(items.length);
}

// Rows as a table. A column is {name, label, show(row), number, tight}, a tight one is not broken; a table that is too wide scrolls by itself, and on a phone each row is a block.
export function DataTable({label, columns, rows, keyOf = (_row, place) => place, empty = t`There is nothing here.`}) {
  useStyle("parts/layers.css");
  if (!rows.length) return html`<p class="quiet">${empty}</p>`;
  return html`<div class="scroll" role="region" aria-label=${label} tabindex="0"><table class="data stacks" role="table">
    <caption class="unseen">${label}</caption>
    <thead><tr role="row">${columns.map((column) => html`<th key=${column.name} scope="col" role="columnheader" class=${column.number ? "number" : ""}>${column.label || html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
    <tbody>${rows.map((row, place) => html`<tr key=${keyOf(row, place)} role="row">${columns.map((column) => html`
      <td key=${column.name} role="cell" data-label=${column.label} class=${column.number ? "number" : column.tight ? "tight" : ""}><div>${column.show ? column.show(row) : cellText(row[column.name], column.name)}</div></td>`)}</tr>`)}</tbody>
  </table></div>`;
}

// Columns for rows whose form is not known: every key that a row has, in the order in which they come.
function columnsOf(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.map((name) => ({name, label: inWords(name), number: rows.every((row) => row[name] === undefined || typeof row[name] === "number")}));
}

export function cellText(value, name = "") {
  return shortened(inLine(value, name), 200);
}

// Objects within a value as their names and values.
function inLine(value, name) {
  if (Array.isArray(value)) return value.map((one) => inLine(one, name)).join(", ");
  if (value === null || typeof value !== "object") return shown(value, name);
  const known = value.value ?? value.name ?? value.title;
  return known === undefined ? Object.entries(value).map(([inner, held]) => `${inner}: ${inLine(held, inner)}`).join(", ") : inLine(known, name);
}
