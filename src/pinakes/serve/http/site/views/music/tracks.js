// Covers, likes, and tracks in a list with what can be done with them.
import {html, useEffect, useRef, useState} from "../../core/html.js";
import {link} from "../../core/address.js";
import {duration, plural} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {useStore} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {Dialog} from "../../parts/layers.js";
import {changePlaylist, createPlaylist, likes, listMusic, loadLikes, loadPlaylists, playlists, setLike} from "./library.js";
import {current, enqueue, play, playback, queue, toggle} from "./queue.js";

export const placeOf = (kind, id) => link(`/music/${kind}`, {id});

export function IconButton({icon, label, ...given}) {
  return html`<button type="button" class="quiet-button" aria-label=${label} ...${given}><${Icon} name=${icon} /></button>`;
}

// A cover; where there is none, one is drawn from the name, always the same.
export function Cover({image, name, isRound}) {
  const kind = `cover ${isRound ? "round" : ""}`;
  if (image) return html`<img class=${kind} src=${image} alt="" loading="lazy" decoding="async" />`;
  return html`<span class=${`${kind} drawn`} style=${{background: drawn(name)}} aria-hidden="true"><${Icon} name="music" /></span>`;
}

function drawn(name) {
  let sum = 7;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 100003;
  const hsl = (turn, rest) => `hsl(${sum + turn} ${rest})`;
  return `radial-gradient(circle at ${sum % 83}% ${sum % 71}%, ${hsl(50, "60% 62%")}, transparent 60%), linear-gradient(${hsl(0, "42% 34%")}, ${hsl(30, "45% 48%")})`;
}

export function Artists({artists}) {
  return artists.map(({id, name}, place) => html`${place > 0 && ", "}${id ? html`<a href=${placeOf("artist", id)}>${name}</a>` : name}`);
}

export function LikeButton({id, name}) {
  const isLiked = useStore(likes).ids?.has(id) ?? false;
  useEffect(() => { loadLikes(); }, []);
  return html`<${IconButton} icon="like" class=${`quiet-button like ${isLiked ? "liked" : ""}`} label=${`Like ${name}`} aria-pressed=${isLiked} onClick=${() => setLike(id, !isLiked)} />`;
}

// `tracks` as the player lists them; on an album their places stand for covers; `more` adds buttons to each.
export function Tracks({tracks, label = "Tracks", isAlbum, more, onPlay = (place) => play(tracks, place)}) {
  const now = useStore(queue, current), isPlaying = useStore(playback, (value) => value.isPlaying);
  const [chosen, setChosen] = useState(null), list = useRef();
  const step = (by) => () => focusNear(list.current, by);
  useKeys("Tracks", {j: ["go to the next track", step(1)], k: ["go to the one before", step(-1)]});
  const silent = tracks.filter((one) => !one.playable).length;
  const row = (one, place) => {
    const isNow = now?.id === one.id && now.catalogue === one.catalogue, isOn = isNow && isPlaying;
    return html`<li key=${`${one.id} ${place}`} class=${`track ${isNow ? "now" : ""} ${one.playable ? "" : "silent"}`}>
      ${one.playable
        ? html`<${IconButton} icon=${isOn ? "pause" : "play"} class="quiet-button track-play" label=${`${isOn ? "Pause" : "Play"} ${one.name}`} onClick=${() => (isNow ? toggle() : onPlay(place))} />`
        : html`<span class="track-play"></span>`}
      ${isAlbum ? html`<span class="quiet track-number">${one.position}</span>` : html`<${Cover} image=${one.image} name=${one.album?.name || one.name} />`}
      <span class="names"><span class="name">${one.name}</span>
        <span class="quiet"><${Artists} artists=${one.artists} />${!isAlbum && one.album?.name && html` · ${one.album.id ? html`<a href=${placeOf("album", one.album.id)}>${one.album.name}</a>` : one.album.name}`}</span></span>
      ${one.plays && html`<span class="quiet wide-only">${plural(one.plays, "play")}</span>`}
      <span class="quiet wide-only">${one.seconds && duration(one.seconds)}</span>
      <${LikeButton} id=${one.id} name=${one.name} />
      ${more?.(one, place)}
      <${IconButton} icon="more" label=${`More for ${one.name}`} aria-haspopup="dialog" onClick=${() => setChosen(one)} />
    </li>`;
  };
  return html`
    ${silent > 0 && html`<p class="quiet">${silent === tracks.length ? "These tracks are" : plural(silent, "track is", "tracks are")} known by name only: there is no file here to play.</p>`}
    <ol ref=${list} class="tracks" aria-label=${label}>${tracks.map(row)}</ol>
    ${chosen && html`<${Menu} track=${chosen} onClose=${() => setChosen(null)} />`}`;
}

