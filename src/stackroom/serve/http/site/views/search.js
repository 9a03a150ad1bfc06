// What all catalogues have for a query, merged by how well it answers.
import {html, t} from "../core/html.js";
import {link} from "../core/address.js";
import {searchAll} from "../core/catalogue.js";
import {number, plural} from "../core/format.js";
import {Empty, Problem, Spinner} from "../parts/basics.js";
import {hitOf} from "../parts/found.js";
import {Hits, useAnswer} from "./explore/shared.js";
import {Actions, Call} from "./explore/tools.js";

export default function Search({query, open, catalogues, session}) {
  const {answer, error, isCurrent, retry} = useAnswer("search", searchAll(query));
  if (error) return html`<${Problem} error=${error} retry=${retry} />`;
  if (!answer) return html`<${Spinner} />`;
  const totals = Object.entries(answer.by_catalogue).map(([name, total]) => ({name, title: titleOf(name, catalogues), total}));
  const verdict = answer.evidence === "none" && answer.notes[0];
  const having = totals.filter(({total}) => total > 0).sort((one, other) => other.total - one.total);
  return html`<section class="stack" aria-busy=${!isCurrent}>
    <h2 class="unseen">Results</h2>
    <p class="count" role="status">${having.length ? t`${plural(answer.total, "good match", "good matches")} in ${plural(having.length, "catalogue")}` : t`No good match`}</p>
    ${having.length > 0 && html`<ul class="chips" aria-label="Catalogues with good matches">${having.map(({name, title, total}) => html`
      <li key=${name}><a class="chip" href=${link(`/c/${encodeURIComponent(name)}`, {q: query})}>${title} <b>${number(total)}</b></a></li>`)}</ul>`}
    ${answer.notes.filter((note) => note !== verdict).map((note) => html`<p class="quiet">${note}</p>`)}
    ${verdict && html`<${Empty} title=${verdict} />`}
    <${Hits} hits=${answer.results.map((one) => inCatalogue(hitOf(one), catalogues))} query=${query} open=${open} actions=${(hit) => html`<${Actions} hit=${hit} />`} />
    ${session.tool("search") && html`<${Call} name="search" arguments=${{query, limit: 24}} />`}
  </section>`;
}

// Among records of all catalogues, each says which it is from.
function inCatalogue(hit, catalogues) {
  return {...hit, subtitle: [titleOf(hit.catalogue, catalogues), hit.subtitle].filter(Boolean).join(" · ")};
}

// What a catalogue is called; its id beside it where several have one title.
function titleOf(name, catalogues) {
  const title = catalogues.find((one) => one.name === name)?.title ?? name;
  return catalogues.some((one) => one.title === title && one.name !== name) ? `${title} (${name})` : title;
}
