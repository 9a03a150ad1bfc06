import {html, useEffect, useRef, useState} from "../../core/html.js";
import {number} from "../../core/format.js";

const HEIGHT = 170, LEFT = 48, BOTTOM = 22, TOP = 8;

// Lines over time. `series`: [{label, color (a custom property), values, fill}]; null is a gap, bridged where it `spans`.
export function Chart({title, unit = "", times, series, top}) {
  const [width, setWidth] = useState(420), [at, setAt] = useState(null), place = useRef();
  useEffect(() => {
    const watcher = new ResizeObserver(([{contentRect}]) => setWidth(contentRect.width));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  const most = top ?? roundedUp(Math.max(1, ...series.flatMap((one) => one.values).filter((value) => value !== null)));
  const x = (index) => LEFT + (width - LEFT - 4) * (times.length > 1 ? index / (times.length - 1) : 1);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const look = (event) => {
    const from = event.clientX - place.current.getBoundingClientRect().left - LEFT;
    setAt(Math.max(0, Math.min(times.length - 1, Math.round((from / (width - LEFT - 4)) * (times.length - 1)))));
  };
  const index = at ?? times.length - 1;
  return html`<section class="card chart"><h2>${title}</h2>
    <p class="unseen">${series.map((one) => inShort(one, unit)).join("; ")}</p>
    <div ref=${place} aria-hidden="true">
      <svg width=${width} height=${HEIGHT} onPointerMove=${look} onPointerLeave=${() => setAt(null)}>
        ${[0, most / 2, most].map((value) => html`<g key=${value}><line class="grid-line" x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} />
          <text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${number(value)}</text></g>`)}
        ${times.length > 1 && [0, 0.5, 1].map((part) => html`<text key=${part} x=${x((times.length - 1) * part)} y=${HEIGHT - 4} text-anchor=${["start", "middle", "end"][part * 2]}>${clock(times[Math.round((times.length - 1) * part)])}</text>`)}
        ${series.map((one) => html`<${Line} key=${one.label} one=${one} x=${x} y=${y} />`)}
        ${at !== null && html`<line class="cursor-line" x1=${x(at)} x2=${x(at)} y1=${TOP} y2=${HEIGHT - BOTTOM} />`}
      </svg>
      <p class="legend"><span>${times.length ? clock(times[index], true) : ""}</span>${series.map((one) => html`<span key=${one.label}><i style=${{background: `var(${one.color})`}}></i>${one.label} <b>${written(one.values[index], unit)}</b></span>`)}</p>
    </div></section>`;
}

function Line({one, x, y}) {
  const runs = [[]];
  one.values.forEach((value, index) => {
    if (value !== null) runs.at(-1).push([x(index), y(value)]);
    else if (!one.spans && runs.at(-1).length) runs.push([]);
  });
  const drawn = runs.filter((run) => run.length), path = (run) => run.map((point) => point.map((part) => part.toFixed(1)).join(",")).join("L");
  const color = {stroke: `var(${one.color})`};
  return html`<g style=${color}>
    ${one.fill && drawn.map((run) => html`<path class="area" style=${{fill: `var(${one.color})`}} d=${`M${run[0][0]},${y(0)}L${path(run)}L${run.at(-1)[0]},${y(0)}Z`} />`)}
    ${drawn.map((run) => (run.length > 1 ? html`<path class="line" d=${`M${path(run)}`} />` : html`<circle cx=${run[0][0]} cy=${run[0][1]} r="2.5" style=${{fill: `var(${one.color})`}} />`))}</g>`;
}

// The next of 1, 2, 5, 10, 20 … so that the axis has plain numbers.
function roundedUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((part) => part * size).find((step) => step >= value);
}

function clock(seconds, isExact = false) {
  return new Date(seconds * 1000).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", ...(isExact ? {second: "2-digit"} : {})});
}

function written(value, unit) {
  return value === null || value === undefined ? "–" : `${number(value)}${unit}`;
}

function inShort({label, values}, unit) {
  const known = values.filter((value) => value !== null);
  return known.length ? `${label}: ${written(known.at(-1), unit)} now, at most ${written(Math.max(...known), unit)}` : `${label}: nothing yet`;
}