function focusNear(list, by) {
  const buttons = [...list.querySelectorAll("button.track-play")];
  const row = document.activeElement.closest(".track"), place = buttons.findIndex((one) => row?.contains(one));
  buttons.at(Math.min(buttons.length - 1, Math.max(0, place + by)))?.focus();
}

function Menu({track, onClose}) {
  const [isChoosing, setChoosing] = useState(false);
  const line = (label, work) => html`<button type="button" class="plain" onClick=${() => { onClose(); work(); }}>${label}</button>`;
  if (isChoosing) return html`<${Choice} track=${track} onClose=${onClose} />`;
  return html`<${Dialog} title=${track.name} onClose=${onClose}><div class="menu">
    ${track.playable && html`${line("Play next", () => enqueue([track], {isNext: true}))}${line("Add to the queue", () => enqueue([track]))}`}
    ${line("Play what is similar", () => playSimilar(track))}
    <button type="button" class="plain" onClick=${() => setChoosing(true)}>Add to a playlist …</button>
  </div><//>`;
}

async function playSimilar({id, catalogue, ...rest}) {
  const {tracks} = await listMusic("similar", {id, catalogue, playable: true, limit: 50});
  play([{id, catalogue, ...rest}, ...tracks.items]);
}

function Choice({track, onClose}) {
  const {items} = useStore(playlists), [isNew, setNew] = useState(false);
  useEffect(() => { loadPlaylists(); }, []);
  if (isNew) return html`<${PlaylistForm} content=${{tracks: [track.id]}} onClose=${onClose} />`;
  const add = async ({id, name, tracks}) => {
    await changePlaylist(id, name, {tracks: [...tracks, track.id]});
    onClose();
  };
  return html`<${Dialog} title="Add to a playlist" onClose=${onClose}><div class="menu">
    ${items?.filter(({rule}) => !rule).map((one) => html`<button key=${one.id} type="button" class="plain" onClick=${() => add(one)}>${one.name}</button>`)}
    <button type="button" onClick=${() => setNew(true)}>New playlist</button>
  </div><//>`;
}

// Make a playlist of some content, or of a search that its maker writes; or, with an id, give it another name.
export function PlaylistForm({id, name = "", content, about, onClose}) {
  const [typed, setTyped] = useState(name), [words, setWords] = useState(""), [problem, setProblem] = useState(null);
  const save = (event) => {
    event.preventDefault();
    const kept = content ?? (words.trim() ? {rule: {query: words}} : {tracks: []});
    (id ? changePlaylist(id, typed) : createPlaylist(typed.trim() || words, kept)).then(onClose, setProblem);
  };
  const field = (label, value, set, given) => html`<label>${label}<input value=${value} maxlength="200" onInput=${(event) => set(event.target.value)} ...${given} /></label>`;
  return html`<${Dialog} title=${id ? "Rename" : "New playlist"} onClose=${() => onClose()}><form class="stack" onSubmit=${save}>
    ${field("Name", typed, setTyped, {required: !words.trim()})}
    ${!id && !content && field("Only what answers these words, each time anew (optional)", words, setWords, {placeholder: "slow piano"})}
    ${about && html`<p class="quiet">Tracks that answer ${about}: the search is run anew whenever you play it.</p>`}
    ${problem && html`<p class="error" role="alert">${problem.message}</p>`}
    <div class="row end"><button>Save</button></div>
  </form><//>`;
}
