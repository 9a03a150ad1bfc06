// All records of a catalogue at their places: what is found stays lit, and the rest turns grey.
import {html, useEffect, useMemo, useRef, useState, t} from "../../core/html.js";
import {change, changed} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {callTool} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Icon, Notice, Problem, Spinner} from "../../parts/basics.js";
import {Face} from "../../parts/face.js";
import {hitOf} from "../../parts/found.js";
import {said} from "../explore/tools.js";
import {createStage, dotOf} from "./stage.js";

const AGAIN_MS = 3000, LISTED = 20, LISTED_AFTER_MS = 250, NEAR = 30, FEW = 50;
const KEYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

export default function MapView({catalogue, address, asked, params}) {
  const isStyled = useStyle("views/records.css"), name = catalogue.name;
  const [tries, setTries] = useState(0), colourBy = address.query.get("colour");
  const map = useRead("map", {catalogue: name}, tries), isReady = map.answer?.state === "ready";
  const colour = useRead("map", isReady && colourBy && {catalogue: name, colour: colourBy, only: "colour"});
  const named = useRead("map", isReady && {catalogue: name, only: "titles"});
  const isLimited = [...params.keys()].some((name) => name !== "sort");
  const found = useRead("search", isLimited && {...asked, limit: 1, include: ["keys"]});
  const open = openIn(name, address), near = useRead("similar", open && {id: `${name}/${open}`, limit: NEAR});
  const bare = (key) => key.slice(name.length + 1);
  const lit = useMemo(() => (near.answer ? [open, ...near.answer.results.map(({id}) => bare(id))] : isLimited && found.answer ? found.answer.keys.map(bare) : null), [open, near.answer, isLimited, found.answer]);
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
  return html`<${Drawn} map=${map.answer} colour=${colour.answer?.colour ?? map.answer.colour} lit=${lit} open=${open} isNear=${Boolean(near.answer)} params=${params}
    catalogue=${catalogue} named=${named.answer?.titles ?? []} at=${address.query.get("at")} problem=${found.error ?? near.error ?? colour.error} />`;
}

