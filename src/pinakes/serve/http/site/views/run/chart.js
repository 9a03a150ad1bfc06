import uPlot from "../../vendor/uplot.js";
import {html, useEffect, useRef} from "../../core/html.js";
import {number} from "../../core/format.js";
import {useStyle} from "../../core/style.js";

const HEIGHT = 190;
const dark = matchMedia("(prefers-color-scheme: dark)");

// Lines over time. `series`: [{label, color (a custom property), values, fill}]; gaps are null.
export function Chart({title, unit = "", times, series}) {
  useStyle("vendor/uplot.css");
  const place = useRef(), plot = useRef(null), data = [times, ...series.map((one) => one.values)];
  useEffect(() => {
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(series, unit, place.current.clientWidth), data, place.current);
    };
    const watcher = new ResizeObserver(() => plot.current?.setSize({width: place.current.clientWidth, height: HEIGHT}));
    draw();
    watcher.observe(place.current);
    dark.addEventListener("change", draw);
    return () => {
      dark.removeEventListener("change", draw);
      watcher.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [series.length, unit]);
  useEffect(() => plot.current?.setData(data), [times, ...series.map((one) => one.values)]);
  return html`<section class="card chart"><h2>${title}</h2><p class="unseen">${series.map((one) => inShort(one, unit)).join("; ")}</p><div ref=${place} aria-hidden="true"></div></section>`;
}

function optionsOf(series, unit, width) {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = {stroke: color("--quiet"), grid: {stroke: color("--line"), width: 1}, ticks: {show: false}, font: "12px system-ui"};
  const written = (value) => (value === null || value === undefined ? "–" : `${number(value)}${unit}`);
  return {
    width, height: HEIGHT, cursor: {drag: {x: false, y: false}, points: {size: 6}}, legend: {live: true},
    scales: {y: {range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)]}},
    axes: [axis, {...axis, size: 56, values: (_plot, values) => values.map(written)}],
    series: [{label: "Time", value: (_plot, at) => (at ? new Date(at * 1000).toLocaleTimeString() : "–")}, ...series.map((one) => ({
      label: one.label, stroke: color(one.color), width: 2, fill: one.fill && `${color(one.color)}22`, spanGaps: Boolean(one.spans), points: {show: false}, value: (_plot, value) => written(value),
    }))],
  };
}

function inShort({label, values}, unit) {
  const known = values.filter((value) => value !== null);
  return known.length ? `${label}: ${number(known.at(-1))}${unit} now, at most ${number(Math.max(...known))}${unit}` : `${label}: nothing yet`;
}
