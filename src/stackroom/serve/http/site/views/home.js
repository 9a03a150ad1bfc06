// The catalogues as cards, and one box that searches all of them.
import {html, t} from "../core/html.js";
import {go, link} from "../core/address.js";
import {CATALOGUES, overviewOf, searchAll} from "../core/catalogue.js";
import {ago, number, plural} from "../core/format.js";
import {useStore, visits} from "../core/store.js";
import {Empty, Named, Problem, Spinner} from "../parts/basics.js";
import {Face} from "../parts/face.js";
import {SearchBox, useAnswer, useModule} from "./explore/shared.js";

const SEARCH = () => import("./search.js");
export const title = t`Catalogues`;
export const calls = ({query}) => [["browse", CATALOGUES], query.get("q") && ["search", searchAll(query.get("q"))]].filter(Boolean);

export default function Home({address, session}) {
  const {answer, error, retry} = useAnswer("browse", CATALOGUES);
  const query = address.query.get("q") ?? "", search = useModule(query ? SEARCH : null);
  const cards = (answer?.catalogues ?? []).map(overviewOf);
  if (error) return html`<${Problem} error=${error} retry=${retry} />`;
  if (!answer) return html`<${Spinner} />`;
  if (!cards.length) return html`<${NoCatalogues} session=${session} />`;
  return html`<div class="stack home">
    <header class="explore-head">
      <h1 class=${query ? "unseen" : ""}>What are you looking for?</h1>
      <${SearchBox} value=${query} autoFocus onSearch=${(q) => show(q, query)} label="Search all catalogues"
        placeholder=${t`Search ${plural(cards.reduce((sum, {records}) => sum + records, 0), "record")} in ${plural(cards.length, "catalogue")}`} />
    </header>
    ${!query ? html`<ul class="grid cards">${cards.map((card) => html`<${Card} key=${card.name} card=${card} others=${cards} />`)}</ul>`
      : search ? html`<${search.default} query=${query} catalogues=${cards} session=${session} open=${address.query.get("open")} />` : html`<${Spinner} />`}
  </div>`;
}

function Card({card: {name, title: called, summary, records, changed_at, samples, first, kinds}, others}) {
  const isDouble = others.some((one) => one.summary === summary && one.name !== name), path = `/c/${encodeURIComponent(name)}`;
  const {url, label, records: before = records} = useStore(visits).catalogues[name] ?? {};
  const faces = first.length ? first : [{title: called, kind: kinds[0]}];
  return html`<li class="card catalogue">
    <div class="shelf">${faces.map((face) => html`<${Face} ...${face} catalogue=${name} />`)}</div>
    <h2><a href=${path}><${Named} title=${called} name=${name} /></a></h2>
    <p class="quiet">${plural(records, "record")}${changed_at && html`, <span class="tight">${t`changed ${ago(changed_at)}`}</span>`}${records > before && html` · <b class="sure strong">${number(records - before)} new since you were here</b>`}</p>
    <p class="about">${isDouble && first.length ? t`With ${first.slice(0, 3).map((one) => one.title).join(", ")}.` : summary}</p>
    ${url?.startsWith(path) && html`<p class="about">Continue with <a href=${url}>${label}</a></p>`}
    <ul class="chips samples" aria-label=${t`Try in ${called}`}>${samples.slice(0, 3).map((sample) => html`
      <li key=${sample}><a class="chip" href=${link(`/c/${encodeURIComponent(name)}`, {q: sample})}>${sample}</a></li>`)}</ul>
  </li>`;
}

function NoCatalogues({session}) {
  const mayAdd = !session.server.accounts || session.may("ServerAdmin");
  return html`<${Empty} title="There is no catalogue here yet">
    <p>${mayAdd ? html`<a href="/add">Add a table</a>, or run <code>stackroom init</code> for the samples.` : t`An administrator can add one, or give you access to one.`}</p><//>`;
}

// What is typed at home is a search with an address of its own; the focus stays in the box.
function show(query, before) {
  if (query && !before) history.pushState(null, "", location.href);
  go(query ? link("/search", {q: query}) : "/", {replace: true});
}