function Drawn({map, colour, lit, open, isNear, catalogue, named, at, params, problem}) {
  const {name} = catalogue, box = useRef(), stage = useRef(), titles = useRef(new Map()), told = useRef(at), [pointed, setPointed] = useState(null), [sight, setSight] = useState(null), [mode, setMode] = useState("");
  const rows = useMemo(() => new Map(map.ids.map((id, row) => [id, row])), [map]);
  const litRows = useMemo(() => lit?.map((id) => rows.get(id)).filter((row) => row !== undefined) ?? null, [lit, rows]);
  const nameOf = useRef();
  nameOf.current = (row) => named[row] ?? titles.current.get(map.ids[row])?.title;
  // Of a very large map the titles are read for what is in sight.
  const few = sight?.total <= FEW ? sight.rows.filter((row) => !named[row]).map((row) => map.ids[row]) : [];
  const read = useTitles(name, titles.current, few, LISTED_AFTER_MS);
  useEffect(() => {
    stage.current = createStage(box.current, {
      places: new Int16Array(decoded(map.places).buffer), labels: map.labels, at, nameOf: (row) => nameOf.current(row),
      onPoint: (point) => setPointed(point), onOpen: (row) => change({open: `${name}/${map.ids[row]}`}),
      onArea: (area) => { setMode(""); change({area, open: null}); },
      onMove(seen) {
        setSight(seen);
        if (seen.at !== told.current) change({at: told.current = seen.at}, {replace: true});
      },
    });
    return () => stage.current.end();
  }, [map]);
  useEffect(() => { if (at !== told.current) stage.current.show(told.current = at); }, [at]);
  useEffect(() => { stage.current.mode = mode; }, [map, mode]);
  useEffect(() => stage.current.area(params.get("area")), [map, params.get("area")]);
  useEffect(() => stage.current.redraw(), [map, named, read.size]);
  useEffect(() => stage.current.colour(colour && decoded(colour.codes), colour?.ordered), [map, colour]);
  useEffect(() => stage.current.light(litRows, isNear ? rows.get(open) : null), [map, litRows, isNear, open]);
  const keys = useMemo(() => ({
    "+": [t`zoom in`, () => stage.current.zoom(1.4)], "-": [t`zoom out`, () => stage.current.zoom(1 / 1.4)], 0: [t`show the whole map`, () => stage.current.fit()],
    Arrows: [t`move the map, when it has the focus`, () => false],
  }), []);
  useKeys(t`Map`, keys);
  const press = (event) => {
    if (event.key === "Enter") stage.current.openMiddle();
    else if (KEYS[event.key]) stage.current.pan(...KEYS[event.key]);
    else return;
    event.preventDefault();
  };
  const button = (label, icon, work, isOn) => html`<button type="button" class="plain small" aria-label=${label} title=${label} aria-pressed=${isOn} onClick=${work}>${icon}</button>`;
  const choose = (label, shape, icon) => button(label, html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${icon} /></svg>`, () => setMode(mode === shape ? "" : shape), mode === shape);
  return html`<div class="map">
    <div class="map-tools">
      ${map.colours.length > 0 && html`<label class="inline">Colour by
        <select value=${colour?.field} onChange=${({target}) => change({colour: target.value}, {replace: true})}>${map.colours.map(({field, label}) => html`
          <option key=${field} value=${field}>${label}</option>`)}</select></label>`}
      ${colour && html`<${Legend} colour=${colour} params=${params} catalogue=${catalogue} />`}
    </div>
    ${problem && html`<${Notice} mood="bad">${problem.message}<//>`}
    <div class=${`map-stage ${mode && "choosing"}`} ref=${box} tabindex="0" role="application" onKeyDown=${press}
      aria-label=${t`Map of ${plural(map.count, "record")}: arrow keys move it, plus and minus zoom, Enter opens the record in the middle. What is in sight is listed below.`}>
      <div class="map-sheet"><canvas></canvas><canvas></canvas><canvas></canvas></div>
      <div class="map-buttons">
        ${button(t`Zoom in`, html`<${Icon} name="plus" />`, () => stage.current.zoom(1.6))}
        ${button(t`Zoom out`, "−", () => stage.current.zoom(1 / 1.6))}
        ${button(t`Show the whole map`, "⤢", () => stage.current.fit())}
        ${choose(t`Choose a box`, "box", "M4 5h16v14H4z")}
        ${choose(t`Choose freely`, "lasso", "M12 5c-5 0-8 2-8 5s3 5 8 5 8-2 8-5-3-5-8-5M8 14c-2 2 0 4-3 6")}
      </div>
      ${pointed && html`<${Tip} at=${pointed} title=${nameOf.current(pointed.row)} id=${map.ids[pointed.row]} ids=${pointed.around.map((row) => map.ids[row])} name=${name} titles=${titles.current} />`}
    </div>
    <p class="quiet map-count" role="status">${countOf(map, litRows, isNear, sight?.drawn)}</p>
    ${sight && html`<${Sight} sight=${sight} ids=${map.ids} name=${name} titles=${titles.current} onChoose=${() => stage.current.chooseSight()} />`}
  </div>`;
}

// Each colour is a filter by its value, and of single values also one that leaves it out.
function Legend({colour: {field, label, filter, ordered, values, codes}, params, catalogue}) {
  const dot = (place) => html`<i style=${{background: dotOf(place, ordered)}}></i>`, others = useMemo(() => decoded(codes).filter((code) => !code).length, [codes]);
  const toggle = (kind, wanted, isOn) => {
    const names = ["f", "x"].map((one) => `${one}.${filter}`), without = Object.fromEntries(names.map((one) => [one, params.getAll(one).filter((value) => value !== wanted)]));
    change(ordered ? {[`r.${filter}`]: isOn ? null : wanted} : {...without, ...(!isOn && {[`${kind}.${filter}`]: [...without[`${kind}.${filter}`], wanted]})});
  };
  return html`<ul class="map-legend" aria-label=${t`Colours by ${label}`}>
    ${values.map(({value, count, wanted}, place) => {
      const shown = said(catalogue, field, value), isOn = (kind) => params.getAll(`${kind}.${filter}`).includes(wanted), kind = ordered ? "r" : "f";
      return html`<li key=${value} class=${isOn("x") ? "out" : ""} title=${plural(count, "record")}>${filter
        ? html`<button type="button" class="plain" aria-pressed=${isOn(kind)} onClick=${() => toggle(kind, wanted, isOn(kind))}>${dot(place + 1)}${shown}</button>` : html`${dot(place + 1)}${shown}`}
        ${filter && !ordered && html`<button type="button" class="quiet-button" aria-pressed=${isOn("x")} aria-label=${t`Leave out ${shown}`} title="Leave out" onClick=${() => toggle("x", wanted, isOn("x"))}><${Icon} name="close" /></button>`}</li>`;
    })}
    ${others > 0 && html`<li title=${plural(others, "record")}>${dot(0)}other</li>`}</ul>`;
}

// The record that is pointed at; those around it are read with it, since they are likely to be next.
function Tip({at, title, id, ids, name, titles}) {
  const hit = useTitles(name, titles, titles.has(id) ? [] : ids, 60).get(id), shown = title ?? hit?.title;
  if (!shown) return null;
  return html`<div class="map-tip" style=${{left: `${at.x}px`, top: `${at.y}px`}} data-side=${at.side}>
    ${hit && html`<${Face} ...${hit} />`}<div><b>${shown}</b>${hit?.subtitle && html`<span>${hit.subtitle}</span>`}</div></div>`;
}

// What is in sight as a list, for those who cannot see it and those who would rather read.
function Sight({sight, ids, name, titles, onChoose}) {
  const [isOpen, setOpen] = useState(false), shown = sight.rows.slice(0, LISTED).map((row) => ids[row]);
  const known = useTitles(name, titles, isOpen ? shown : [], LISTED_AFTER_MS), count = sight.isLit ? plural(sight.total, "lit record") : plural(sight.total, "record");
  return html`<details class="map-sight" onToggle=${({target}) => setOpen(target.open)}>
    <summary>${count} in sight</summary>
    ${isOpen && html`<ol aria-label="In sight, from the middle outwards">${shown.map((id) => html`<li key=${id}>${known.has(id)
      ? html`<a href=${changed({open: `${name}/${id}`})} data-key=${`${name}/${id}`}>${known.get(id).title}</a> <span class="quiet">${known.get(id).subtitle}</span>` : "…"}</li>`)}</ol>
      <p><button type="button" class="link" onClick=${onChoose}>Filter by what is in sight</button>${sight.total > LISTED && html` <span class="quiet">Zoom in to list fewer.</span>`}</p>`}
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

function countOf(map, lit, isNear, drawn = map.count) {
  const sample = drawn < map.count ? t`; without a graphics card, ${drawn} of them are drawn` : "";
  const without = (map.unplaced ? t`; ${map.unplaced} without a vector are not on it` : "") + sample;
  if (isNear) return t`The ${plural(lit.length - 1, "record")} nearest in meaning to the open one are lit, wherever they lie.`;
  const placed = lit ? t`${plural(map.count, "record")} on the map, ${lit.length} lit` : t`${plural(map.count, "record")} on the map`;
  return `${placed}${without}. ${t`Near each other means alike; directions mean nothing.`}`;
}
