// The music section: everything by name, what is new, a search, albums and artists, and what its user keeps.
import {html, useEffect, useState} from "../../core/html.js";
import {change, go, link} from "../../core/address.js";
import {ago, duration, number, plural} from "../../core/format.js";
import {useStore, useStyle} from "../../core/store.js";
import {Empty, Icon, Problem, Spinner} from "../../parts/basics.js";
import {changePlaylist, deletePlaylist, listAll, listMusic, loadPlaylists, playlists} from "./library.js";
import {enqueue, play, playRecord} from "./queue.js";
import {QueuePage, ruleText, SaveRule} from "./queue_view.js";
import {Artists, Cover, IconButton, LikeButton, placeOf, PlaylistForm, Tracks} from "./tracks.js";

export const title = "Music";
const SECTIONS = {"": "Home", artists: "Artists", albums: "Albums", tracks: "Tracks", playlists: "Playlists", likes: "Likes", queue: "Queue"};
const PAGES = {"": Home, artists: Everything, albums: Everything, tracks: Everything, playlists: Playlists, likes: Likes, queue: QueuePage, album: Album, artist: Artist, playlist: Playlist};
const PART = 60, TYPING_MS = 250;

export default function Music({address}) {
  const page = address.params.page ?? "", query = address.query.get("q") ?? "", id = address.query.get("id") ?? "";
  const Page = query ? Search : PAGES[page];
  return useStyle("views/music/music.css") && html`<div class="music">
    <h1 class="unseen">Music</h1>
    <div class="music-head">
      <nav aria-label="Music">${Object.entries(SECTIONS).map(([name, label]) => html`
        <a key=${name} href=${name ? `/music/${name}` : "/music"} aria-current=${!query && (page === name || `${page}s` === name) ? "page" : undefined}>${label}</a>`)}</nav>
      <${SearchBox} query=${query} />
    </div>
    ${Page ? html`<${Page} key=${page + id + query} id=${id} list=${page} query=${query} />` : html`<${Empty} title="There is no such page of music" />`}
  </div>`;
}

