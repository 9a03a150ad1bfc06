// What the server lists for a player, and what its user keeps: likes, playlists and plays.
import {link} from "../../core/address.js";
import {ask} from "../../core/server.js";
import {createStore} from "../../core/store.js";
import {toast} from "../../parts/toast.js";

export const MOST_LISTED = 200;
export const likes = createStore({ids: null});
export const playlists = createStore({items: null, problem: null});

export function listMusic(list, parameters = {}, options) {
  return ask("GET", link("/v1/player", {list, ...parameters}), undefined, options);
}

// All tracks of a long list, such as a playlist.
export async function listAllTracks(list, parameters) {
  const items = [];
  for (let hasMore = true; hasMore && items.length < 2000;) {
    const {tracks} = await listMusic(list, {...parameters, offset: items.length, limit: MOST_LISTED});
    items.push(...tracks.items);
    hasMore = tracks.has_more && tracks.items.length > 0;
  }
  return items;
}

export async function loadLikes() {
  if (likes.get().ids) return;
  likes.set({ids: new Set()});
  const found = await ask("GET", "/v1/likes").catch(() => ({likes: []}));
  likes.set({ids: new Set([...likes.get().ids, ...found.likes.map(({id}) => id)])});
}

export async function setLike(id, isLiked) {
  const mark = (liked) => {
    const ids = new Set(likes.get().ids);
    ids[liked ? "add" : "delete"](id);
    likes.set({ids});
  };
  mark(isLiked);
  try {
    await ask(isLiked ? "PUT" : "DELETE", `/v1/likes/${id.split("/").map(encodeURIComponent).join("/")}`);
  } catch (error) {
    mark(!isLiked);
    toast(error.message, {mood: "bad"});
  }
}

// A play is of interest to its listener's statistics only; a server that refuses it does not disturb the music.
export function notePlay(track, seconds) {
  ask("POST", "/v1/plays", {track_id: track.id, seconds}).catch(() => null);
}

export async function loadPlaylists() {
  try {
    playlists.set({items: (await ask("GET", "/v1/playlists")).playlists, problem: null});
  } catch (error) {
    playlists.set({problem: error});
  }
}

// `content`: {tracks: [ids]} or {rule: {query, filters, exclude}}, a search that is run whenever the playlist is played.
export async function createPlaylist(name, content) {
  const made = await ask("POST", "/v1/playlists", {name, ...content});
  await loadPlaylists();
  return made;
}

export async function changePlaylist(id, name, content = {}) {
  const changed = await ask("PUT", `/v1/playlists/${id}`, {name, ...content});
  await loadPlaylists();
  return changed;
}

export async function addToPlaylist({id, name, tracks}, added) {
  await changePlaylist(id, name, {tracks: [...tracks, ...added.map((one) => one.id)]});
  toast(`Added to ${name}`, {undo: () => changePlaylist(id, name, {tracks})});
}

export async function deletePlaylist({id, name, tracks, rule}) {
  await ask("DELETE", `/v1/playlists/${id}`);
  await loadPlaylists();
  toast(`Deleted: ${name}`, {undo: () => createPlaylist(name, rule ? {rule} : {tracks})});
}
