// The parts of listening: covers, likes, tracks with their menu, the queue, and the player at the foot of every page.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {link} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {duration} from "../../core/units.js";
import {useKeys} from "../../core/keys.js";
import {hideDock, useStore, useStyle} from "../../core/store.js";
import {addIcons, Empty, Icon, Problem, Spinner, toast} from "../../parts/basics.js";
import {Face} from "../../parts/face.js";
import {hitOf} from "../../parts/found.js";
import {Dialog} from "../../parts/layers.js";
import {useAnswer} from "../explore/shared.js";
import {
  changePlaylist, changeRepeat, clear, createPlaylist, current, enqueue, likes, listMusic, loadLikes, loadLyrics, loadPlaylists, moveUp, next, play, playAt, playable, playback, playlists,
  previous, queue, remove, seek, setLike, setSound, sound, toggle, toggleMute, toggleShuffle,
} from "./queue.js";

addIcons({
  lyrics: "M12 15a4 4 0 0 0 4-4V7a4 4 0 0 0-8 0v4a4 4 0 0 0 4 4zM5 11a7 7 0 0 0 14 0M12 18v4",
  pause: "M8 5v14M16 5v14",
  next: "M6 5v14l9-7zM18 5v14",
  previous: "M18 5v14L9 12zM6 5v14",
  shuffle: "M4 7h3l9 10h4M4 17h3l3-3.3M13.5 9.5 16 7h4M18 5l2 2-2 2M18 15l2 2-2 2",
  repeat: "M5 12V9a2 2 0 0 1 2-2h11M16 5l2 2-2 2M19 12v3a2 2 0 0 1-2 2H6M8 19l-2-2 2-2",
  once: "M5 12V9a2 2 0 0 1 2-2h11M16 5l2 2-2 2M19 12v3a2 2 0 0 1-2 2H6M8 19l-2-2 2-2M11.5 10.5 12.5 10v4",
  sound: "M5 10v4h3l4 4V6l-4 4zM15.5 9a4 4 0 0 1 0 6M18 7a7 7 0 0 1 0 10",
  silent: "M5 10v4h3l4 4V6l-4 4zM16 10l4 4M20 10l-4 4",
  more: "M5 12h.01M12 12h.01M19 12h.01",
});

const STYLE = "views/records.css", EDIT = {moveUp, remove};

export const placeOf = (kind, id) => link(`/music/${kind}`, {id});

function IconButton({icon, label, ...given}) {
  return html`<button type="button" class="quiet-button" aria-label=${label} ...${given}><${Icon} name=${icon} /></button>`;
}

// The hue is that of the name: one has music of one catalogue mostly.
export function Cover({image, name, isRound}) {
  return html`<${Face} image=${image} title=${name} catalogue=${name} isRound=${isRound} className="cover" />`;
}

export function Artists({artists}) {
  return artists.map(({id, name}, place) => html`${place > 0 && ", "}${id ? html`<a href=${placeOf("artist", id)}>${name}</a>` : name}`);
}

export function LikeButton({id, name}) {
  const isLiked = useStore(likes).ids?.has(id) ?? false;
  useEffect(() => { loadLikes(); }, []);
  return html`<${IconButton} icon="like" class=${`quiet-button like ${isLiked ? "liked" : ""}`} label=${t`Like ${name}`} aria-pressed=${isLiked} onClick=${() => setLike(id, !isLiked)} />`;
}

