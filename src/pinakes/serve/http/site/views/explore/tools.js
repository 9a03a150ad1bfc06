// The views of a result set, and what limits it, each as a chip that can be taken back.
import {html} from "../../core/html.js";
import {change, changed} from "../../core/address.js";
import {useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
export {Call} from "../../parts/basics.js";

const LIMITS = /^[fxr]\./u;

export function Views({view, catalogue}) {
  const isStyled = useStyle("views/explore/facets.css");
  const names = ["list", "table", catalogue.has_map && "map", catalogue.has_audio && "queue"].filter(Boolean);
  return isStyled && html`<nav class="views" aria-label="View">${names.map((name) => html`
    <a key=${name} href=${changed({view: name === "list" ? null : name})} aria-current=${name === view ? "true" : undefined}>
      <${Icon} name=${name} /><span>${name[0].toUpperCase() + name.slice(1)}</span></a>`)}</nav>`;
}

// Words of the query that are conditions, and choices made by hand.
export function Chips({params, understood, catalogue}) {
  const labels = Object.fromEntries(catalogue.fields.map(({field, label}) => [field, label]));
  const chosen = [...params].filter(([name]) => LIMITS.test(name));
  if (!understood.length && !chosen.length) return null;
  return html`<ul class="chips limits" aria-label="Conditions">
    ${understood.map(({phrase, text}) => html`<${Chip} key=${phrase} text=${text} said=${phrase}
      onRemove=${() => change({u: [...params.getAll("u"), phrase]})} />`)}
    ${chosen.map(([name, value]) => html`<${Chip} key=${name + value} text=${describe(name, value, labels)}
      onRemove=${() => change({[name]: params.getAll(name).filter((one) => one !== value)})} />`)}
    ${chosen.length > 1 && html`<li><button type="button" class="link" onClick=${() => clear(params)}>Clear all</button></li>`}
  </ul>`;
}

function Chip({text, said, onRemove}) {
  return html`<li class=${`chip limit ${said ? "said" : ""}`} title=${said ? `Understood from “${said}”` : undefined}>${text}
    <button type="button" class="quiet-button" aria-label=${`Remove ${text}`} onClick=${onRemove}><${Icon} name="close" /></button></li>`;
}

function describe(name, value, labels) {
  const label = labels[name.slice(2)] ?? name.slice(2);
  if (name[0] === "x") return `not ${value}`;
  if (name[0] === "f") return `${label}: ${value}`;
  const [low, high] = value.split("..");
  if (high === undefined) return `${label}: ${low}`;
  return low && high ? `${label} ${low} to ${high}` : low ? `${label} ≥ ${low}` : `${label} ≤ ${high}`;
}

function clear(params) {
  const names = [...params.keys()].filter((name) => LIMITS.test(name));
  change(Object.fromEntries(names.map((name) => [name, null])));
}

// What can be done with a hit where it is listed.
export function Actions({hit, canLike}) {
  const button = (name, label, work) => html`<button type="button" class="quiet-button" aria-label=${`${label} ${hit.title}`} title=${label}
    onClick=${work}><${Icon} name=${name} /></button>`;
  return html`
    ${hit.audio && button("play", "Play", async () => (await import("../music/queue.js")).play([hit]))}
    ${canLike && button("like", "Like", async () => (await import("../taste/store.js")).like(hit))}`;
}
