// The result set as faces; those that are only near are faint.
import {html} from "../../core/html.js";
import {changed} from "../../core/address.js";
import {Face} from "../../parts/face.js";
import {More} from "./shared.js";

export default function Gallery({answer, hits, loadMore, address}) {
  const isSearched = answer.understood.query && !answer.only_orders, open = address.query.get("open");
  return html`<ol class="gallery" aria-label="Results">${hits.map((hit) => html`<li key=${hit.key} class=${`${isSearched && hit.relevance === null ? "faint" : ""} ${hit.key === open ? "chosen" : ""}`}>
    <a href=${changed({open: hit.key})} data-key=${hit.key} dir="auto"><${Face} ...${hit} /><span>${hit.title}</span></a>
    <p class="quiet">${hit.subtitle}</p></li>`)}</ol>
    ${loadMore && html`<${More} load=${loadMore} />`}`;
}
