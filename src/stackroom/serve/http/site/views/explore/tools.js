// Beside the hits: the views, what limits the result set as chips, and its fields as facets.
import {html, useEffect, useLayoutEffect, useRef, useState, t} from "../../core/html.js";
import {change, changed} from "../../core/address.js";
import {number, plural} from "../../core/format.js";
import {useStyle} from "../../core/store.js";
import {addIcons, Icon} from "../../parts/basics.js";
import {useAnswer} from "./shared.js";
export {Call} from "../../parts/code.js";
export {SortBy, Take} from "./take.js";

addIcons({
  gallery: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  table: "M4 5h16v14H4zM4 10h16M10 5v14",
  map: "M6 7h.01M17 6h.01M12 12h.01M8 17h.01M18 16h.01M15 9h.01M5 13h.01",
  queue: "M4 6h11M4 12h11M4 18h7M17 13v6l5-3z",
  down: "M6 9l6 6 6-6",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
});

const LIMITS = /^([fxr]\.|area$)/u;
const FEW = 6, LOOKED_FOR_AFTER_MS = 150;

// A value of a field as people write it.
export function said({fields}, field, value) {
  return fields.find((one) => one.field === field)?.words?.[value] ?? value;
}

const VIEWS = {list: t`List`, gallery: t`Gallery`, table: t`Table`, map: t`Map`, queue: t`Queue`};

export function Views({view, catalogue}) {
  const names = ["list", "gallery", "table", catalogue.has_map && "map", catalogue.has_audio && "queue"].filter(Boolean);
  return html`<nav class="views" aria-label="View">${names.map((name) => html`
    <a key=${name} href=${changed({view: name === "list" ? null : name})} aria-current=${name === view ? "true" : undefined}>
      <${Icon} name=${name} /><span>${VIEWS[name]}</span></a>`)}</nav>`;
}

export function LeftOut({count}) {
  return count > 0 && html`<p class="quiet">${plural(count, "adult record")} left out · <button type="button" class="link" onClick=${() => change({"f.adult": "true"})}>${count === 1 ? t`Show it` : t`Show them`}</button></p>`;
}

// Words of the query that are conditions, and choices made by hand.
export function Chips({params, understood, catalogue}) {
  const chosen = [...params].filter(([name]) => LIMITS.test(name)), list = useRef(), note = useFocusKept(list);
  if (!understood.length && !chosen.length) return null;
  return html`<ul ref=${list} onClick=${note} class="chips limits" aria-label="Conditions">
    ${understood.map(({phrase, text}) => html`<${Chip} key=${phrase} text=${text} said=${phrase}
      onRemove=${() => change({u: [...params.getAll("u"), phrase]})} />`)}
    ${chosen.map(([name, value]) => html`<${Chip} key=${name + value} text=${describe(name, value, catalogue)}
      onRemove=${() => change({[name]: params.getAll(name).filter((one) => one !== value)})} />`)}
    ${chosen.length > 1 && html`<li><button type="button" class="link" onClick=${() => clear(params)}>Clear all</button></li>`}
  </ul>`;
}

// When the button that has the focus goes with its chip, the focus goes to the next one, or to the results.
function useFocusKept(list) {
  const place = useRef(-1), buttons = () => [...list.current?.querySelectorAll("button") ?? []];
  useLayoutEffect(() => {
    const left = buttons();
    if (place.current < 0 || left.includes(document.activeElement)) return;
    if (document.activeElement === document.body) (left[place.current] ?? left.at(-1) ?? document.querySelector(".found h2"))?.focus();
    place.current = -1;
  });
  return ({target}) => { place.current = buttons().indexOf(target.closest("button")); };
}

function Chip({text, said, onRemove}) {
  return html`<li class=${`chip limit ${said ? "said" : ""}`} title=${said ? t`Understood from “${said}”` : undefined}>${text}
    <button type="button" class="quiet-button" aria-label=${t`Remove ${text}`} onClick=${onRemove}><${Icon} name="close" /></button></li>`;
}

