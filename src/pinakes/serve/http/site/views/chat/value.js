// Any value of a result: lists of objects as tables, objects as names and values, texts as texts.
import {html} from "../../core/html.js";
import {inWords, shown} from "../../core/format.js";
import {inText, tableOf} from "./results.js";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export function Value({value, depth = 0}) {
  const table = tableOf(value);
  if (table) return html`<${Table} table=${table} />`;
  if (Array.isArray(value)) return inText(value);
  if (!isObject(value)) return shown(value);
  if (depth > 2) return inText(value);
  return html`<dl class="facts">${Object.entries(value).map(([name, held]) => html`<dt>${inWords(name)}</dt><dd><${Value} value=${held} depth=${depth + 1} /></dd>`)}</dl>`;
}

function Table({table: {columns, rows, left}}) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="data">
    <thead><tr>${columns.map((name) => html`<th scope="col">${inWords(name)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${columns.map((name) => html`<td>${inText(row[name])}</td>`)}</tr>`)}</tbody>
  </table>${left > 0 && html`<p class="quiet">and ${left} more</p>`}</div>`;
}
