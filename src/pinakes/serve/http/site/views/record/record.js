// The record that the address names: its fields by role, what it is related to, and why it has its place.
import {html, useCallback, useEffect, useState} from "../../core/html.js";
import {changed, go, link, useAddress} from "../../core/address.js";
import {number} from "../../core/format.js";
import {ask} from "../../core/server.js";
import {useStore, useStyle} from "../../core/store.js";
import {Call, Icon, Problem, Spinner} from "../../parts/basics.js";
import {Drawer} from "../../parts/layers.js";
import {Edit} from "./edit.js";
import {Finder, texts} from "./finder.js";
import {closeRecord, openRecord, pathOf, recordLink} from "./open.js";
import {dislike, like, moodOf, remove, taste} from "../taste/store.js";

const FIRST = 6;

export default function Record({address}) {
  const key = address.query.get("open");
  const [state, setState] = useState({}), [isEditing, setEditing] = useState(false);
  const isStyled = useStyle("views/record/record.css");
  const load = useCallback(() => {
    ask("GET", pathOf(key)).then((record) => setState({key, record}), (error) => setState({key, error}));
  }, [key]);
  useEffect(() => {
    setEditing(false);
    load();
    window.addEventListener("recordchange", load);
    return () => window.removeEventListener("recordchange", load);
  }, [key]);
  const {record, error} = state.key === key ? state : {};
  return isStyled && html`<${Drawer} className="record" title=${record?.hit.title ?? "Record"} onClose=${closeRecord}>
    ${error ? html`<${Problem} error=${error} retry=${error.status === 404 ? null : load} />`
      : !record ? html`<${Spinner} />`
      : isEditing ? html`<${Edit} record=${record} onDone=${() => setEditing(false)} />`
      : html`<${Shown} key=${key} record=${record} onEdit=${() => setEditing(true)} />`}
  <//>`;
}

function Shown({record, onEdit}) {
  const {hit, fields, relations, origin, call} = record;
  const body = fields.find((one) => one.role === "body");
  return html`
    <div class="record-head">
      ${hit.image && html`<img src=${hit.image} alt="" />`}
      <div><p class="quiet">${hit.subtitle}</p><${Actions} record=${record} onEdit=${onEdit} /></div>
    </div>
    ${body && html`<${Body} text=${String(body.value)} />`}
    <${Facts} catalogue=${hit.catalogue} fields=${ordered(fields)} />
    ${relations.map((one) => html`<${Group} key=${one.name} title=${one.name} ...${one} />`)}
    ${record.has_vectors && html`<${Similar} key=${hit.key} of=${hit.key} />`}
    <${Why} hit=${hit} />
    ${origin && html`<p class="quiet">From ${origin}</p>`}
    <${Call} ...${call} />`;
}

function Actions({record, onEdit}) {
  const {hit} = record, mood = useStore(taste, (tray) => moodOf(hit.key, tray));
  const toggle = (name, put) => () => (mood === name ? remove(hit.key) : put(hit));
  const play = () => import("../music/queue.js").then(({play: start}) => start([hit]));
  return html`<div class="row">
    ${hit.audio && html`<button type="button" class="small" onClick=${play}><${Icon} name="play" /> Play</button>`}
    ${record.has_vectors && html`
      <button type="button" class="plain small" aria-pressed=${mood === "like"} onClick=${toggle("like", like)}><${Icon} name="like" /> Like</button>
      <button type="button" class="plain small" aria-pressed=${mood === "dislike"} onClick=${toggle("dislike", dislike)}><${Icon} name="dislike" /> Dislike</button>
      <button type="button" class="plain small" onClick=${() => { like(hit); go(`/taste/${encodeURIComponent(hit.catalogue)}`); }}>More like this</button>`}
    ${record.edit && html`<button type="button" class="plain small" onClick=${onEdit}><${Icon} name="edit" /> Edit</button>`}
    ${hit.url && html`<a class="button plain small" href=${hit.url} target="_blank" rel="noreferrer noopener"><${Icon} name="link" /> Its page</a>`}
  </div>`;
}

function Body({text}) {
  const [isWhole, setWhole] = useState(false), isLong = text.length > 900;
  return html`<p class=${`record-text ${isLong && !isWhole ? "cut" : ""}`}>${text}</p>
    ${isLong && html`<button type="button" class="link" onClick=${() => setWhole(!isWhole)}>${isWhole ? "Show less" : "Show all"}</button>`}`;
}

function Similar({of}) {
  const [found, setFound] = useState(null);
  useEffect(() => { ask("GET", `${pathOf(of)}?parts=similar`).then(setFound, () => setFound({hits: []})); }, [of]);
  if (!found) return html`<section class="record-group"><h3>Similar</h3><${Spinner} /></section>`;
  return found.hits.length > 0 && html`<${Group} title="Similar" hits=${found.hits} total=${found.hits.length}><${Call} ...${found.call} /><//>`;
}

