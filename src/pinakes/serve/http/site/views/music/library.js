// What the server lists for a player, and what its user keeps: likes, playlists and plays.
import {link} from "../../core/address.js";
import {ask} from "../../core/server.js";
import {createStore} from "../../core/store.js";
import {toast} from "../../parts/basics.js";

const MOST_LISTED = 200, MOST_TRACKS = 2000;
export const likes = createStore({ids: null});
export const playlists = createStore({items: null});

export function listMusic(list, parameters = {}, options) {
  return ask("GET", link("/v1/player", {list, limit: MOST_LISTED, ...parameters}), undefined, options);
}

// A list with all its tracks, such as a long playlist.
export async function listAll(list, parameters) {
  const whole = await listMusic(list, parameters);
  for (let page = whole.tracks; page.has_more && whole.tracks.items.length < MOST_TRACKS;) {
    page = (await listMusic(list, {...parameters, offset: whole.tracks.items.length})).tracks;
    whole.tracks.items.push(...page.items);
  }
  return whole;
}

export function idPath(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}

export async function loadLikes() {
  if (likes.get().ids) return;
  likes.set({ids: new Set()});
  const found = await ask("GET", "/v1/likes").catch(() => ({likes: []}));
  likes.set(({ids}) => ({ids: new Set([...ids, ...found.likes.map(({id}) => id)])}));
}

export async function setLike(id, isLiked) {
  const mark = (liked) => likes.set(({ids}) => ({ids: new Set(liked ? [...(ids ?? []), id] : [...ids].filter((one) => one !== id))}));
  await loadLikes();
  mark(isLiked);
  await ask(isLiked ? "PUT" : "DELETE", `/v1/likes/${idPath(id)}`).catch((error) => {
    mark(!isLiked);
    toast(error.message, {mood: "bad"});
  });
}

export async function loadPlaylists() {
  const {playlists: items} = await ask("GET", "/v1/playlists");
  playlists.set({items});
  return items;
}

// `content`: {tracks: [ids]} or {rule: {query, filters, exclude}}, a search that is run whenever the playlist is played.
export function createPlaylist(name, content) {
  return keep("POST", "", {name, ...content});
}

export function changePlaylist(id, name, content) {
  return keep("PUT", `/${id}`, {name, ...content});
}

export async function deletePlaylist({id, name, tracks, rule}) {
  await keep("DELETE", `/${id}`);
  toast(`Deleted: ${name}`, {undo: () => createPlaylist(name, rule ? {rule} : {tracks})});
}

async function keep(method, place, body) {
  const kept = await ask(method, `/v1/playlists${place}`, body);
  await loadPlaylists();
  return kept;
}
