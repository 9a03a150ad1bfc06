// The queue: what plays and what follows; and, as a view of a search, what was found as things to play.
import {html, useState} from "../../core/html.js";
import {inWords, plural, shown} from "../../core/format.js";
import {useStore, useStyle} from "../../core/store.js";
import {Empty, Icon, toast} from "../../parts/basics.js";
import {clear, enqueue, moveUp, play, playable, playAt, queue, remove} from "./queue.js";
import {IconButton, PlaylistForm, Tracks} from "./tracks.js";

export default function QueueView({answer, params}) {
  const found = playable(answer.hits), rule = ruleOf(params);
  return useStyle("views/music/music.css") && html`<div class="music stack">
    <section>
      <div class="row"><h2 class="grow">Found, and ready to play</h2>
        ${rule && html`<${SaveRule} rule=${rule} />`}
        ${found.length > 0 && html`<button type="button" class="plain small" onClick=${() => enqueue(found)}><${Icon} name="plus" /> Queue</button>
          <button type="button" class="small" onClick=${() => play(found)}><${Icon} name="play" /> Play</button>`}</div>
      ${found.length ? html`<${Tracks} tracks=${found} label="Found" />` : html`<p class="quiet">Nothing that was found has a file to play.</p>`}
    </section>
    <${QueuePage} />
  </div>`;
}

export function QueuePage() {
  const {tracks, goesOn} = useStore(queue);
  const more = (one, place) => html`
    ${one.like && html`<span class="chip wide-only" title=${`Like ${one.like}`}>similar</span>`}
    <${IconButton} icon="up" label=${`Move ${one.name} up`} disabled=${place === 0} onClick=${() => moveUp(place)} />
    <${IconButton} icon="close" label=${`Remove ${one.name}`} onClick=${() => remove(place)} />`;
  return html`<section>
    <div class="row"><h2 class="grow">Queue <span class="quiet">${plural(tracks.length, "track")}</span></h2>
      <label class="inline"><input type="checkbox" checked=${goesOn} onChange=${(event) => queue.set({goesOn: event.target.checked})} />Go on with similar</label>
      ${tracks.length > 0 && html`<button type="button" class="plain small" onClick=${clear}>Clear</button>`}</div>
    ${tracks.length ? html`<${Tracks} tracks=${tracks} label="Queue" onPlay=${playAt} more=${more} />`
      : html`<${Empty} title="The queue is empty"><p>Play an album, or add a track by its menu.</p><//>`}
  </section>`;
}

export function SaveRule({rule}) {
  const [isOpen, setOpen] = useState(false);
  const close = (made) => {
    setOpen(false);
    if (made) toast(`Saved as a playlist: ${made.name}`);
  };
  return html`<button type="button" class="plain small" onClick=${() => setOpen(true)}>Save as a playlist</button>
    ${isOpen && html`<${PlaylistForm} content=${{rule}} name=${rule.query} about=${ruleText(rule)} onClose=${close} />`}`;
}

export function ruleText({query, filters = {}, exclude = {}}) {
  const parts = (values, word) => Object.entries(values).map(([name, value]) => `${word}${inWords(name).toLowerCase()}: ${"min" in value || "max" in value ? `${value.min ?? ""}–${value.max ?? ""}` : shown(value)}`);
  return [query && `“${query}”`, ...parts(filters, ""), ...parts(exclude, "not ")].filter(Boolean).join(", ");
}

// The search of an address as the rule of a playlist; null where it searches nothing.
function ruleOf(params) {
  const filters = {}, exclude = {}, query = params.get("q") ?? "";
  for (const [name, value] of params) {
    const form = name.slice(0, 2), field = name.slice(2), [min, max] = value.split("..");
    if (field === "kind") continue;
    if (form === "f.") (filters[field] ??= []).push(value);
    if (form === "x.") (exclude[field] ??= []).push(value);
    if (form === "r.") filters[field] = {...(min && {min: bound(min)}), ...(max && {max: bound(max)})};
  }
  const rule = {...(query && {query}), ...(Object.keys(filters).length && {filters}), ...(Object.keys(exclude).length && {exclude})};
  return Object.keys(rule).length ? rule : null;
}

function bound(text) {
  return Number.isNaN(Number(text)) ? text : Number(text);
}
