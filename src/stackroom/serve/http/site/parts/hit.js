// A record that was found, as a card. The list, the chat and the view inside an assistant show this same one.
import {html, t} from "../core/html.js";
import {shortened, shown} from "../core/format.js";
import {Face} from "./face.js";

const labels = () => ({IDENTICAL: t`Exact match`, HIGHLY_SIMILAR: t`Very good match`, SIMILAR: t`Good match`, RELEVANT: t`Fair match`});

// `href` makes the title a link, `onOpen` a button; `children` are the actions of the place where the card is shown.
export function Hit({hit, href, onOpen, isChosen = false, isNear = false, children}) {
  return html`<article class=${`hit ${isChosen ? "chosen" : ""} ${isNear ? "faint" : ""}`}>
    <${Face} ...${hit} className="hit-image" />
    <div class="hit-body">
      <h3 class="hit-title" dir="auto"><${Title} hit=${hit} href=${href} onOpen=${onOpen} /></h3>
      <p class="hit-line">${[hit.subtitle, labels()[hit.relevance] && html`<span class=${`sure ${hit.relevance === "RELEVANT" ? "weak" : "strong"}`}>${labels()[hit.relevance]}</span>`]
        .filter(Boolean).map((one, place) => html`${place > 0 && " · "}${one}`)}</p>
      ${hit.text && html`<p class="hit-text" dir="auto">${shortened(hit.text, 260)}</p>`}
      <${FieldChips} fields=${hit.fields} />
    </div>
    ${children && html`<div class="hit-actions">${children}</div>`}
  </article>`;
}

// `isFolded` makes each one line, which unfolds to the card.
export function HitList({hits, hrefOf, onOpen, chosen, actions, isNear, isFolded, label = t`Results`}) {
  const card = (hit) => html`<${Hit} hit=${hit} href=${hrefOf?.(hit)} onOpen=${onOpen} isChosen=${chosen === hit.key} isNear=${isNear}>${actions?.(hit)}<//>`;
  return html`<ol class="hits" aria-label=${label}>${hits.map((hit) => html`<li key=${hit.key}>
    ${isFolded ? html`<details><summary dir="auto"><${Face} ...${hit} />${hit.title} <span class="quiet">${hit.subtitle}</span></summary>${card(hit)}</details>` : card(hit)}
  </li>`)}</ol>`;
}

function FieldChips({fields = [], most = 5}) {
  const filled = fields.filter(({value}) => shown(value) !== "");
  return filled.length > 0 && html`<ul class="chips">${filled.slice(0, most).map(({field, label, value}) => html`
    <li key=${field} class="chip"><b>${label}</b> ${shortened(shown(value, field), 60)}</li>`)}</ul>`;
}

function Title({hit, href, onOpen}) {
  if (href) return html`<a href=${href} data-key=${hit.key}>${hit.title}</a>`;
  if (onOpen) return html`<button type="button" class="link" data-key=${hit.key} onClick=${() => onOpen(hit)}>${hit.title}</button>`;
  return hit.title;
}

// What the page asked for has a tile, with all that a card shows.
export function tileOf({id, title, url, score, relevance = null, signals, tile: {line, ...tile}}) {
  const catalogue = id.split("/", 1)[0];
  return {...tile, key: id, catalogue, id: id.slice(catalogue.length + 1), title, subtitle: line, score, relevance, signals, url: pageOf(url)};
}

export const pageOf = (url) => (/^https?:/u.test(url ?? "") ? url : null);