function describe(name, value, catalogue) {
  const field = name.slice(2), label = catalogue.fields.find((one) => one.field === field)?.label ?? field;
  if (name === "area") return t`An area of the map`;
  if (name === "f.adult") return t`Adult records too`;
  if (name[0] === "x") return t`not ${said(catalogue, field, value)}`;
  if (name[0] === "f") return `${label}: ${said(catalogue, field, value)}`;
  const [low, high] = value.split("..");
  if (high === undefined) return `${label}: ${low}`;
  return low && high ? t`${label} ${low} to ${high}` : low ? `${label} ≥ ${low}` : `${label} ≤ ${high}`;
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
    ${hit.audio && button("play", t`Play`, async () => (await import("../music/queue.js")).play([hit]))}
    ${canLike && button("like", t`Like`, async () => (await import("../taste/store.js")).like(hit))}`;
}

// Values with counts to choose from, and the distribution of numbers with two handles.
export function Facets({facets, asked, params, isCurrent, catalogue}) {
  if (!useStyle("views/explore/explore.css")) return null;
  if (!facets.length) return html`<p class="quiet">Nothing to filter by.</p>`;
  return facets.map((facet) => html`<fieldset key=${facet.field} class="facet">
    <legend>${facet.label}</legend>
    ${facet.bars ? html`<${Histogram} facet=${facet} />` : html`<${Values} facet=${facet} asked=${asked} params=${params} isCurrent=${isCurrent} catalogue=${catalogue} />`}
  </fieldset>`);
}

function Values({facet, asked, params, isCurrent, catalogue}) {
  const [isOpen, setOpen] = useState(false), [like, setLike] = useState("");
  const found = useAnswer("search", like ? {...asked, limit: 1, include: ["facets"], facet: facet.field, like} : null, LOOKED_FOR_AFTER_MS);
  const {values, total} = (like && found.answer?.facets[0]) || facet;
  const shown = isOpen || like ? values : values.filter((one, place) => place < FEW || one.chosen || one.excluded);
  const most = Math.max(1, ...values.map(({count}) => count));
  return html`
    ${isOpen && total > values.length && html`<input type="search" class="like" aria-label=${t`Find a value of ${facet.label}`} placeholder=${t`Find in ${facet.total}`}
      value=${like} onInput=${({target}) => setLike(target.value.trim())} />`}
    <ul>${shown.map((one) => html`<${Value} key=${one.value} one=${one} field=${facet.field} share=${one.count / most} params=${params} isCurrent=${isCurrent} words=${said(catalogue, facet.field, one.value)} />`)}</ul>
    ${!shown.length && html`<p class="quiet">${like ? t`No value like this.` : t`None.`}</p>`}
    ${total > FEW && html`<button type="button" class="link" aria-expanded=${isOpen} onClick=${() => { setOpen(!isOpen); setLike(""); }}>
      ${isOpen ? t`Show fewer` : t`Show more of ${total}`}</button>`}`;
}

// What was chosen by hand is shown at once; what the query says is known by the answer, and changed in the query.
function Value({one: {value, count, chosen, excluded}, field, share, params, isCurrent, words}) {
  const is = (one) => one.toLowerCase() === value.toLowerCase(), others = (name) => params.getAll(name).filter((one) => !is(one));
  const wanted = `f.${field}`, leftOut = `x.${field}`, isWanted = params.getAll(wanted).some(is), isOut = params.getAll(leftOut).some(is);
  const isSaid = isCurrent && (chosen && !isWanted || excluded && !isOut);
  const toggle = (name, isOn) => change({[wanted]: others(wanted), [leftOut]: others(leftOut), ...(!isOn && {[name]: [...others(name), value]})});
  const isGone = isOut || isSaid && excluded;
  return html`<li class=${`value ${isGone ? "out" : ""}`} style=${{"--share": share.toFixed(2)}}>
    <label class="inline"><input type="checkbox" checked=${isWanted || isSaid && chosen} disabled=${isSaid} onChange=${() => toggle(wanted, isWanted)} />
      <span class=${`value-name ${words === "Unknown" ? "quiet" : ""}`}>${words}</span><span class="value-count">${number(count)}</span></label>
    <button type="button" class="quiet-button" aria-pressed=${isGone} disabled=${isSaid} aria-label=${t`Leave out ${words}`} title="Leave out"
      onClick=${() => toggle(leftOut, isOut)}><${Icon} name="close" /></button>
  </li>`;
}

// Bars, and two handles that choose a range of them.
function Histogram({facet}) {
  const {field, label, bars} = facet, last = bars.length - 1;
  const stated = [placeOf(bars, facet.low, 0), placeOf(bars, facet.high, last)];
  // There may be fewer bars than before.
  const [ends, setEnds] = useState(stated), [low, high] = ends.map((place) => Math.min(place, last));
  useEffect(() => setEnds(stated), [facet.low, facet.high, bars.length]);
  const most = Math.max(1, ...bars.map(({count}) => count));
  const choose = () => {
    const range = `${low > 0 ? bars[low].first : ""}..${high < last ? bars[high].last : ""}`;
    change({[`r.${field}`]: range === ".." ? null : range});
  };
  const from = (place) => bars[place].words?.[0] ?? bars[place].first, to = (place) => bars[place].words?.[1] ?? bars[place].last;
  if (last === 0) return html`<p class="quiet">${from(0) === to(0) ? from(0) : t`${from(0)} to ${to(0)}`}</p>`;
  const handle = (end, valueAt, place, setPlace) => html`<input type="range" min="0" max=${last} step="1" value=${place} aria-label=${`${label}, ${end}`}
    aria-valuetext=${String(valueAt(place))} onInput=${({target}) => setPlace(Number(target.value))} onChange=${choose} />`;
  return html`<div class="histogram">
    <svg viewBox=${`0 0 ${bars.length} 1`} preserveAspectRatio="none" aria-hidden="true">${bars.map(({count}, place) => html`
      <rect key=${place} x=${place + .08} width=".84" y=${1 - height(count, most)} height=${height(count, most)} class=${place >= low && place <= high ? "in" : ""} />`)}</svg>
    <div class="handles">
      ${handle(t`from`, from, low, (place) => setEnds([Math.min(place, high), high]))}
      ${handle(t`to`, to, high, (place) => setEnds([low, Math.max(place, low)]))}
    </div>
    <p class="ends"><span>${!bars[0].words && low === stated[0] && facet.low || from(low)}</span><span>${!bars[0].words && high === stated[1] && facet.high || to(high)}</span></p>
  </div>`;
}

const height = (count, most) => (count ? Math.max(.04, Math.sqrt(count / most)) : 0);

// The bar that a bound is in; bounds and bars are both numbers, or both dates, which compare as texts.
function placeOf(bars, bound, otherwise) {
  if (bound === null || bound === undefined) return otherwise;
  const value = typeof bars[0].first === "number" ? Number(bound) : String(bound);
  const found = otherwise === 0 ? bars.findIndex(({last}) => last >= value) : bars.findLastIndex(({first}) => first <= value);
  return found < 0 ? bars.length - 1 - otherwise : found;
}