// `tracks` as the player lists them; on an album their places stand for covers; `edit`: what moves one up, and what takes one out, by its place.
export function Tracks({tracks, label = t`Tracks`, isAlbum, edit, onPlay = (place) => play(tracks, place)}) {
  const now = useStore(queue, current), isPlaying = useStore(playback, (value) => value.isPlaying);
  const [chosen, setChosen] = useState(null), list = useRef(), focused = useRef(null), seen = {};
  const step = (by) => () => focusNear(list.current, by);
  useKeys(t`Tracks`, {j: [t`go to the next track`, step(1)], k: [t`go to the previous track`, step(-1)]});
  // The focus stays with what was moved, and goes to what follows that which was taken out.
  useEffect(() => {
    const {icon, place} = focused.current ?? {}, row = icon && list.current.children[Math.min(place, tracks.length - 1)];
    focused.current = null;
    (row?.querySelector(`.${icon}:enabled`) ?? row?.querySelector("button"))?.focus();
  }, [tracks]);
  const button = (icon, label, place, to, work) => html`<${IconButton} icon=${icon} class=${`quiet-button ${icon}`} label=${label} disabled=${to < 0} onClick=${() => {
    focused.current = {icon, place: to};
    if (tracks.length === 1) document.getElementById("main").focus();
    return work(place);
  }} />`;
  const silent = tracks.filter((one) => !one.playable).length;
  const row = (one, place) => {
    const isNow = now?.id === one.id && now.catalogue === one.catalogue, isOn = isNow && isPlaying;
    seen[one.id] = (seen[one.id] ?? 0) + 1;
    return html`<li key=${`${one.id} ${seen[one.id]}`} class=${`track ${isNow ? "now" : ""} ${one.playable ? "" : "silent"}`}>
      ${one.playable
        ? html`<${IconButton} icon=${isOn ? "pause" : "play"} class="quiet-button track-play" label=${`${isOn ? t`Pause` : t`Play`} ${one.name}`} onClick=${() => (isNow ? toggle() : onPlay(place))} />`
        : html`<span class="track-play"></span>`}
      ${isAlbum ? html`<span class="quiet">${one.position}</span>` : html`<${Cover} image=${one.image} name=${one.album?.name || one.name} />`}
      <span class="names"><span class="name">${one.name}</span>
        <span class="quiet"><${Artists} artists=${one.artists} />${!isAlbum && one.album?.name && html` · ${one.album.id ? html`<a href=${placeOf("album", one.album.id)}>${one.album.name}</a>` : one.album.name}`}</span></span>
      ${one.plays && html`<span class="quiet wide-only">${plural(one.plays, "play")}</span>`}
      <span class="quiet wide-only">${one.seconds && duration(one.seconds)}</span>
      <${LikeButton} id=${one.id} name=${one.name} />
      ${one.like && html`<span class="chip wide-only" title=${t`Like ${one.like}`}>similar</span>`}
      ${edit && html`${button("up", t`Move ${one.name} up`, place, place - 1, edit.moveUp)}${button("close", t`Remove ${one.name}`, place, place, edit.remove)}`}
      <${IconButton} icon="more" label=${t`More for ${one.name}`} aria-haspopup="dialog" onClick=${() => setChosen(one)} />
    </li>`;
  };
  return html`
    ${silent > 0 && html`<p class="quiet">${silent === tracks.length ? t`These tracks are` : plural(silent, "track is", "tracks are")} known by name only: there is no file here to play.</p>`}
    <ol ref=${list} class="tracks" aria-label=${label}>${tracks.map(row)}</ol>
    ${chosen && html`<${Menu} track=${chosen} onClose=${() => setChosen(null)} />`}`;
}

function focusNear(list, by) {
  const buttons = [...list.querySelectorAll("button.track-play")];
  const row = document.activeElement.closest(".track"), place = buttons.findIndex((one) => row?.contains(one));
  buttons.at(Math.min(buttons.length - 1, Math.max(0, place + by)))?.focus();
}

function Menu({track, onClose}) {
  const {items} = useStore(playlists), [isNew, setNew] = useState(false), [isRead, setRead] = useState(false);
  useEffect(() => { loadPlaylists(); }, []);
  if (isRead) return html`<${Lyrics} track=${track} onClose=${onClose} />`;
  if (isNew) return html`<${PlaylistForm} tracks=${[track.id]} onClose=${onClose} />`;
  const line = (label, work) => html`<button type="button" class="plain" onClick=${() => { onClose(); work(); }}>${label}</button>`;
  return html`<${Dialog} title=${track.name} onClose=${onClose}><div class="menu">
    ${track.playable && html`${line(t`Play next`, () => enqueue([track], {isNext: true}))}${line(t`Add to the queue`, () => enqueue([track]))}`}
    ${track.playable && html`<button type="button" class="plain" onClick=${() => setRead(true)}>Lyrics</button>`}
    ${line(t`Play similar tracks`, () => playSimilar(track))}
    ${items?.map(({id, name, tracks}) => line(t`Add to ${name}`, () => changePlaylist(id, name, [...tracks, track.id])))}
    <button type="button" class="plain" onClick=${() => setNew(true)}>Add to a new playlist …</button>
  </div><//>`;
}

