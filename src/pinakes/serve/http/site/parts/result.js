// The answer of a tool as things: records as cards, other lists as tables, the rest as facts, and the JSON folded.
import {html} from "../core/html.js";
import {inWords, number} from "../core/format.js";
import {link} from "../core/address.js";
import {CodeBlock} from "./copy.js";
import {DataTable, cellText, columnsOf} from "./data_table.js";
import {hitOf, isHit, partsOf} from "./found.js";
import {HitList} from "./hit.js";

export {hitOf, isHit, partsOf} from "./found.js";

export function Result({answer}) {
  const {facts, sections} = partsOf(answer);
  return html`<div class="stack result">
    <${Facts} facts=${facts} />
    ${sections.map((section) => html`<section key=${section.label}>
      ${section.label && html`<h3>${inWords(section.label)} <span class="quiet">${countOf(section)}</span></h3>`}
      <${Items} section=${section} /></section>`)}
    <details class="raw"><summary>The answer as the assistant gets it</summary><${CodeBlock} text=${JSON.stringify(answer, null, 2)} what="the answer" /></details>
  </div>`;
}

export function Facts({facts}) {
  const filled = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  return filled.length > 0 && html`<dl class="facts">${filled.map(([name, value]) => html`
    <dt key=${name}>${inWords(name)}</dt><dd>${cellText(value, name)}</dd>`)}</dl>`;
}

export function Items({section: {label, items}, hrefOf = inCatalogue}) {
  if (items.every(isHit)) return html`<${HitList} hits=${items.map(hitOf)} hrefOf=${hrefOf} label=${inWords(label)} />`;
  return html`<${DataTable} label=${inWords(label)} columns=${columnsOf(items, inWords)} rows=${items} />`;
}

function inCatalogue(hit) {
  return hit.catalogue ? link(`/c/${encodeURIComponent(hit.catalogue)}`, {open: hit.key}) : undefined;
}

function countOf({items, total}) {
  return typeof total === "number" && total > items.length ? `${number(items.length)} of ${number(total)}` : number(items.length);
}
