// The player: a bar at the foot of every page.
import {html, useEffect, useState} from "../../core/html.js";
import {hideDock} from "../../core/docks.js";
import {duration} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {useStore} from "../../core/store.js";
import {useStyle} from "../../core/style.js";
import {Icon} from "../../parts/icon.js";
import {toast} from "../../parts/toast.js";
import {likes, setLike} from "./library.js";
import {Artists, Cover, LikeButton, placeOf} from "./pieces.js";
import {clear, current, next, playback, previous, queue, seek, setVolume, toggle} from "./queue.js";

export default function Player() {
  const isStyled = useStyle("views/music/music.css"), track = useStore(queue, current);
  const {isPlaying, isWaiting, problem} = useStore(playback);
  useEffect(() => { if (!track) hideDock("player"); }, [track]);
  useKeys("Player", KEYS);
  if (!isStyled || !track) return null;
  const close = () => {
    const was = queue.get();
    clear();
    toast("The queue was cleared.", {undo: () => { queue.set({tracks: was.tracks, index: was.index, at: was.at}); import("../../core/docks.js").then(({showDock}) => showDock("player")); }});
  };
  return html`<section class="player" aria-label="Player">
    <div class="player-track">
      <${Cover} image=${track.image} name=${track.album?.name || track.title} />
      <div class="player-names"><span class="player-title">${track.album?.id ? html`<a href=${placeOf("album", track.album.id)}>${track.title}</a>` : track.title}</span>
        <span class="quiet" role=${problem ? "alert" : undefined}>${problem ?? html`<${Artists} artists=${track.artists} />`}</span></div>
      <${LikeButton} id=${track.id} name=${track.title} />
    </div>
    <div class="player-controls">
      <div class="player-buttons">
        <button type="button" class="quiet-button" aria-label="Previous" onClick=${previous}><${Icon} name="previous" /></button>
        <button type="button" class="player-toggle" aria-label=${isPlaying ? "Pause" : "Play"} aria-busy=${isWaiting && isPlaying} onClick=${toggle}><${Icon} name=${isPlaying ? "pause" : "play"} /></button>
        <button type="button" class="quiet-button" aria-label="Next" onClick=${next}><${Icon} name="next" /></button>
      </div>
      <${Seek} track=${track} />
    </div>
    <div class="player-side">
      <${Volume} />
      <a class="quiet-link" href="/music/queue" aria-label="Queue"><${Icon} name="queue" /></a>
      <button type="button" class="quiet-button" aria-label="Close the player" onClick=${close}><${Icon} name="close" /></button>
    </div>
  </section>`;
}

const KEYS = {
  " ": ["play or pause", toggle],
  n: ["play the next track", () => { next(); }],
  p: ["play the one before", previous],
  l: ["like what plays, or not", likeCurrent],
};

function likeCurrent() {
  const track = current();
  if (track) setLike(track.id, !likes.get().ids?.has(track.id));
}

function Seek({track}) {
  const {position, length} = useStore(playback), [dragged, setDragged] = useState(null);
  const end = length || track.seconds || 0, at = dragged ?? Math.min(position, end);
  const drop = (event) => {
    seek(Number(event.target.value));
    setDragged(null);
  };
  return html`<div class="player-seek">
    <span class="player-time">${duration(Math.floor(at))}</span>
    <input type="range" aria-label="Position" aria-valuetext=${`${duration(at)} of ${duration(end)}`} min="0" max=${Math.max(end, 1)} step="0.1" value=${at}
      onInput=${(event) => setDragged(Number(event.target.value))} onChange=${drop} />
    <span class="player-time">${duration(end)}</span>
  </div>`;
}

function Volume() {
  const volume = useStore(queue, (value) => value.volume);
  return html`<input class="player-volume" type="range" aria-label="Volume" min="0" max="1" step="0.05" value=${volume} onInput=${(event) => setVolume(Number(event.target.value))} />`;
}
