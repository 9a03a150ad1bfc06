// Tracks in a list, and what can be done with one.
import {html, useRef, useState} from "../../core/html.js";
import {duration, plural} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {useStore} from "../../core/store.js";
import {Dialog} from "../../parts/dialog.js";
import {Icon} from "../../parts/icon.js";
import {addToPlaylist, createPlaylist, listMusic, loadPlaylists, playlists} from "./library.js";
import {Artists, Cover, LikeButton, placeOf} from "./pieces.js";
import {current, enqueue, play, playback, queue, toggle} from "./queue.js";

// `tracks` as the player lists them; with `isNumbered` their places on the album stand for covers.
export function Tracks({tracks, label = "Tracks", isNumbered = false, more, onPlay = (place) => play(tracks, place)}) {
  const now = useStore(queue, (value) => current(value)?.key), isPlaying = useStore(playback, (value) => value.isPlaying);
  const [chosen, setChosen] = useState(null), list = useRef();
  const step = (by) => focusNear(list.current, by);
  useKeys("Tracks", {j: ["go to the next track", () => step(1)], k: ["go to the one before", () => step(-1)]});
  const silent = tracks.filter((one) => !one.playable).length;
  return html`
    ${silent > 0 && html`<p class="quiet">${silent === tracks.length ? "These tracks are" : `${plural(silent, "track is", "tracks are")}`} known by name only: there is no file here to play.</p>`}
    <ol ref=${list} class="tracks" aria-label=${label}>${tracks.map((one, place) => {
      const isNow = now === `${one.catalogue}/${one.id}`;
      return html`<li key=${`${one.catalogue}/${one.id}/${place}`} class=${`track ${isNow ? "now" : ""} ${one.playable ? "" : "silent"}`}>
        ${one.playable
          ? html`<button type="button" class="quiet-button track-play" aria-label=${`${isNow && isPlaying ? "Pause" : "Play"} ${one.name}`}
              onClick=${() => (isNow ? toggle() : onPlay(place))}><${Icon} name=${isNow && isPlaying ? "pause" : "play"} /></button>`
          : html`<span class="track-play"></span>`}
        ${isNumbered ? html`<span class="track-number">${one.position ?? ""}</span>` : html`<${Cover} image=${one.image} name=${one.album?.name || one.name} />`}
        <span class="track-names"><span class="track-name">${one.name}</span>
          <span class="quiet"><${Artists} artists=${one.artists} />${!isNumbered && one.album?.name && html` · <a href=${placeOf("album", one.album.id)}>${one.album.name}</a>`}</span></span>
        ${one.plays && html`<span class="quiet track-plays">${plural(one.plays, "play")}</span>`}
        <span class="quiet track-length">${one.seconds ? duration(one.seconds) : ""}</span>
        <${LikeButton} id=${one.id} name=${one.name} />
        ${more?.(one, place)}
        <button type="button" class="quiet-button" aria-haspopup="dialog" aria-label=${`More for ${one.name}`} onClick=${() => setChosen(one)}><${Icon} name="more" /></button>
      </li>`;
    })}</ol>
    ${chosen && html`<${TrackMenu} track=${chosen} onClose=${() => setChosen(null)} />`}`;
}

function focusNear(list, by) {
  const buttons = [...(list?.querySelectorAll("button.track-play") ?? [])];
  if (!buttons.length) return false;
  const row = document.activeElement.closest?.(".track"), place = buttons.findIndex((one) => row?.contains(one));
  buttons[Math.min(buttons.length - 1, Math.max(0, place + by))].focus();
  return true;
}

function TrackMenu({track, onClose}) {
  const [isChoosing, setChoosing] = useState(false);
  const act = (work) => () => {
    onClose();
    work();
  };
  if (isChoosing) return html`<${PlaylistChoice} tracks=${[track]} onClose=${onClose} />`;
  return html`<${Dialog} title=${track.name} onClose=${onClose}>
    <div class="menu">
      ${track.playable && html`<button type="button" class="plain" onClick=${act(() => enqueue([track], {isNext: true}))}>Play next</button>
        <button type="button" class="plain" onClick=${act(() => enqueue([track]))}>Add to the queue</button>`}
      <button type="button" class="plain" onClick=${act(() => playSimilar(track))}>Play what is similar</button>
      <button type="button" class="plain" onClick=${() => setChoosing(true)}>Add to a playlist …</button>
      ${track.album?.id && html`<a class="button plain" href=${placeOf("album", track.album.id)} onClick=${onClose}>Go to the album</a>`}
      ${track.artists[0]?.id && html`<a class="button plain" href=${placeOf("artist", track.artists[0].id)} onClick=${onClose}>Go to ${track.artists[0].name}</a>`}
    </div>
  <//>`;
}

async function playSimilar(track) {
  const {tracks} = await listMusic("similar", {id: track.id, catalogue: track.catalogue, playable: true, limit: 50});
  play(track.playable ? [track, ...tracks.items] : tracks.items);
}

export function PlaylistChoice({tracks, onClose}) {
  const {items} = useStore(playlists), [name, setName] = useState(""), [problem, setProblem] = useState(null);
  if (items === null) loadPlaylists();
  const done = (work) => work.then(onClose, setProblem);
  const create = (event) => {
    event.preventDefault();
    if (name.trim()) done(createPlaylist(name.trim(), {tracks: tracks.map(({id}) => id)}));
  };
  return html`<${Dialog} title="Add to a playlist" onClose=${onClose}>
    <div class="menu">${(items ?? []).filter((one) => !one.rule).map((one) => html`
      <button key=${one.id} type="button" class="plain" onClick=${() => done(addToPlaylist(one, tracks))}>${one.name} <span class="quiet">${plural(one.tracks.length, "track")}</span></button>`)}</div>
    <form class="row" onSubmit=${create}>
      <label class="grow">New playlist<input value=${name} maxlength="200" onInput=${(event) => setName(event.target.value)} /></label>
      <button class="at-end">Create</button>
    </form>
    ${problem && html`<p class="error" role="alert">${problem.message}</p>`}
  <//>`;
}