export function Group({title, hits, total, children}) {
  const [isWhole, setWhole] = useState(false);
  return html`<section class="record-group">
    <h3>${title} ${total > FIRST && html`<span class="quiet">${total}</span>`}</h3>
    <ul class="brief">${hits.slice(0, isWhole ? undefined : FIRST).map((hit) => html`<li key=${hit.key}>
      <a href=${recordLink(hit.key)}>${hit.image && html`<img src=${hit.image} alt="" loading="lazy" />`}<span>${hit.title}</span></a>
      <span class="quiet">${hit.subtitle}</span></li>`)}</ul>
    ${hits.length > FIRST && !isWhole && html`<button type="button" class="link" onClick=${() => setWhole(true)}>Show ${total > hits.length ? `${hits.length} of ${total}` : `all ${total}`}</button>`}
    ${children}
  </section>`;
}

const ORDER = ["people", "time", "place", "alternatives", null, "popularity", "picture", "link"];
const LABELS = {alternatives: "Also called"};
const MOST = 24;

// Title and body are shown apart; the others as their roles say how much they tell.
function ordered(fields) {
  const rest = fields.filter(({role}) => role !== "title" && role !== "body");
  return rest.sort((one, other) => ORDER.indexOf(one.role) - ORDER.indexOf(other.role));
}

function Facts({catalogue, fields}) {
  return fields.length > 0 && html`<dl class="facts">${fields.map((field) => html`
    <dt key=${field.field}>${LABELS[field.role] ?? field.label}</dt><dd><${Value} catalogue=${catalogue} field=${field} /></dd>`)}</dl>`;
}

function Value({catalogue, field}) {
  const {filter, type, value, text} = field;
  const all = texts(value), several = all.slice(0, MOST);
  if (type === "json") return html`<code>${JSON.stringify(value)}</code>`;
  if (several.some(isPage)) return html`<ul>${several.map((one) => html`<li><${Page} text=${one} /></li>`)}</ul>${more(all)}`;
  if (filter === "values") return html`<span class="chips">${several.map((one) => html`
    <a class="chip" href=${link(path(catalogue), {[`f.${field.field}`]: one})}>${one}</a>`)}</span>${more(all)}`;
  if (filter === "range") return html`<a href=${link(path(catalogue), {[`r.${field.field}`]: `${value}..${value}`})}>${text}</a>`;
  return Array.isArray(value) ? html`${several.join(" · ")}${more(all)}` : text;
}

function Page({text}) {
  if (!isPage(text)) return text;
  return html`<a href=${text} target="_blank" rel="noreferrer noopener">${text.replace(/^https?:\/\/(www\.)?/u, "")}</a>`;
}

const isPage = (text) => /^https?:\/\/\S+$/iu.test(text);
const path = (catalogue) => `/c/${encodeURIComponent(catalogue)}`;
const more = (all) => all.length > MOST && html` <span class="quiet">and ${all.length - MOST} more</span>`;

function Why({hit}) {
  const {path: here, query: parameters} = useAddress(), isHere = here === `/c/${hit.catalogue}`;
  const asked = isHere || here === "/search" ? parameters.get("q") ?? "" : "";
  const [typed, setTyped] = useState(asked), [state, setState] = useState(null);
  const explain = async (query) => {
    setState({});
    try {
      const call = query === asked && isHere ? await searched() : {query};
      setState({told: await ask("POST", "/v1/explain", {catalogue: hit.catalogue, id: hit.id, ...call})});
    } catch (error) {
      setState({error});
    }
  };
  useEffect(() => { setState(null); setTyped(asked); }, [asked, hit.key]);
  const onSubmit = (event) => { event.preventDefault(); if (typed.trim()) explain(typed.trim()); };
  return html`<details class="record-group why" onToggle=${(event) => event.target.open && !state && asked && explain(asked)}>
    <summary><h3>${asked ? "Why this rank?" : "Where would it stand?"}</h3></summary>
    <form class="row" onSubmit=${onSubmit}>
      <label class="grow">For the query<input value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
      <button type="submit" class="plain">Explain</button>
    </form>
    <div aria-live="polite">${state?.error ? html`<${Problem} error=${state.error} />` : state?.told ? html`<${Told} told=${state.told} />` : state && html`<${Spinner} />`}</div>
    ${isHere && asked && html`<${Finder} catalogue=${hit.catalogue} label="Why not another? Its name" onChoose=${(other) => openRecord(other.key)} />`}
  </details>`;
}

// The very call that the results on the page came from, so that the explanation is of what is seen.
async function searched() {
  const {call} = await ask("GET", changed({open: null, view: null, parts: "hits", limit: 1}));
  const {query, limit, ...rest} = call.arguments;
  return {query, tool: call.name, arguments: rest};
}

function Told({told}) {
  const place = told.found ? `Number ${told.rank}, by ${told.tool}` : "Not among the results";
  const strongest = Math.max(...Object.values(told.strength).map(Math.abs), 0.0001);
  return html`<p><b>${place}</b> · evidence ${number(told.score)} of 1</p>
    <ul class="because">${told.because.map((one) => html`<li>${one}</li>`)}</ul>
    <table class="bars"><caption>What its evidence is made of</caption><tbody>${Object.entries(told.strength).map(([name, part]) => html`<tr key=${name}>
      <th scope="row">${name.replace(/[:_]/gu, " ")}</th><td><span class=${`bar-part ${part < 0 ? "minus" : ""}`} style=${{width: `${100 * Math.abs(part) / strongest}%`}}></span></td><td class="number">${part.toFixed(3)}</td></tr>`)}</tbody></table>`;
}
