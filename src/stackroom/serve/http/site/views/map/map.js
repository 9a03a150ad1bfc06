// All records of a catalogue at their places: what is found stays lit, and the rest turns grey.
import {html, useEffect, useMemo, useRef, useState} from "../../core/html.js";
import {change, changed} from "../../core/address.js";
import {number, plural} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {callTool} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Icon, Notice, Problem, Spinner} from "../../parts/basics.js";
import {Face} from "../../parts/face.js";
import {hitOf} from "../../parts/found.js";
import {said} from "../explore/tools.js";
import {createStage, dotOf} from "./stage.js";

const AGAIN_MS = 3000, LISTED = 20, LISTED_AFTER_MS = 250, NEAR = 30;
const KEYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

export default function MapView({catalogue, address, asked, params}) {
  const isStyled = useStyle("views/records.css"), name = catalogue.name;
  const [colourBy, setColourBy] = useState(null), [tries, setTries] = useState(0);
  const map = useRead("map", {catalogue: name}, tries);
  const colour = useRead("map", colourBy && {catalogue: name, colour: colourBy, colours_only: true});
  const isLimited = [...params.keys()].some((name) => name !== "sort");
  const found = useRead("search", isLimited && {...asked, limit: 1, include: ["keys"]});
  const open = openIn(name, address), near = useRead("similar", open && {id: `${name}/${open}`, limit: NEAR});
  const isBeingMade = map.answer?.state === "being made";
  useEffect(() => {
    const timer = isBeingMade && setTimeout(() => setTries(tries + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isBeingMade, tries]);
  if (map.error) return html`<${Problem} error=${map.error} retry=${() => setTries(tries + 1)} />`;
  if (!map.answer || !isStyled) return html`<${Spinner} label="Loading the map…" />`;
  if (isBeingMade) return html`<${Spinner} label="The map is being made. It appears here in a moment." />`;
  if (map.answer.state !== "ready" || !map.answer.count) {
    return html`<${Empty} title="There is no map yet"><p>A map needs vectors: the records of this catalogue are found by words alone.</p><//>`;
  }
  const bare = (key) => key.slice(name.length + 1);
  const lit = near.answer ? [open, ...near.answer.results.map(({id}) => bare(id))] : isLimited && found.answer ? found.answer.keys.map(bare) : null;
  return html`<${Drawn} map=${map.answer} colour=${colour.answer?.colour ?? map.answer.colour} lit=${lit} open=${open} isNear=${Boolean(near.answer)}
    catalogue=${catalogue} onColour=${setColourBy} problem=${found.error ?? near.error ?? colour.error} />`;
}

function Drawn({map, colour, lit, open, isNear, catalogue, onColour, problem}) {
  const {name} = catalogue, box = useRef(), stage = useRef(), titles = useRef(new Map()), [pointed, setPointed] = useState(null), [sight, setSight] = useState(null);
  const rows = useMemo(() => new Map(map.ids.map((id, row) => [id, row])), [map]);
  const litRows = useMemo(() => lit?.map((id) => rows.get(id)).filter((row) => row !== undefined) ?? null, [lit?.join("\n"), rows]);
  useEffect(() => {
    stage.current = createStage(box.current, {
      places: new Int16Array(decoded(map.places).buffer), labels: map.labels,
      onPoint: (at) => setPointed(at), onOpen: (row) => change({open: `${name}/${map.ids[row]}`}), onMove: setSight,
    });
    return () => stage.current.end();
  }, [map]);
  useEffect(() => stage.current.colour(colour && decoded(colour.codes), colour?.ordered), [map, colour]);
  useEffect(() => stage.current.light(litRows, isNear ? rows.get(open) : null), [map, litRows, isNear, open]);
  const keys = useMemo(() => ({
    "+": ["zoom in", () => stage.current.zoom(1.4)], "-": ["zoom out", () => stage.current.zoom(1 / 1.4)], 0: ["show the whole map", () => stage.current.fit()],
    Arrows: ["move the map, when it has the focus", () => false],
  }), []);
  useKeys("Map", keys);
  const press = (event) => {
    if (event.key === "Enter") stage.current.openMiddle();
    else if (KEYS[event.key]) stage.current.pan(...KEYS[event.key]);
    else return;
    event.preventDefault();
  };
  const button = (label, icon, work) => html`<button type="button" class="plain small" aria-label=${label} title=${label} onClick=${work}>${icon}</button>`;
  return html`<div class="map">
    <div class="map-tools">
      ${map.colours.length > 0 && html`<label class="inline">Colour by
        <select value=${colour?.field} onChange=${({target}) => onColour(target.value)}>${map.colours.map(({field, label}) => html`
          <option key=${field} value=${field}>${label}</option>`)}</select></label>`}
      ${colour && html`<${Legend} colour=${colour} catalogue=${catalogue} />`}
    </div>
    ${problem && html`<${Notice} mood="bad">${problem.message}<//>`}
    <div class="map-stage" ref=${box} tabindex="0" role="application" onKeyDown=${press}
      aria-label=${`Map of ${plural(map.count, "record")}: arrow keys move it, plus and minus zoom, Enter opens the record in the middle. What is in sight is listed below.`}>
      <div class="map-sheet"><canvas></canvas><canvas></canvas></div>
      <div class="map-buttons">
        ${button("Zoom in", html`<${Icon} name="plus" />`, () => stage.current.zoom(1.6))}
        ${button("Zoom out", "−", () => stage.current.zoom(1 / 1.6))}
        ${button("Show the whole map", "⤢", () => stage.current.fit())}
      </div>
      ${pointed && html`<${Tip} at=${pointed} id=${map.ids[pointed.row]} ids=${pointed.around.map((row) => map.ids[row])} name=${name} titles=${titles.current} />`}
    </div>
    <p class="quiet map-count" role="status">${countOf(map, litRows, isNear)}</p>
    ${sight && html`<${Sight} sight=${sight} ids=${map.ids} name=${name} titles=${titles.current} />`}
  </div>`;
}

function Legend({colour, catalogue}) {
  return html`<ul class="map-legend" aria-label=${`Colours by ${colour.label}`}>
    ${colour.values.map(({value, count}, place) => html`<li key=${value} title=${plural(count, "record")}><i style=${{background: dotOf(place + 1, colour.ordered)}}></i>${said(catalogue, colour.field, value)}</li>`)}</ul>`;
}

// The record that is pointed at; those around it are read with it, since they are likely to be next.
function Tip({at, id, ids, name, titles}) {
  const hit = useTitles(name, titles, titles.has(id) ? [] : ids, 60).get(id);
  return html`<div class="map-tip" style=${{left: `${at.x}px`, top: `${at.y}px`}} data-side=${at.side}>
    ${hit ? html`<${Face} ...${hit} /><div><b>${hit.title}</b>${hit.subtitle && html`<span>${hit.subtitle}</span>`}</div>` : "…"}</div>`;
}

// What is in sight as a list, for those who cannot see it and those who would rather read.
function Sight({sight, ids, name, titles}) {
  const [isOpen, setOpen] = useState(false), shown = sight.rows.slice(0, LISTED).map((row) => ids[row]);
  const known = useTitles(name, titles, isOpen ? shown : [], LISTED_AFTER_MS), what = sight.isLit ? "lit record" : "record";
  return html`<details class="map-sight" onToggle=${({target}) => setOpen(target.open)}>
    <summary>${plural(sight.total, what)} in sight</summary>
    ${isOpen && html`<ol aria-label="In sight, from the middle outwards">${shown.map((id) => html`<li key=${id}>${known.has(id)
      ? html`<a href=${changed({open: `${name}/${id}`})} data-key=${`${name}/${id}`}>${known.get(id).title}</a> <span class="quiet">${known.get(id).subtitle}</span>` : "…"}</li>`)}</ol>
      ${sight.total > LISTED && html`<p class="quiet">Zoom in to list fewer.</p>`}`}
  </details>`;
}

function useTitles(catalogue, known, ids, wait) {
  const [, setRead] = useState(0), missing = ids.filter((id) => !known.has(id));
  useEffect(() => {
    if (!missing.length) return undefined;
    const stop = new AbortController(), timer = setTimeout(async () => {
      try {
        const {results} = await callTool("search", {query: "*", catalogue, ids: missing, limit: 50, include: ["tiles"]}, {signal: stop.signal});
        for (const hit of results.map(hitOf)) known.set(hit.id, hit);
        setRead(Math.random());
      } catch {
        // The next point asks again.
      }
    }, wait);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [missing.join("\n")]);
  return known;
}

// The answer of a tool, none without arguments.
function useRead(tool, given, tries = 0) {
  const asked = given && JSON.stringify(given), [state, setState] = useState({asked: null});
  useEffect(() => {
    if (!asked) return undefined;
    const stop = new AbortController();
    callTool(tool, given, {signal: stop.signal}).then((answer) => setState({asked, answer}), (error) => error.name !== "AbortError" && setState({asked, error}));
    return () => stop.abort();
  }, [asked, tries]);
  return asked && state.asked === asked ? state : {};
}

function openIn(name, address) {
  const key = address.query.get("open") ?? "";
  return key.startsWith(`${name}/`) ? key.slice(name.length + 1) : null;
}

function decoded(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function countOf(map, lit, isNear) {
  const without = map.unplaced ? `; ${number(map.unplaced)} without a vector are not on it` : "";
  if (isNear) return `The ${plural(lit.length - 1, "record")} nearest in meaning to the open one are lit, wherever they lie.`;
  return `${plural(map.count, "record")} on the map${lit ? `, ${number(lit.length)} lit` : ""}${without}. Near each other means alike; directions mean nothing.`;
}
