// The queue: what plays and what follows; and, as a view of a search, what was found as things to play.
import {html} from "../../core/html.js";
import {plural} from "../../core/format.js";
import {useStore} from "../../core/store.js";
import {useStyle} from "../../core/style.js";
import {Icon} from "../../parts/icon.js";
import {Empty} from "../../parts/notice.js";
import {Tracks} from "./tracks.js";
import {SaveRule} from "./playlists.js";
import {asTrack, clear, enqueue, move, play, playAt, queue, remove} from "./queue.js";

export default function QueueView({address, hits}) {
  const isStyled = useStyle("views/music/music.css");
  const found = hits.filter((hit) => hit.audio).map(asListed);
  const rule = ruleOf(address.query);
  return isStyled && html`<div class="music stack">
    <section>
      <div class="row"><h2 class="grow">Found, and ready to play</h2>
        ${rule && html`<${SaveRule} rule=${rule} name=${rule.query ?? ""} />`}
        <button type="button" class="plain small" disabled=${!found.length} onClick=${() => enqueue(found)}><${Icon} name="plus" /> Queue all</button>
        <button type="button" class="small" disabled=${!found.length} onClick=${() => play(found)}><${Icon} name="play" /> Play all</button></div>
      ${found.length ? html`<${Tracks} tracks=${found} label="Found" />`
        : html`<p class="quiet">${hits.length ? "Nothing of what was found has a file to play." : "Nothing was found."}</p>`}
    </section>
    <${QueuePage} />
  </div>`;
}

export function QueuePage() {
  const {tracks, goesOn} = useStore(queue);
  const listed = tracks.map((one) => ({...one, name: one.title}));
  return html`<section>
    <div class="row"><h2 class="grow">Queue <span class="quiet">${plural(tracks.length, "track")}</span></h2>
      <label class="inline"><input type="checkbox" checked=${goesOn} onChange=${(event) => queue.set({goesOn: event.target.checked})} />Go on with similar</label>
      ${tracks.length > 0 && html`<button type="button" class="plain small" onClick=${clear}>Clear</button>`}</div>
    ${tracks.length ? html`<${Tracks} tracks=${listed} label="Queue" onPlay=${playAt} more=${(one, place) => html`
      ${one.like && html`<span class="chip" title=${`Like ${one.like}`}>similar</span>`}
      <button type="button" class="quiet-button" disabled=${place === 0} aria-label=${`Move ${one.name} up`} onClick=${() => move(place, place - 1)}><${Icon} name="up" /></button>
      <button type="button" class="quiet-button" aria-label=${`Take ${one.name} out`} onClick=${() => remove(place)}><${Icon} name="close" /></button>`} />`
      : html`<${Empty} title="The queue is empty"><p>Play an album, or add a track by its menu.</p><//>`}
  </section>`;
}

function asListed(hit) {
  const track = asTrack(hit);
  return {...track, name: track.title};
}

// The search of an address as a rule of a playlist; null where it searches nothing.
export function ruleOf(query) {
  const rule = {query: query.get("q") ?? "", filters: {}, exclude: {}};
  for (const [name, value] of query) {
    const [form, field] = [name.slice(0, 2), name.slice(2)];
    if (field === "kind") continue;
    if (form === "f.") (rule.filters[field] ??= []).push(value);
    if (form === "x.") (rule.exclude[field] ??= []).push(value);
    if (form === "r.") rule.filters[field] = rangeOf(value);
  }
  const kept = Object.entries(rule).filter(([, value]) => (typeof value === "string" ? value : Object.keys(value).length));
  return kept.length ? Object.fromEntries(kept) : null;
}

function rangeOf(text) {
  const [min, max] = text.split("..").map((one) => (one === "" ? null : Number.isNaN(Number(one)) ? one : Number(one)));
  return Object.fromEntries(Object.entries({min, max: max ?? null}).filter(([, value]) => value !== null));
}
