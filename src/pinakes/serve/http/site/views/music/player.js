// The player: a bar at the foot of every page.
import {html, useEffect, useState} from "../../core/html.js";
import {duration} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {hideDock, useStore, useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {likes, setLike} from "./library.js";
import {clear, current, next, playback, previous, queue, seek, toggle} from "./queue.js";
import {Artists, Cover, IconButton, LikeButton, placeOf} from "./tracks.js";

const KEYS = {
  " ": ["play or pause", toggle],
  n: ["play the next track", () => { next(); }],
  p: ["play the one before", previous],
  l: ["like what plays, or no longer", () => { setLike(current().id, !likes.get().ids?.has(current().id)); }],
};

export default function Player() {
  const track = useStore(queue, current), {isPlaying, problem} = useStore(playback);
  const isShown = useStyle("views/music/music.css") && track;
  useEffect(() => {
    if (!track) hideDock("player");
    document.body.classList.toggle("with-player", Boolean(isShown));
  }, [isShown]);
  useKeys("Player", KEYS);
  return isShown && html`<section class="player" aria-label="Player">
    <div class="player-track">
      <${Cover} image=${track.image} name=${track.album?.name || track.name} />
      <div class="names"><span class="name">${track.album?.id ? html`<a href=${placeOf("album", track.album.id)}>${track.name}</a>` : track.name}</span>
        <span class="quiet" role=${problem && "alert"}>${problem ?? html`<${Artists} artists=${track.artists} />`}</span></div>
      <${LikeButton} id=${track.id} name=${track.name} />
    </div>
    <div class="player-buttons">
      <${IconButton} icon="previous" label="Previous" onClick=${previous} />
      <button type="button" aria-label=${isPlaying ? "Pause" : "Play"} onClick=${toggle}><${Icon} name=${isPlaying ? "pause" : "play"} /></button>
      <${IconButton} icon="next" label="Next" onClick=${next} />
    </div>
    <${Seek} track=${track} />
    <div class="player-side">
      <a href="/music/queue" aria-label="Queue"><${Icon} name="queue" /></a>
      <${IconButton} icon="close" label="Close the player" onClick=${clear} />
    </div>
  </section>`;
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
    <input type="range" aria-label="Position" aria-valuetext=${`${duration(at)} of ${duration(end)}`} max=${end} step="0.1" value=${at} onInput=${(event) => setDragged(Number(event.target.value))} onChange=${drop} />
    <span class="quiet">${duration(end)}</span>
  </div>`;
}