// The lyrics in a track's file; while it plays, the line that is sung stands out where lines have times.
function Lyrics({track, onClose}) {
  const [lines, setLines] = useState(null), {position} = useStore(playback), playing = useStore(queue, current), shown = useRef();
  useEffect(() => { loadLyrics(track.id).then(setLines, () => setLines([])); }, [track.id]);
  const now = playing?.id === track.id ? lines?.findLastIndex(({start_s}) => start_s !== null && start_s <= position) ?? -1 : -1;
  useEffect(() => { shown.current?.scrollIntoView({block: "nearest"}); }, [now]);
  return html`<${Dialog} title=${track.name} onClose=${onClose}><div aria-label="Lyrics" role="region" tabindex="0">
    ${lines?.map(({text}, place) => html`<p key=${place} dir="auto" ref=${place === now ? shown : undefined} class=${now < 0 || place === now ? "" : "quiet"} aria-current=${place === now || undefined}>${text || "♪"}</p>`)}
    ${lines?.length === 0 && html`<p class="quiet">There are no lyrics in its file.</p>`}
  </div><//>`;
}

async function playSimilar(track) {
  const {tracks} = await listMusic("similar", {id: track.id, catalogue: track.catalogue, playable: true});
  play([track, ...tracks.items]);
}

// Make a playlist of some tracks; or, with an id, give it another name.
export function PlaylistForm({id, name = "", tracks = [], onClose}) {
  const [typed, setTyped] = useState(name), [problem, setProblem] = useState(null);
  const save = (event) => {
    event.preventDefault();
    (id ? changePlaylist(id, typed) : createPlaylist(typed.trim(), tracks)).then(onClose, setProblem);
  };
  return html`<${Dialog} title=${id ? t`Rename` : t`New playlist`} onClose=${() => onClose()}><form class="stack" onSubmit=${save}>
    <label>Name<input value=${typed} maxlength="200" required onInput=${(event) => setTyped(event.target.value)} /></label>
    ${problem && html`<p class="error" role="alert">${problem.message}</p>`}
    <div class="row end"><button>Save</button></div>
  </form><//>`;
}

// What can be played of a whole result set, which its first records may not tell.
export function QueueView({asked, params}) {
  const {catalogue} = asked, ready = useAnswer("search", {...asked, limit: 1, include: ["playable"]}), keys = ready.answer?.playable;
  const isStyled = useStyle(STYLE), tiles = useAnswer("search", keys?.length ? {query: "*", catalogue, ids: keys, limit: 50, include: ["tiles"]} : null);
  if (ready.error ?? tiles.error) return html`<${Problem} error=${ready.error ?? tiles.error} retry=${ready.error ? ready.retry : tiles.retry} />`;
  if (!isStyled || !keys || (keys.length && !tiles.answer)) return html`<${Spinner} />`;
  const found = keys.length ? playable(tiles.answer.results.map(hitOf)) : [];
  return html`<div class="music stack">
    <section>
      <div class="row"><h2 class="grow">Found, and ready to play</h2>
        ${found.length > 0 && html`<${SaveTracks} tracks=${found} name=${params.get("q") ?? ""} />`}
        ${found.length > 0 && html`<button type="button" class="plain small" onClick=${() => enqueue(found)}><${Icon} name="plus" /> Queue</button>
          <button type="button" class="small" onClick=${() => play(found)}><${Icon} name="play" /> Play</button>`}</div>
      ${found.length ? html`<${Tracks} tracks=${found} label="Found" />` : html`<p class="quiet">Nothing that was found has a file to play.</p>`}
    </section>
    <${QueuePage} />
  </div>`;
}

