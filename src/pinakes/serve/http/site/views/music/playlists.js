// Playlists: lists of tracks, and rules, which are saved searches that are run whenever they are played.
import {html, useEffect, useState} from "../../core/html.js";
import {go} from "../../core/address.js";
import {ago, duration, inWords, plural, shown} from "../../core/format.js";
import {useStore} from "../../core/store.js";
import {Dialog} from "../../parts/dialog.js";
import {Icon} from "../../parts/icon.js";
import {Empty, Problem, Spinner} from "../../parts/notice.js";
import {toast} from "../../parts/toast.js";
import {changePlaylist, createPlaylist, deletePlaylist, listAllTracks, listMusic, loadPlaylists, playlists} from "./library.js";
import {Cover, Loaded, placeOf, useLoaded} from "./pieces.js";
import {play} from "./queue.js";
import {Head} from "./record_pages.js";
import {Tracks} from "./tracks.js";

export function PlaylistsPage() {
  const {items, problem} = useStore(playlists), [isNew, setNew] = useState(false);
  useEffect(() => { loadPlaylists(); }, []);
  if (problem) return html`<${Problem} error=${problem} retry=${loadPlaylists} />`;
  if (!items) return html`<${Spinner} />`;
  return html`<section class="stack">
    <div class="row"><h2 class="grow">Playlists</h2><button type="button" class="plain" onClick=${() => setNew(true)}><${Icon} name="plus" /> New playlist</button></div>
    ${items.length === 0 && html`<${Empty} title="No playlists yet"><p>Add a track to one by its menu, or save a search: it is run again whenever you play it.</p><//>`}
    <ul class="cards" aria-label="Playlists">${items.map((one) => html`<li key=${one.id} class="music-card">
      <div class="cover-box">
        <a href=${placeOf("playlist", one.id)} tabindex="-1" aria-hidden="true"><${Cover} name=${one.name} /></a>
        <button type="button" class="cover-play" aria-label=${`Play ${one.name}`} onClick=${async () => play(await listAllTracks("playlist", {id: one.id}))}><${Icon} name="play" /></button>
      </div>
      <a class="card-name" href=${placeOf("playlist", one.id)}>${one.name}</a>
      <span class="quiet card-line">${one.rule ? "Saved search" : plural(one.tracks.length, "track")} · ${ago(one.updated_at)}</span>
    </li>`)}</ul>
    ${isNew && html`<${NewPlaylist} onClose=${() => setNew(false)} />`}
  </section>`;
}

export function PlaylistPage({id}) {
  const state = useLoaded(async (options) => ({...(await listMusic("playlist", {id, limit: 1}, options)), items: await listAllTracks("playlist", {id})}), [id]);
  const kept = useStore(playlists).items?.find((one) => one.id === id);
  useEffect(() => { loadPlaylists(); }, []);
  return html`<${Loaded} state=${state}>${({name, rule, items, missing}) => {
    const line = [plural(items.length, "track"), duration(items.reduce((sum, one) => sum + (one.seconds ?? 0), 0))].join(" · ");
    const put = async (tracks) => { await changePlaylist(id, name, {tracks}); state.again(); };
    const without = (place) => put(items.toSpliced(place, 1).map((one) => one.id));
    const swap = (place) => put(items.toSpliced(place - 1, 2, items[place], items[place - 1]).map((one) => one.id));
    const remove = async () => { await deletePlaylist(kept); go("/music/playlists"); };
    return html`<article class="stack">
      <${Head} item=${{name, artists: []}} kind=${rule ? "Saved search" : "Playlist"} tracks=${items} line=${rule ? `${ruleText(rule)} · ${line} now` : line}>
        <${Rename} id=${id} name=${name} onDone=${state.again} />
        ${kept && html`<button type="button" class="plain danger" onClick=${remove}>Delete</button>`}
      <//>
      ${missing.length > 0 && html`<p class="quiet">${plural(missing.length, "track is", "tracks are")} no longer in the catalogue.</p>`}
      ${items.length ? html`<${Tracks} tracks=${items} label=${`Tracks of ${name}`} more=${rule ? undefined : (one, place) => html`
        <button type="button" class="quiet-button" disabled=${place === 0} aria-label=${`Move ${one.name} up`} onClick=${() => swap(place)}><${Icon} name="up" /></button>
        <button type="button" class="quiet-button" aria-label=${`Remove ${one.name}`} onClick=${() => without(place)}><${Icon} name="close" /></button>`} />`
        : html`<${Empty} title=${rule ? "Nothing fits this search at the moment" : "This playlist is empty"}><p>${rule ? "What is added to the catalogue and fits appears by itself." : "Add a track to it by the track's menu."}</p><//>`}
    </article>`;
  }}<//>`;
}

export function ruleText({query, filters = {}, exclude = {}}) {
  const range = (value) => (value && typeof value === "object" && !Array.isArray(value) ? `${value.min ?? ""}–${value.max ?? ""}` : shown(value));
  return [
    query && `“${query}”`,
    ...Object.entries(filters).map(([name, value]) => `${inWords(name).toLowerCase()}: ${range(value)}`),
    ...Object.entries(exclude).map(([name, value]) => `not ${inWords(name).toLowerCase()}: ${shown(value)}`),
  ].filter(Boolean).join(", ");
}

export function SaveRule({rule, name}) {
  const [isOpen, setOpen] = useState(false);
  return html`<button type="button" class="plain small" onClick=${() => setOpen(true)}><${Icon} name="plus" /> Save as a playlist</button>
    ${isOpen && html`<${NewPlaylist} rule=${rule} name=${name} onClose=${() => setOpen(false)} />`}`;
}

function NewPlaylist({rule, name = "", onClose}) {
  const [typed, setTyped] = useState(name), [words, setWords] = useState(""), [problem, setProblem] = useState(null);
  const create = async (event) => {
    event.preventDefault();
    const kept = rule ?? (words.trim() ? {query: words.trim()} : null);
    try {
      const made = await createPlaylist(typed.trim() || words.trim(), kept ? {rule: kept} : {tracks: []});
      onClose();
      if (rule) toast(`Saved: ${made.name}`);
      else go(placeOf("playlist", made.id));
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Dialog} title=${rule ? "Save the search as a playlist" : "New playlist"} onClose=${onClose}>
    <form class="stack" onSubmit=${create}>
      <label>Name<input value=${typed} required=${!words.trim()} maxlength="200" onInput=${(event) => setTyped(event.target.value)} /></label>
      ${rule ? html`<p class="quiet">Tracks that answer ${ruleText(rule)}. The search is run again whenever you play it.</p>`
        : html`<label>Only what answers these words (optional)<input value=${words} maxlength="500" placeholder="slow piano" onInput=${(event) => setWords(event.target.value)} />
          <span class="hint">Then it is a saved search, run again whenever you play it.</span></label>`}
      ${problem && html`<p class="error" role="alert">${problem.message}</p>`}
      <div class="row end"><button type="button" class="plain" onClick=${onClose}>Cancel</button><button>Save</button></div>
    </form>
  <//>`;
}

function Rename({id, name, onDone}) {
  const [typed, setTyped] = useState(null);
  const save = async (event) => {
    event.preventDefault();
    if (typed.trim() && typed.trim() !== name) await changePlaylist(id, typed.trim());
    setTyped(null);
    onDone();
  };
  if (typed === null) return html`<button type="button" class="plain" onClick=${() => setTyped(name)}>Rename</button>`;
  return html`<form class="row" onSubmit=${save}><input aria-label="Name" maxlength="200" value=${typed} onInput=${(event) => setTyped(event.target.value)} /><button>Save</button></form>`;
}
