// An album with its tracks, and an artist with their albums.
import {html} from "../../core/html.js";
import {duration, plural} from "../../core/format.js";
import {Icon} from "../../parts/icon.js";
import {MOST_LISTED, listMusic} from "./library.js";
import {Artists, Cards, Cover, LikeButton, Loaded, useLoaded} from "./pieces.js";
import {enqueue, play} from "./queue.js";
import {Tracks} from "./tracks.js";

export function AlbumPage({id}) {
  const state = useLoaded((options) => listMusic("album", {id, limit: MOST_LISTED}, options), [id]);
  return html`<${Loaded} state=${state}>${({item, tracks}) => {
    const seconds = item.seconds ?? tracks.items.reduce((sum, one) => sum + (one.seconds ?? 0), 0);
    const line = [item.year, plural(tracks.total, "track"), seconds > 0 && duration(seconds), item.genres.slice(0, 4).join(", ")];
    return html`<article class="stack">
      <${Head} item=${item} kind="Album" tracks=${tracks.items} line=${line.filter(Boolean).join(" · ")} />
      <${Tracks} tracks=${tracks.items} isNumbered=${true} label=${`Tracks of ${item.name}`} />
    </article>`;
  }}<//>`;
}

export function ArtistPage({id}) {
  const state = useLoaded((options) => listMusic("artist", {id, limit: MOST_LISTED}, options), [id]);
  const like = useLoaded((options) => listMusic("similar", {id, limit: 6}, options).catch(() => null), [id]);
  return html`<${Loaded} state=${state}>${({item, albums, tracks}) => html`<article class="stack">
    <${Head} item=${item} kind="Artist" tracks=${tracks.items} line=${`${plural(albums.total, "album")}, ${plural(tracks.total, "track")}`} />
    ${albums.items.length > 0 && html`<section><h2>Albums</h2><${Cards} items=${albums.items} label="Albums" /></section>`}
    ${tracks.items.length > 0 && html`<section><h2>Tracks</h2><${Tracks} tracks=${tracks.items} /></section>`}
    ${like.value?.artists?.items.length > 0 && html`<section><h2>Similar artists</h2><${Cards} items=${like.value.artists.items} label="Similar artists" /></section>`}
  </article>`}<//>`;
}

export function Head({item, kind, line, tracks, children}) {
  const canPlay = tracks.some((one) => one.playable);
  return html`<header class="music-top">
    <${Cover} image=${item.image} name=${item.name} isRound=${kind === "Artist"} />
    <div class="music-top-text">
      <p class="quiet">${kind}</p>
      <h2 class="music-title">${item.name}</h2>
      <p>${item.artists?.length > 0 && html`<${Artists} artists=${item.artists} /> · `}<span class="quiet">${line}</span></p>
      ${item.about && html`<p class="music-about">${item.about}</p>`}
      <div class="row">
        <button type="button" disabled=${!canPlay} onClick=${() => play(tracks)}><${Icon} name="play" /> Play</button>
        <button type="button" class="plain" disabled=${!canPlay} onClick=${() => enqueue(tracks)}><${Icon} name="plus" /> Queue</button>
        ${item.id && html`<${LikeButton} id=${item.id} name=${item.name} />`}
        ${children}
      </div>
    </div>
  </header>`;
}
