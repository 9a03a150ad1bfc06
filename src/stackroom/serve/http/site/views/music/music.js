// The music section: everything by name, what is new, a search, albums and artists, and what its user keeps.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {change, go, link} from "../../core/address.js";
import {ago, number, plural} from "../../core/format.js";
import {duration} from "../../core/units.js";
import {useStore, useStyle} from "../../core/store.js";
import {Empty, Icon, Problem, Spinner} from "../../parts/basics.js";
import {SearchBox} from "../explore/shared.js";
import {changePlaylist, deletePlaylist, enqueue, listMusic, loadPlaylists, play, playRecord, playback, playlists, queue, resume} from "./queue.js";
import {Artists, Cover, LikeButton, PlaylistForm, QueuePage, SaveTracks, Tracks, placeOf} from "./tracks.js";

export const title = t`Music`;
const SECTIONS = {"": t`Home`, artists: t`Artists`, albums: t`Albums`, tracks: t`Tracks`, playlists: t`Playlists`, likes: t`Likes`, queue: t`Queue`};
const PAGES = {"": Home, artists: Everything, albums: Everything, tracks: Everything, playlists: Playlists, likes: Likes, queue: QueuePage, album: Album, artist: Artist, playlist: Playlist};
const PART = 60, MOST_MOODS = 12;

export default function Music({address}) {
  const page = address.params.page ?? "", query = address.query.get("q") ?? "", id = address.query.get("id") ?? "";
  const Page = query ? Search : PAGES[page];
  // The first letters open the results, the others change them, so that back leads to where one was.
  const search = (q) => change({q}, {replace: Boolean(query || !q)});
  return useStyle("views/records.css") && html`<div class="music">
    <h1 class="unseen">Music</h1>
    <div class="music-head">
      <nav aria-label="Music">${Object.entries(SECTIONS).map(([name, label]) => html`
        <a key=${name} href=${name ? `/music/${name}` : "/music"} aria-current=${!query && (page === name || `${page}s` === name) ? "page" : undefined}>${label}</a>`)}</nav>
      <${SearchBox} value=${query} label="Search the music" placeholder="A name, or a mood: slow piano" onSearch=${search} />
    </div>
    ${Page ? html`<${Page} key=${page + id + query} id=${id} list=${page} query=${query} />` : html`<${Empty} title="There is no such page of music" />`}
  </div>`;
}

// The lists that the server gives for some parameters, under what `top` and before what `foot` make of the answer.
function Lists({list, parameters = {}, titles = {}, top, foot, action, empty, ...given}) {
  const [{found, error}, setState] = useState({}), [tries, setTries] = useState(0), again = () => setTries(tries + 1);
  useEffect(() => {
    const stop = new AbortController(), give = (state) => stop.signal.aborted || setState(state);
    listMusic(list, parameters, {signal: stop.signal}).then((value) => give({found: value}), (refused) => give({error: refused}));
    return () => stop.abort();
  }, [...Object.values(parameters), tries]);
  if (error) return html`<${Problem} error=${error} retry=${again} />`;
  if (!found) return html`<${Spinner} />`;
  const groups = ["tracks", "albums", "artists"].filter((name) => found[name]?.items.length && titles[name] !== "");
  return html`<div class="stack">
    ${top?.(found, again)}
    ${!groups.length && empty && html`<${Empty} title=${empty} />`}
    ${groups.map((name) => {
      const label = titles[name] ?? SECTIONS[name], {items} = found[name], edit = given.edit?.(found, again);
      return html`<section key=${name}><div class="row"><h2 class="grow">${label}</h2>${name === "tracks" && action?.(found)}</div>
        ${name === "tracks" ? html`<${Tracks} tracks=${items} label=${label} ...${given} edit=${edit} />` : html`<${Cards} items=${items} label=${label} />`}</section>`;
    })}
    ${foot?.(found)}
  </div>`;
}

function Cards({items, label}) {
  return html`<ul class="covers" aria-label=${label}>${items.map((one) => html`<li key=${one.id}>
    <div class="cover-box">
      <a href=${placeOf(one.kind, one.id)} tabindex="-1" aria-hidden="true"><${Cover} ...${one} isRound=${one.kind === "artist"} /></a>
      <button type="button" aria-label=${t`Play ${one.name}`} onClick=${() => playRecord(one)}><${Icon} name="play" /></button>
    </div>
    <a href=${placeOf(one.kind, one.id)}>${one.name}</a>
    <span class="quiet">${one.line ?? [one.artists.map(({name}) => name).join(", "), one.year].filter(Boolean).join(" · ")}</span>
  </li>`)}</ul>`;
}

// The moods of the tracks here; where none has one, their most frequent genres, forms and instruments.
function Moods() {
  const [names, setNames] = useState([]);
  useEffect(() => {
    listMusic("genres").then(({genres}) => {
      const moods = genres.filter(({category}) => category === "mood");
      setNames([...new Set((moods.length ? moods : genres).map(({name}) => name))].slice(0, MOST_MOODS));
    }, () => null);
  }, []);
  return names.length > 0 && html`<ul class="chips" aria-label="By mood and genre">${names.map((name) => html`<li key=${name}><a class="chip" href=${link("/music", {q: name})}>${name}</a></li>`)}</ul>`;
}

