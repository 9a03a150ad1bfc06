// One result set of a catalogue, seen as a list, a gallery, a table, a map or a queue.
import {html, useEffect, useMemo, useState, t} from "../../core/html.js";
import {change} from "../../core/address.js";
import {callOf, overviewOf, searchOf} from "../../core/catalogue.js";
import {number, plural} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {noteVisit} from "../../core/store.js";
import {Empty, Named, Problem, Spinner} from "../../parts/basics.js";
import {Hits, moveHit, SearchBox, useAnswer, useHits, useModule} from "./shared.js";

const VIEWS = {
  gallery: () => import("./gallery.js"),
  table: () => import("./table.js"),
  map: () => import("../map/map.js"),
  queue: () => import("../music/tracks.js").then(({QueueView}) => ({default: QueueView})),
};
const TOOLS = () => import("./tools.js");
const FACETS_AFTER_MS = 160;

// The calls that the view begins with: the catalogue, and the first page of its records.
export function calls({params: {catalogue}, query}) {
  const view = query.get("view"), shown = {limit: 24, include: ["counts", view === "table" ? "cells" : "tiles"]};
  return [["browse", {catalogue, include: ["fields"]}], ["search", searchOf(catalogue, withoutPlace(query), shown)]];
}

export default function Explore({address, session}) {
  const name = address.params.catalogue, path = `/c/${encodeURIComponent(name)}`, view = address.query.get("view") ?? "list";
  const params = withoutPlace(address.query), text = params.get("q") ?? "", asked = searchOf(name, params), [[, aboutIt], [, hitsOfIt]] = calls(address);
  const about = useAnswer("browse", aboutIt), catalogue = about.answer && overviewOf(about.answer.catalogues[0]);
  const found = useHits(hitsOfIt), {answer, error, hits} = found;
  const counted = useAnswer("search", answer && found.isCurrent && !error ? {...asked, limit: 1, include: ["facets"]} : null, FACETS_AFTER_MS);
  const [hasFacets, setFacets] = useState(false);
  const tools = useModule(TOOLS), shown = useModule(VIEWS[view]);
  useEffect(() => {
    if (catalogue) document.title = `${text ? `${text} · ` : ""}${catalogue.title} · Stackroom`;
  }, [catalogue?.title, text]);
  const open = address.query.get("open"), opened = hits.find((hit) => hit.key === open)?.title;
  useEffect(() => {
    const label = opened ?? (text ? `“${text}”` : null);
    if (catalogue) noteVisit(name, {records: catalogue.records, ...(label && {label, url: address.url})});
  }, [catalogue?.records, address.url, opened]);
  const list = useMemo(() => answer && html`<${Hits} hits=${hits} query=${!answer.only_orders && answer.understood.query}
    loadMore=${found.loadMore} open=${open} actions=${tools && ((hit) => html`<${tools.Actions} hit=${hit} canLike=${catalogue?.has_vectors} />`)} />`,
  [hits, found.loadMore, open, tools, about.answer]);
  useKeys(t`Results`, {j: [t`next result`, down], k: [t`previous result`, up]});
  if (about.error) return html`<h1>${name}</h1><${Problem} error=${about.error} retry=${about.retry} />`;
  if (!catalogue || !(answer || error)) return html`<${Spinner} />`;
  const given = {address, session, catalogue, answer, asked, hits, params, loadMore: found.loadMore}, isSearched = Boolean(answer?.understood.query);
  const verdict = isSearched && answer.evidence === "none" && answer.notes[0];
  return html`<div class="explore">
    <header class="explore-head">
      <h1><${Named} ...${catalogue} /></h1>
      <p class="quiet">${catalogue.summary}${catalogue.has_vectors && html` · <a href=${`/taste${path.slice(2)}`}>Recommend by taste</a>`}${session.may("ServerAdmin") && html` · <a href=${`/manage${path.slice(2)}`}>Manage</a>`}</p>
      <${SearchBox} value=${text} autoFocus label=${t`Search ${catalogue.title}`} placeholder=${hintOf(catalogue)}
        onSearch=${(q) => change({q, u: null, open: null}, {replace: Boolean(q && text)})} />
    </header>
    <aside class=${`facets ${hasFacets ? "open" : ""}`} aria-label="Filters" aria-busy=${!counted.isCurrent || !found.isCurrent}>
      ${tools && counted.answer && html`<${tools.Facets} facets=${counted.answer.facets} asked=${asked} params=${params} isCurrent=${counted.isCurrent} catalogue=${catalogue} />`}</aside>
    <section class="found" aria-busy=${!found.isCurrent}>
      <h2 class="unseen" tabindex="-1">Results</h2>
      <div class="tools">
        <p class="count" role="status">${error ? "" : countOf(answer, text)}</p>
        <button type="button" class="plain small for-phone" aria-expanded=${hasFacets} onClick=${() => setFacets(!hasFacets)}>Filters</button>
        ${tools && view !== "map" && html`<${tools.SortBy} catalogue=${catalogue} sort=${asked.sort} isSearched=${isSearched} />`}
        ${tools && html`<${tools.Take} asked=${asked} facets=${counted.answer?.facets} /><${tools.Views} view=${view} catalogue=${catalogue} />`}
      </div>
      ${tools && answer && html`<${tools.Chips} params=${params} understood=${answer.understood.phrases} catalogue=${catalogue} />`}
      ${error && html`<${Problem} error=${error} retry=${found.retry} />`}
      ${answer && (!error || error.status === 0) && html`<div class=${`shown ${error ? "former" : ""}`}>
        ${verdict && html`<${Empty} title=${verdict} />`}
        ${tools && html`<${tools.LeftOut} count=${answer.left_out.adult} />`}
        ${view === "list" && list}
        ${VIEWS[view] && (shown ? html`<${shown.default} ...${given} />` : html`<${Spinner} />`)}
        ${!hits.length && !isSearched && html`<${Empty} title="No record has these filters"><p><a href=${path}>Show all ${number(catalogue.records)}</a></p><//>`}
        ${answer.notes.filter((note) => note !== verdict).map((note) => html`<p class="quiet">${note}</p>`)}
        ${tools && session.tool("search") && !asked.area && html`<${tools.Call} ...${callOf(answer.understood, name)} />`}</div>`}
    </section>
  </div>`;
}

// What is asked for, without what only concerns how it is shown.
function withoutPlace(query) {
  const params = new URLSearchParams(query);
  for (const name of ["open", "view", "at", "colour"]) params.delete(name);
  return params;
}

function countOf({understood: {query}, total, listed, evidence, only_orders}, text) {
  if (!query) return text ? t`${plural(total, "record")} that meet the conditions` : plural(total, "record");
  if (only_orders) return t`${plural(listed, "record")} that meet the conditions, closest to “${query}” first`;
  if (evidence === "none") return t`No good match`;
  return listed > total ? t`${plural(total, "good match", "good matches")} of the ${listed} nearest` : plural(total, "good match", "good matches");
}

const hintOf = ({records, samples}) => samples.length ? t`Search ${plural(records, "record")}, for example “${samples[0]}”` : t`Search ${plural(records, "record")}`;
const down = () => moveHit(1), up = () => moveHit(-1);
