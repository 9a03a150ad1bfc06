// The result set as a table; the columns of numbers and single values can be sorted by.
import {html, useEffect, useState} from "../../core/html.js";
import {change, changed, useAddress} from "../../core/address.js";
import {useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {Face} from "../../parts/face.js";
import {Boxes} from "../../parts/form.js";
import {More} from "./shared.js";
import {NUMBERS} from "./take.js";

export default function Table({catalogue, answer, asked, hits, loadMore}) {
  const isSearched = answer.understood.query && !answer.only_orders;
  const filled = catalogue.fields.filter(({field, role}) => role === "title" || hits.some((hit) => hit.cells?.[field]));
  const hidden = useAddress().query.getAll("hide"), kept = filled.filter(({field, role}) => role === "title" || !hidden.includes(field));
  const columns = useNarrow() ? fitting(kept, asked.sort) : kept, others = filled.filter(({role}) => role !== "title");
  const choose = (fields) => change({hide: [...hidden.filter((one) => !others.some(({field}) => field === one)), ...others.map(({field}) => field).filter((one) => !fields.includes(one))]}, {replace: true});
  if (!useStyle("parts/layers.css") || !hits[0]?.cells) return null;
  return html`<details class="columns"><summary>Columns</summary>
    <${Boxes} legend="Columns that are shown" options=${others.map(({field}) => field)} chosen=${kept.map(({field}) => field)} onChange=${choose} labelOf=${(one) => others.find(({field}) => field === one).label} /></details>
  <div class="scroll card flush" tabindex="0" role="region" aria-label="Table of results">
    <table class="data sticky"><thead><tr>${columns.map((column) => html`<${Head} key=${column.field} column=${column} sort=${asked.sort} />`)}</tr></thead>
    <tbody>${hits.map((hit) => html`<tr key=${hit.key} class=${isSearched && hit.relevance === null ? "faint" : ""}>
      ${columns.map(({field, role, type}) => (role === "title"
        ? html`<th scope="row" dir="auto"><a href=${changed({open: hit.key})} data-key=${hit.key}><${Face} ...${hit} />${hit.title}</a></th>`
        : html`<td class=${NUMBERS.includes(type) ? "number" : type.endsWith("[]") ? "long" : ""}>${hit.cells[field] ?? ""}</td>`))}
    </tr>`)}</tbody></table>
  </div>
  ${loadMore && html`<${More} load=${loadMore} />`}`;
}

const NARROW = matchMedia("(max-width: 46rem)"), FEW = 3;

function useNarrow() {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const look = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", look);
    return () => NARROW.removeEventListener("change", look);
  }, []);
  return isNarrow;
}

// On a phone: the title, what is sorted by, and the first others that are short.
function fitting(columns, sort) {
  const weigh = ({field, role, type}) => (role === "title" ? 0 : sort.replace(/^-/u, "") === field ? 1 : type.endsWith("[]") ? 3 : 2);
  const chosen = columns.toSorted((one, other) => weigh(one) - weigh(other)).slice(0, FEW);
  return columns.filter((column) => chosen.includes(column));
}

function Head({column: {field, label, type, sortable}, sort}) {
  const className = NUMBERS.includes(type) ? "number" : "";
  if (!sortable) return html`<th scope="col" class=${className}>${label}</th>`;
  const isFalling = sort === `-${field}`, isSorted = isFalling || sort === field;
  // The greatest first, the first letter first.
  const steps = className ? [`-${field}`, field, null] : [field, `-${field}`, null];
  const step = steps[(steps.indexOf(isSorted ? sort : null) + 1) % 3];
  return html`<th scope="col" class=${className} aria-sort=${isSorted ? (isFalling ? "descending" : "ascending") : "none"}>
    <button type="button" class="link" onClick=${() => change({sort: step})}>${label}${isSorted && html` <${Icon} name=${isFalling ? "down" : "up"} />`}</button></th>`;
}