function Home() {
  const {tracks, index} = useStore(queue), {isPlaying} = useStore(playback), now = tracks[index];
  const without = ({tracks}) => !tracks.items.length && html`<p class="quiet">No track here has a file yet: <code>stackroom add FOLDER --as music</code> reads a folder of music.</p>`;
  return html`<div class="stack">
    ${now && !isPlaying && html`<p><button type="button" onClick=${resume}><${Icon} name="play" /> Continue with ${now.name}</button></p>`}
    <${Moods} />
    <${Lists} list="recent" parameters=${{limit: 14}} titles=${{tracks: t`Ready to play`, albums: t`New albums`}} top=${without}
    foot=${() => html`<${Lists} list="heard" parameters=${{limit: 7}} titles=${{tracks: "", albums: t`Continue listening`}} />
      <${Lists} list="plays" parameters=${{limit: 5}} titles=${{tracks: t`Most played by you`, albums: ""}} />`} /></div>`;
}

function Everything({list}) {
  const [limit, setLimit] = useState(PART);
  return html`<${Lists} list=${list} parameters=${{limit}} top=${(found) => html`<p class="quiet" role="status">${number(found[list].total)} in all</p>`}
    foot=${(found) => found[list].has_more && html`<button type="button" class="plain" onClick=${() => setLimit(limit + PART)}>Show more</button>`} />`;
}

function Search({query}) {
  const counted = (found) => html`<p class="quiet" role="status">${Object.entries({tracks: "track", albums: "album", artists: "artist"}).map(([list, word]) => plural(found[list].total, word)).join(", ")}</p>`;
  return html`<${Lists} list="search" parameters=${{q: query, limit: 24}} top=${counted} action=${({tracks: {items}}) => html`<${SaveTracks} tracks=${items} name=${query} />`} empty=${t`No music here answers “${query}”`} />`;
}

function Likes() {
  return html`<${Lists} list="likes" empty="You like nothing yet: the heart beside a track, an album or an artist keeps it here" />`;
}

function Head({item, kind, isArtist, line, tracks, children}) {
  const isSilent = !tracks.some((one) => one.playable);
  return html`<header class="music-top">
    <${Cover} ...${item} isRound=${isArtist} />
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

const size = (tracks) => `${plural(tracks.length, "track")} · ${duration(tracks.reduce((sum, one) => sum + (one.seconds ?? 0), 0))}`;

function Album({id}) {
  const top = ({item, tracks: {items}}) => html`<${Head} item=${item} kind=${t`Album`} tracks=${items} line=${[item.year, size(items), item.genres.slice(0, 4).join(", ")].filter(Boolean).join(" · ")} />`;
  return html`<${Lists} list="album" parameters=${{id}} top=${top} isAlbum />`;
}

function Artist({id}) {
  const top = ({item, albums, tracks: {items}}) => html`<${Head} item=${item} kind=${t`Artist`} isArtist tracks=${items} line=${`${plural(albums.total, "album")}, ${plural(items.length, "track")}`} />`;
  return html`<${Lists} list="artist" parameters=${{id}} top=${top} titles=${{artists: t`Similar artists`}} />`;
}

function Playlists() {
  const {items} = useStore(playlists), [isNew, setNew] = useState(false), [error, setError] = useState(null);
  const load = () => { loadPlaylists().then(() => setError(null), setError); };
  useEffect(load, []);
  const card = (one) => ({...one, kind: "playlist", line: `${plural(one.tracks.length, "track")} · ${ago(one.updated_at)}`});
  const close = (made) => {
    setNew(false);
    if (made) go(placeOf("playlist", made.id));
  };
  if (error) return html`<${Problem} error=${error} retry=${load} />`;
  return !items ? html`<${Spinner} />` : html`<section>
    <div class="row"><h2 class="grow">Playlists</h2><button type="button" class="plain" onClick=${() => setNew(true)}><${Icon} name="plus" /> New playlist</button></div>
    ${items.length ? html`<${Cards} items=${items.map(card)} label="Playlists" />` : html`<${Empty} title="No playlists yet: add a track to one by its menu, or save what a search finds" />`}
    ${isNew && html`<${PlaylistForm} onClose=${close} />`}
  </section>`;
}

function Playlist({id}) {
  const [isNaming, setNaming] = useState(false);
  const top = ({name, missing, tracks: {items}}, again) => {
    const remove = () => deletePlaylist({id, name, tracks: items.map((one) => one.id)}).then(() => go("/music/playlists"));
    const close = (changed) => {
      setNaming(false);
      if (changed) again();
    };
    return html`<${Head} item=${{name}} kind=${t`Playlist`} tracks=${items} line=${size(items)}>
        <button type="button" class="plain" onClick=${() => setNaming(true)}>Rename</button>
        <button type="button" class="plain danger" onClick=${remove}>Delete</button>
      <//>
      ${missing.length > 0 && html`<p class="quiet">${plural(missing.length, "track is", "tracks are")} no longer in the catalogue.</p>`}
      ${isNaming && html`<${PlaylistForm} id=${id} name=${name} onClose=${close} />`}`;
  };
  const edit = ({name, tracks: {items}}, again) => {
    const ids = items.map((one) => one.id), put = (tracks) => changePlaylist(id, name, tracks).then(again);
    return {moveUp: (place) => put(ids.toSpliced(place - 1, 2, ids[place], ids[place - 1])), remove: (place) => put(ids.toSpliced(place, 1))};
  };
  return html`<${Lists} list="playlist" parameters=${{id}} top=${top} edit=${edit} empty="Nothing is in it at the moment" />`;
}
