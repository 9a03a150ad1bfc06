// The music section: everything by name, what is new, a search, and what its user keeps.
import {html, useEffect, useState} from "../../core/html.js";
import {change, go, link} from "../../core/address.js";
import {number, plural} from "../../core/format.js";
import {useStyle} from "../../core/style.js";
import {Empty} from "../../parts/notice.js";
import {listMusic} from "./library.js";
import {Cards, Loaded, useLoaded} from "./pieces.js";
import {SaveRule} from "./playlists.js";
import {Tracks} from "./tracks.js";

export const title = "Music";
const SECTIONS = {"": "Home", artists: "Artists", albums: "Albums", tracks: "Tracks", playlists: "Playlists", likes: "Likes", queue: "Queue"};
const PAGES = {
  "": Home,
  artists: (given) => html`<${Everything} ...${given} list="artists" />`,
  albums: (given) => html`<${Everything} ...${given} list="albums" />`,
  tracks: (given) => html`<${Everything} ...${given} list="tracks" />`,
  likes: Likes,
  album: lazily("./record_pages.js", "AlbumPage"),
  artist: lazily("./record_pages.js", "ArtistPage"),
  playlists: lazily("./playlists.js", "PlaylistsPage"),
  playlist: lazily("./playlists.js", "PlaylistPage"),
  queue: lazily("./queue_view.js", "QueuePage"),
};
const PART = 60;

export default function Music({address}) {
  const isStyled = useStyle("views/music/music.css");
  const page = address.params.page ?? "", query = address.query.get("q") ?? "";
  const Page = query ? Search : PAGES[page];
  return isStyled && html`<div class="music">
    <h1 class="unseen">Music</h1>
    <div class="music-head">
      <nav class="music-nav" aria-label="Music">${Object.entries(SECTIONS).map(([name, label]) => html`
        <a key=${name} href=${name ? `/music/${name}` : "/music"} aria-current=${!query && (page === name || `${page}s` === name) ? "page" : undefined}>${label}</a>`)}</nav>
      <${SearchBox} query=${query} />
    </div>
    ${Page ? html`<${Page} key=${`${page}${address.query.get("id") ?? ""}${query}`} id=${address.query.get("id") ?? ""} query=${query} address=${address} />`
      : html`<${Empty} title="There is no such page of music"><p><a href="/music">To the music</a></p><//>`}
  </div>`;
}

function lazily(path, name) {
  return function Later(given) {
    const [Found, setFound] = useState(null);
    useEffect(() => { import(path).then((module) => setFound(() => module[name])); }, []);
    return Found && html`<${Found} ...${given} />`;
  };
}

function SearchBox({query}) {
  const [typed, setTyped] = useState(query);
  useEffect(() => setTyped(query), [query]);
  useEffect(() => {
    if (typed.trim() === query) return undefined;
    const timer = setTimeout(() => search(typed.trim(), query), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<form role="search" class="music-search" onSubmit=${(event) => event.preventDefault()}>
    <label class="unseen" for="music-search">Search the music</label>
    <input id="music-search" type="search" placeholder="A name, or a mood: slow piano" value=${typed} onInput=${(event) => setTyped(event.target.value)} />
  </form>`;
}

// The first letter opens the results, the others change them, so that back leads to where one was.
function search(words, before) {
  if (!words) return change({q: null}, {replace: true});
  return go(link(location.pathname, {q: words}, new URLSearchParams(location.search)), {replace: Boolean(before)});
}

function Home() {
  const recent = useLoaded((options) => listMusic("recent", {limit: 12}, options), []);
  const ready = useLoaded((options) => listMusic("tracks", {playable: true, limit: 20}, options), []);
  const heard = useLoaded((options) => listMusic("plays", {limit: 5}, options), []);
  return html`<div class="stack">
    <${Loaded} state=${ready}>${({tracks}) => html`<section><h2>Ready to play</h2>
      ${tracks.items.length ? html`<${Tracks} tracks=${tracks.items} label="Ready to play" />`
        : html`<p class="quiet">No track here has a file yet. <code>pinakes add FOLDER --as music</code> reads a folder of music.</p>`}</section>`}<//>
    ${heard.value?.tracks.items.length > 0 && html`<section><h2>Most played by you</h2><${Tracks} tracks=${heard.value.tracks.items} label="Most played" /></section>`}
    <${Loaded} state=${recent}>${({albums}) => html`<section><h2>New albums</h2><${Cards} items=${albums.items} label="New albums" /></section>`}<//>
  </div>`;
}

function Everything({list}) {
  const [items, setItems] = useState([]);
  const [offset, setOffset] = useState(0);
  const state = useLoaded((options) => listMusic(list, {offset, limit: PART}, options), [offset]);
  const page = state.value?.[list];
  useEffect(() => { if (page) setItems((all) => [...all.slice(0, offset), ...page.items]); }, [page]);
  return html`<section class="stack">
    <h2>${SECTIONS[list]} <span class="quiet" role="status">${page?.total != null && number(page.total)}</span></h2>
    <${Loaded} state=${state}>${() => list === "tracks" ? html`<${Tracks} tracks=${items} />` : html`<${Cards} items=${items} label=${SECTIONS[list]} />`}<//>
    ${page?.has_more && html`<button type="button" class="plain" disabled=${state.isLoading} onClick=${() => setOffset(items.length)}>Show more</button>`}
  </section>`;
}

function Search({query}) {
  const lists = ["artists", "albums", "tracks"];
  const state = useLoaded((options) => Promise.all(lists.map((list) => listMusic(list, {q: query, limit: 12}, options))), [query]);
  return html`<${Loaded} state=${state}>${(found) => {
    const [artists, albums, tracks] = found.map((one, place) => one[lists[place]]);
    const total = artists.items.length + albums.items.length + tracks.items.length;
    if (!total) return html`<${Empty} title=${`No music here answers “${query}”`}><p>Try another spelling, or fewer words.</p><//>`;
    return html`<div class="stack">
      <p class="quiet" role="status">${plural(artists.items.length, "artist")}, ${plural(albums.items.length, "album")}, ${plural(tracks.items.length, "track")}</p>
      ${tracks.items.length > 0 && html`<section><div class="row"><h2 class="grow">Tracks</h2><${SaveRule} rule=${{query}} name=${query} /></div><${Tracks} tracks=${tracks.items} /></section>`}
      ${albums.items.length > 0 && html`<section><h2>Albums</h2><${Cards} items=${albums.items} label="Albums" /></section>`}
      ${artists.items.length > 0 && html`<section><h2>Artists</h2><${Cards} items=${artists.items} label="Artists" /></section>`}
    </div>`;
  }}<//>`;
}

function Likes() {
  const state = useLoaded((options) => listMusic("likes", {limit: 200}, options), []);
  return html`<${Loaded} state=${state}>${({artists, albums, tracks}) => {
    if (!artists.items.length && !albums.items.length && !tracks.items.length) {
      return html`<${Empty} title="You like nothing yet"><p>The heart beside a track, an album or an artist keeps it here.</p><//>`;
    }
    return html`<div class="stack">
      ${tracks.items.length > 0 && html`<section><h2>Tracks you like</h2><${Tracks} tracks=${tracks.items} label="Tracks you like" /></section>`}
      ${albums.items.length > 0 && html`<section><h2>Albums you like</h2><${Cards} items=${albums.items} label="Albums you like" /></section>`}
      ${artists.items.length > 0 && html`<section><h2>Artists you like</h2><${Cards} items=${artists.items} label="Artists you like" /></section>`}
    </div>`;
  }}<//>`;
}
