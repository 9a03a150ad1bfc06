// Above the hits: the order of a result set, and its export.
import {html, useRef, useState, t} from "../../core/html.js";
import {change, link} from "../../core/address.js";
import {useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {CopyButton} from "../../parts/code.js";

export const NUMBERS = ["int", "float"];
const FILES = [["csv", "CSV"], ["xlsx", "Excel"], ["json", "JSON"], ["jsonl", "JSON Lines"], ["parquet", "Parquet"]];

// The usual order is that of the best match, or without words of what is best known.
export function SortBy({catalogue, sort, isSearched}) {
  const choices = catalogue.fields.filter(({sortable}) => sortable).flatMap(directionsOf);
  const isStyled = useStyle("views/explore/explore.css"), isStated = choices.some(([value]) => value === sort);
  return isStyled && html`<label class="sort inline">Sort
    <select value=${isStated ? sort : ""} onChange=${({target}) => change({sort: target.value || null, open: null})}>
      <option value="">${isSearched ? t`Best match` : t`Best known`}</option>
      ${choices.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
    </select></label>`;
}

function directionsOf({field, label, type, role}) {
  if (type === "date" || role === "time") return [[`-${field}`, t`${label}, latest first`], [field, t`${label}, earliest first`]];
  if (NUMBERS.includes(type)) return [[`-${field}`, t`${label}, highest first`], [field, t`${label}, lowest first`]];
  return [[field, t`${label}, A to Z`], [`-${field}`, t`${label}, Z to A`]];
}

// All records of the result set as a file, in its order, or the counts of a facet; and its address.
export function Take({asked, facets = []}) {
  const isStyled = useStyle("views/explore/explore.css"), menu = useRef(), [facet, setFacet] = useState(""), close = () => { menu.current.open = false; };
  const press = (event) => {
    if (event.key !== "Escape" || !menu.current.open) return;
    event.stopPropagation();
    close();
    menu.current.querySelector("summary").focus();
  };
  const chosen = facets.some(({field}) => field === facet) ? facet : "";
  return isStyled && html`<details ref=${menu} class="take" onKeyDown=${press}
    onFocusOut=${({relatedTarget}) => relatedTarget && !menu.current.contains(relatedTarget) && close()}>
    <summary class="button plain small"><${Icon} name="download" /><span>Export</span></summary>
    <div class="popover">
      <select aria-label="What to export" value=${chosen} onChange=${({target}) => setFacet(target.value)}>
        <option value="">All records listed here</option>
        ${facets.map(({field, label}) => html`<option key=${field} value=${field}>${t`Counts by ${label}`}</option>`)}
      </select>
      <${Files} given=${{search: JSON.stringify({...asked, ...(chosen && {facet: chosen})})}} onClick=${close} />
      <${CopyButton} text=${location.href} what="the address of this page" label="Copy link" />
    </div>
  </details>`;
}

// What the arguments of a search or of a browse list, as each kind of file.
export function Files({given, onClick}) {
  return html`<ul class="plain-list files">${FILES.map(([form, label]) => html`<li key=${form}>
    <a href=${link("/v1/export", {format: form, ...given})} download onClick=${onClick}>${label}</a></li>`)}</ul>`;
}
