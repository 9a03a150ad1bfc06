// The distribution of a number as bars, with two handles that choose a range of them.
import {html, useEffect, useState} from "../../core/html.js";
import {change} from "../../core/address.js";

export function Histogram({facet}) {
  const {field, label, bars} = facet, last = bars.length - 1;
  const stated = [placeOf(bars, facet.low, 0), placeOf(bars, facet.high, last)];
  const [ends, setEnds] = useState(stated), [low, high] = ends.map((place) => Math.min(place, last)); // of fewer bars than before
  useEffect(() => setEnds(stated), [facet.low, facet.high, bars.length]);
  const most = Math.max(1, ...bars.map(({count}) => count));
  const choose = () => {
    const range = `${low > 0 ? bars[low].from : ""}..${high < last ? bars[high].to : ""}`;
    change({[`r.${field}`]: range === ".." ? null : range});
  };
  if (last === 0) return html`<p class="quiet">${bars[0].from === bars[0].to ? bars[0].from : `${bars[0].from} to ${bars[0].to}`}</p>`;
  const handle = (end, place, setPlace) => html`<input type="range" min="0" max=${last} step="1" value=${place} aria-label=${`${label}, ${end}`}
    aria-valuetext=${String(end === "from" ? bars[place].from : bars[place].to)} onInput=${({target}) => setPlace(Number(target.value))} onChange=${choose} />`;
  return html`<div class="histogram">
    <svg viewBox=${`0 0 ${bars.length} 1`} preserveAspectRatio="none" aria-hidden="true">${bars.map(({count}, place) => html`
      <rect key=${place} x=${place + .08} width=".84" y=${1 - height(count, most)} height=${height(count, most)} class=${place >= low && place <= high ? "in" : ""} />`)}</svg>
    <div class="handles">
      ${handle("from", low, (place) => setEnds([Math.min(place, high), high]))}
      ${handle("to", high, (place) => setEnds([low, Math.max(place, low)]))}
    </div>
    <p class="ends"><span>${low === stated[0] && facet.low || bars[low].from}</span><span>${high === stated[1] && facet.high || bars[high].to}</span></p>
  </div>`;
}

const height = (count, most) => (count ? Math.max(.04, Math.sqrt(count / most)) : 0);

// The bar that a bound is in; bounds and bars are both numbers, or both dates, which compare as texts.
function placeOf(bars, bound, otherwise) {
  if (bound === null || bound === undefined) return otherwise;
  const value = typeof bars[0].from === "number" ? Number(bound) : String(bound);
  const found = otherwise === 0 ? bars.findIndex(({to}) => to >= value) : bars.findLastIndex(({from}) => from <= value);
  return found < 0 ? bars.length - 1 - otherwise : found;
}