// The first letters open the results, the others change them, so that back leads to where one was.
function SearchBox({query}) {
  const [typed, setTyped] = useState(query), words = typed.trim();
  useEffect(() => setTyped(query), [query]);
  useEffect(() => {
    const search = () => (query || !words ? change({q: words}, {replace: true}) : go(link("/music", {q: words})));
    const timer = words !== query && setTimeout(search, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<form role="search" onSubmit=${(event) => event.preventDefault()}>
    <input type="search" aria-label="Search the music" placeholder="A name, or a mood: slow piano" value=${typed} onInput=${(event) => setTyped(event.target.value)} />
  </form>`;
}

// What `load` gives for these inputs, drawn by `children(value, again)`.
function Loaded({load, inputs = [], children}) {
  const [{value, error}, setState] = useState({}), [tries, setTries] = useState(0), again = () => setTries(tries + 1);
  useEffect(() => {
    const stop = new AbortController(), give = (state) => stop.signal.aborted || setState(state);
    load({signal: stop.signal}).then((found) => give({value: found}), (refused) => give({error: refused}));
    return () => stop.abort();
  }, [...inputs, tries]);
  if (error) return html`<${Problem} error=${error} retry=${again} />`;
  return value ? children(value, again) : html`<${Spinner} />`;
}

function Cards({items, label}) {
  return html`<ul class="cards" aria-label=${label}>${items.map((one) => html`<li key=${one.id}>
    <div class="cover-box">
      <a href=${placeOf(one.kind, one.id)} tabindex="-1" aria-hidden="true"><${Cover} ...${one} isRound=${one.kind === "artist"} /></a>
      <button type="button" aria-label=${`Play ${one.name}`} onClick=${() => playRecord(one)}><${Icon} name="play" /></button>
    </div>
    <a href=${placeOf(one.kind, one.id)}>${one.name}</a>
    <span class="quiet">${one.line ?? [one.artists.map(({name}) => name).join(", "), one.year].filter(Boolean).join(" · ")}</span>
  </li>`)}</ul>`;
}

// The lists of an answer, each under a heading; those that are empty are left out.
function Groups({found, titles = {}, action}) {
  return ["tracks", "albums", "artists"].filter((list) => found[list]?.items.length).map((list) => {
    const label = titles[list] ?? SECTIONS[list], {items} = found[list];
    return html`<section key=${list}><div class="row"><h2 class="grow">${label}</h2>${list === "tracks" && action}</div>
      ${list === "tracks" ? html`<${Tracks} tracks=${items} label=${label} />` : html`<${Cards} items=${items} label=${label} />`}</section>`;
  });
}

const NO_FILES = html`<p class="quiet">No track here has a file yet: <code>pinakes add FOLDER --as music</code> reads a folder of music.</p>`;

async function loadHome(options) {
  const [ready, heard, recent] = await Promise.all([
    listMusic("tracks", {playable: true, limit: 20}, options), listMusic("plays", {limit: 5}, options), listMusic("recent", {limit: 12}, options)]);
  return {ready, heard, recent};
}

function Home() {
  return html`<${Loaded} load=${loadHome}>${({ready, heard, recent}) => html`<div class="stack">
    ${!ready.tracks.items.length && NO_FILES}
    <${Groups} found=${ready} titles=${{tracks: "Ready to play"}} />
    <${Groups} found=${heard} titles=${{tracks: "Most played by you"}} />
    <${Groups} found=${recent} titles=${{albums: "New albums"}} />
  </div>`}<//>`;
}

function Everything({list}) {
  const [count, setCount] = useState(PART);
  const load = async (options) => {
    const parts = await Promise.all(Array.from({length: count / PART}, (_, place) => listMusic(list, {offset: place * PART, limit: PART}, options)));
    return {...parts.at(-1)[list], items: parts.flatMap((one) => one[list].items)};
  };
  return html`<${Loaded} load=${load} inputs=${[count]}>${({items, total, has_more: hasMore}) => html`<div class="stack">
    <p class="quiet" role="status">${number(total)} in all</p>
    <${Groups} found=${{[list]: {items}}} />
    ${hasMore && html`<button type="button" class="plain" onClick=${() => setCount(count + PART)}>Show more</button>`}
  </div>`}<//>`;
}

async function loadSearch(query, options) {
  const lists = ["tracks", "albums", "artists"];
  const found = await Promise.all(lists.map((list) => listMusic(list, {q: query, limit: 24}, options)));
  return Object.assign({}, ...found.map((one, place) => ({[lists[place]]: one[lists[place]]})));
}

function Search({query}) {
  return html`<${Loaded} load=${(options) => loadSearch(query, options)} inputs=${[query]}>${(found) => {
    const [tracks, albums, artists] = [found.tracks, found.albums, found.artists].map(({items}) => items.length);
    if (!tracks && !albums && !artists) return html`<${Empty} title=${`No music here answers “${query}”`}><p>Try another spelling, or fewer words.</p><//>`;
    return html`<div class="stack">
      <p class="quiet" role="status">${plural(tracks, "track")}, ${plural(albums, "album")}, ${plural(artists, "artist")}</p>
      <${Groups} found=${found} action=${html`<${SaveRule} rule=${{query}} />`} />
    </div>`;
  }}<//>`;
}

function Likes() {
  return html`<${Loaded} load=${(options) => listMusic("likes", {}, options)}>${(found) => found.tracks.items.length + found.albums.items.length + found.artists.items.length
    ? html`<div class="stack"><${Groups} found=${found} /></div>`
    : html`<${Empty} title="You like nothing yet"><p>The heart beside a track, an album or an artist keeps it here.</p><//>`}<//>`;
}

function Head({item, kind, line, tracks, children}) {
  const isSilent = !tracks.some((one) => one.playable);
  return html`<header class="music-top">
    <${Cover} ...${item} isRound=${kind === "Artist"} />
    <div>
      <p class="quiet">${kind}</p>
      <h2>${item.name}</h2>
      <p>${item.artists?.length > 0 && html`<${Artists} artists=${item.artists} /> · `}<span class="quiet">${line}</span></p>
      ${item.about && html`<p>${item.about}</p>`}
      <div class="row">
        <button type="button" disabled=${isSilent} onClick=${() => play(tracks)}><${Icon} name="play" /> Play</button>
        <button type="button" class="plain" disabled=${isSilent} onClick=${() => enqueue(tracks)}><${Icon} name="plus" /> Queue</button>
        ${item.id && html`<${LikeButton} ...${item} />`}
        ${children}
      </div>
    </div>
  </header>`;
}

const length = (tracks) => duration(tracks.reduce((sum, one) => sum + (one.seconds ?? 0), 0));

function Album({id}) {
  return html`<${Loaded} load=${(options) => listMusic("album", {id}, options)} inputs=${[id]}>${({item, tracks: {items}}) => html`<article class="stack">
    <${Head} item=${item} kind="Album" tracks=${items} line=${[item.year, plural(items.length, "track"), length(items), item.genres.slice(0, 4).join(", ")].filter(Boolean).join(" · ")} />
    <section><${Tracks} tracks=${items} isAlbum /></section>
  </article>`}<//>`;
}

async function loadArtist(id, options) {
  const [found, like] = await Promise.all([listMusic("artist", {id}, options), listMusic("similar", {id, limit: 7}, options).catch(() => ({}))]);
  return {...found, artists: like.artists};
}

function Artist({id}) {
  return html`<${Loaded} load=${(options) => loadArtist(id, options)} inputs=${[id]}>${(found) => html`<article class="stack">
    <${Head} item=${found.item} kind="Artist" tracks=${found.tracks.items} line=${`${plural(found.albums.total, "album")}, ${plural(found.tracks.total, "track")}`} />
    <${Groups} found=${found} titles=${{artists: "Similar artists"}} />
  </article>`}<//>`;
}

function Playlists() {
  const {items} = useStore(playlists), [isNew, setNew] = useState(false);
  const card = (one) => ({...one, kind: "playlist", line: `${one.rule ? "Saved search" : plural(one.tracks.length, "track")} · ${ago(one.updated_at)}`});
  return html`<${Loaded} load=${loadPlaylists}>${() => html`<section>
    <div class="row"><h2 class="grow">Playlists</h2><button type="button" class="plain" onClick=${() => setNew(true)}><${Icon} name="plus" /> New playlist</button></div>
    ${items.length ? html`<${Cards} items=${items.map(card)} label="Playlists" />`
      : html`<${Empty} title="No playlists yet"><p>Add a track to one by its menu, or save a search: it is run anew whenever you play it.</p><//>`}
    ${isNew && html`<${PlaylistForm} onClose=${(made) => { setNew(false); if (made) go(placeOf("playlist", made.id)); }} />`}
  </section>`}<//>`;
}

function Playlist({id}) {
  const [isNaming, setNaming] = useState(false);
  return html`<${Loaded} load=${() => listAll("playlist", {id})} inputs=${[id]}>${({name, rule, missing, tracks: {items}}, again) => {
    const ids = items.map((one) => one.id), line = `${plural(items.length, "track")} · ${length(items)}`;
    const put = (tracks) => changePlaylist(id, name, {tracks}).then(again);
    const remove = () => deletePlaylist({id, name, tracks: ids, rule}).then(() => go("/music/playlists"));
    const more = (one, place) => html`
      <${IconButton} icon="up" label=${`Move ${one.name} up`} disabled=${place === 0} onClick=${() => put(ids.toSpliced(place - 1, 2, ids[place], ids[place - 1]))} />
      <${IconButton} icon="close" label=${`Remove ${one.name}`} onClick=${() => put(ids.toSpliced(place, 1))} />`;
    return html`<article class="stack">
      <${Head} item=${{name}} kind=${rule ? "Saved search" : "Playlist"} tracks=${items} line=${rule ? `${ruleText(rule)} · ${line} now` : line}>
        <button type="button" class="plain" onClick=${() => setNaming(true)}>Rename</button>
        <button type="button" class="plain danger" onClick=${remove}>Delete</button>
      <//>
      ${missing.length > 0 && html`<p class="quiet">${plural(missing.length, "track is", "tracks are")} no longer in the catalogue.</p>`}
      ${items.length ? html`<section><${Tracks} tracks=${items} more=${rule ? undefined : more} /></section>`
        : html`<${Empty} title=${rule ? "Nothing answers this search at the moment" : "This playlist is empty"} />`}
      ${isNaming && html`<${PlaylistForm} id=${id} name=${name} onClose=${(changed) => { setNaming(false); if (changed) again(); }} />`}
    </article>`;
  }}<//>`;
}
