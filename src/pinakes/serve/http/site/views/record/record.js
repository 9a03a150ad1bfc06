// The record that the address names: its fields by role, what it is related to, and why it has its place.
import {html, useCallback, useEffect, useState} from "../../core/html.js";
import {go} from "../../core/address.js";
import {ask} from "../../core/server.js";
import {useStore} from "../../core/store.js";
import {useStyle} from "../../core/style.js";
import {Call} from "../../parts/call.js";
import {Drawer} from "../../parts/drawer.js";
import {Icon} from "../../parts/icon.js";
import {Problem, Spinner} from "../../parts/notice.js";
import {dislike, like, moodOf, remove, taste} from "../taste/store.js";
import {Edit} from "./edit.js";
import {Facts, ordered} from "./facts.js";
import {closeRecord, pathOf, recordLink} from "./open.js";
import {Why} from "./why.js";

const FIRST = 6;

export default function Record({address}) {
  const key = address.query.get("open");
  const [state, setState] = useState({}), [isEditing, setEditing] = useState(false);
  const isStyled = useStyle("views/record/record.css");
  const load = useCallback(() => {
    setState({key});
    return ask("GET", pathOf(key)).then((record) => setState({key, record}), (error) => setState({key, error}));
  }, [key]);
  useEffect(() => { setEditing(false); load(); }, [key]);
  const {record, error} = state.key === key ? state : {};
  return isStyled && html`<${Drawer} className="record" title=${record?.hit.title ?? "Record"} onClose=${closeRecord}>
    ${error ? html`<${Problem} error=${error} retry=${error.status === 404 ? null : load} />`
      : !record ? html`<${Spinner} />`
      : isEditing ? html`<${Edit} record=${record} onDone=${() => { setEditing(false); load(); }} />`
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