export function QueuePage() {
  const {tracks, goesOn} = useStore(queue);
  return html`<section>
    <div class="row"><h2 class="grow">Queue <span class="quiet">${plural(tracks.length, "track")}</span></h2>
      <label class="inline"><input type="checkbox" checked=${goesOn} onChange=${(event) => queue.set({goesOn: event.target.checked})} />Go on with similar</label>
      ${tracks.length > 0 && html`<button type="button" class="plain small" onClick=${clear}>Clear</button>`}</div>
    ${tracks.length ? html`<${Tracks} tracks=${tracks} label="Queue" onPlay=${playAt} edit=${EDIT} />`
      : html`<${Empty} title="The queue is empty"><p>Play an album, or add a track by its menu.</p><//>`}
  </section>`;
}

export function SaveTracks({tracks, name}) {
  const [isOpen, setOpen] = useState(false);
  const close = (made) => {
    setOpen(false);
    if (made) toast(t`Saved as a playlist: ${made.name}`);
  };
  return html`<button type="button" class="plain small" onClick=${() => setOpen(true)}>Save as a playlist</button>
    ${isOpen && html`<${PlaylistForm} tracks=${tracks.map(({id}) => id)} name=${name} onClose=${close} />`}`;
}

const KEYS = {
  " ": [t`play or pause`, toggle],
  n: [t`play the next track`, () => { next(); }],
  p: [t`play the previous track`, previous],
  m: [t`mute or unmute`, toggleMute],
  s: [t`shuffle or not`, toggleShuffle],
  r: [t`repeat all, one, or nothing`, changeRepeat],
  l: [t`like what plays, or not`, () => { setLike(current().id, !likes.get().ids?.has(current().id)); }],
};

export function Player() {
  const track = useStore(queue, current), {inOrder, repeat = "off"} = useStore(queue), {isPlaying, problem} = useStore(playback);
  const isShown = useStyle(STYLE) && track, [isRead, setRead] = useState(false);
  useEffect(() => {
    if (!track) hideDock("player");
    document.body.classList.toggle("with-player", Boolean(isShown));
  }, [isShown]);
  useKeys(t`Player`, KEYS);
  return isShown && html`<section class="player" aria-label="Player">
    <div class="player-track">
      <${Cover} image=${track.image} name=${track.album?.name || track.name} />
      <div class="names"><span class="name">${track.album?.id ? html`<a href=${placeOf("album", track.album.id)}>${track.name}</a>` : track.name}</span>
        <span class="quiet" role=${problem && "alert"}>${problem ?? html`<${Artists} artists=${track.artists} />`}</span></div>
      <${LikeButton} id=${track.id} name=${track.name} />
    </div>
    <div class="player-buttons">
      <${IconButton} icon="shuffle" class=${`quiet-button wide-only ${inOrder.length ? "on" : ""}`} label="Shuffle" aria-pressed=${inOrder.length > 0} onClick=${toggleShuffle} />
      <${IconButton} icon="previous" label="Previous" onClick=${previous} />
      <button type="button" class="now-button" aria-label=${isPlaying ? t`Pause` : t`Play`} onClick=${toggle}><${Icon} name=${isPlaying ? "pause" : "play"} /></button>
      <${IconButton} icon="next" label="Next" onClick=${next} />
      <${IconButton} icon=${repeat === "one" ? "once" : "repeat"} class=${`quiet-button wide-only ${repeat === "off" ? "" : "on"}`} label=${REPEAT_LABELS[repeat]} onClick=${changeRepeat} />
    </div>
    <${Seek} track=${track} />
    <div class="player-side">
      <${Volume} />
      <${IconButton} icon="lyrics" class="quiet-button wide-only" label="Lyrics" aria-haspopup="dialog" onClick=${() => setRead(true)} />
      <a href="/music/queue" aria-label="Queue"><${Icon} name="queue" /></a>
      <${IconButton} icon="close" label="Close the player" onClick=${clear} />
    </div>
    ${isRead && html`<${Lyrics} track=${track} onClose=${() => setRead(false)} />`}
  </section>`;
}

const REPEAT_LABELS = {off: t`Repeat`, all: t`Repeat one track`, one: t`Repeat nothing`};

function Volume() {
  const {volume, isMuted} = useStore(sound);
  return html`<${IconButton} icon=${isMuted || !volume ? "silent" : "sound"} label=${isMuted ? t`Unmute` : t`Mute`} aria-pressed=${isMuted} onClick=${toggleMute} />
    <input class="volume wide-only" type="range" min="0" max="1" step="0.05" aria-label="Volume" aria-valuetext=${`${Math.round(volume * 100)} %`} value=${isMuted ? 0 : volume}
      onInput=${({target}) => setSound({volume: Number(target.value), isMuted: false})} />`;
}

function Seek({track}) {
  const {position, length} = useStore(playback), [dragged, setDragged] = useState(null);
  const end = length || track.seconds || 1, at = dragged ?? Math.min(position, end);
  const drop = (event) => {
    seek(Number(event.target.value));
    setDragged(null);
  };
  return html`<div class="player-seek">
    <span class="quiet">${duration(Math.floor(at))}</span>
    <input type="range" aria-label="Position" aria-valuetext=${t`${duration(at)} of ${duration(end)}`} max=${end} step="0.1" value=${at} onInput=${(event) => setDragged(Number(event.target.value))} onChange=${drop} />
    <span class="quiet">${duration(end)}</span>
  </div>`;
}
