// The queue and its playing, and what the server lists and keeps for a listener. Every part of the page may use it; a track is given as the player lists it, or as a hit.
import {t} from "../../core/language.js";
import {link} from "../../core/address.js";
import {ask} from "../../core/server.js";
import {createStore, persisted, showDock} from "../../core/store.js";
import {toast} from "../../parts/basics.js";

export const queue = persisted("music_queue", {tracks: [], index: 0, at: 0, goesOn: true, repeat: "off", inOrder: []});
export const sound = persisted("music_sound", {volume: 1, isMuted: false});
export const playback = createStore({isPlaying: false, position: queue.get().at, length: 0, problem: null});
const MOST_LISTED = 2000, MOST_QUEUED = 1000, SIMILAR_AT_ONCE = 5, TRIES = 3, STEP_S = 10;
const BACK_TO_START_S = 3, LONGEST_TICK_S = 2, COUNTED_S = 30, AHEAD_S = 20;

const system = navigator.mediaSession;
// Two elements take turns: while one plays the end of a track, the other loads what follows, so that there is no gap.
let audio = new Audio(), ahead = null;
let loaded = null, heard = 0, before = 0, failures = 0, isFinding = false;

function asTrack(one) {
  if (one.fields === undefined) return {...one, key: `${one.catalogue}/${one.id}`};
  const valueOf = (name) => one.fields.find(({field}) => field === name)?.value;
  const {key, catalogue, id, title, image, audio: playable} = one, album = valueOf("album");
  const artists = [{name: valueOf("artists") ?? one.subtitle}];
  return {key, catalogue, id, name: title, image, playable, artists, album: album && {name: album}};
}

// The tracks among these that can be played, as the queue has them.
export function playable(given) {
  return given.map(asTrack).filter((one) => one.playable).slice(0, MOST_QUEUED);
}

export function current({tracks, index} = queue.get()) {
  return tracks[index];
}

// Replace the queue, and play from a place in it.
export function play(given, index = 0) {
  const tracks = playable(given), {catalogue, id} = given[index] ?? {};
  if (!tracks.length) return toast(t`There is no file to play here.`);
  queue.set({tracks, inOrder: []});
  return playAt(Math.max(0, tracks.findIndex((one) => one.id === id && one.catalogue === catalogue)));
}

export function enqueue(given, {isNext = false} = {}) {
  const added = playable(given), {tracks, index} = queue.get();
  if (!tracks.length || !added.length) return play(given);
  queue.set({tracks: tracks.toSpliced(isNext ? index + 1 : tracks.length, 0, ...added).slice(0, MOST_QUEUED)});
  return toast(t`Added to the queue: ${added.length === 1 ? added[0].name : added.length}`);
}

// Play what a record is: a track, or those of an album, artist or playlist.
export async function playRecord({kind, id, catalogue}) {
  const {item, tracks} = await listMusic(kind, {id, catalogue});
  play(tracks ? tracks.items : [item]);
}

export function playAt(index, at = 0) {
  count();
  queue.set({index, at});
  loaded = current();
  const {name: title, artists, album, image} = loaded;
  playback.set({position: at, length: 0, problem: null});
  take(fileOf(loaded));
  audio.currentTime = at;
  showDock("player");
  if (system) system.metadata = new MediaMetadata({title, artist: artists.map(({name}) => name).join(", "), album: album?.name ?? "", artwork: image ? [{src: image}] : []});
  resume();
}

const fileOf = ({catalogue, id}) => new URL(`/v1/media/${encodeURIComponent(catalogue)}/audio/${idPath(id)}`, location.href).href;

// Go on with the element that has the file already, or load it.
function take(file) {
  if (ahead?.src === file) {
    audio.pause();
    [audio, ahead] = [ahead, audio];
  } else {
    audio.src = file;
  }
}

function loadAhead() {
  const {tracks, index, repeat} = queue.get(), following = tracks[index + 1] ?? (repeat === "all" ? tracks[0] : null);
  if (!following || audio.duration - audio.currentTime > AHEAD_S) return;
  ahead ??= listened(new Audio());
  const file = fileOf(following);
  if (ahead.src !== file) Object.assign(ahead, {preload: "auto", src: file});
}

export function setSound(change) {
  sound.set(change);
  for (const one of [audio, ahead]) if (one) Object.assign(one, {volume: sound.get().volume, muted: sound.get().isMuted});
}

export function toggleMute() {
  setSound({isMuted: !sound.get().isMuted});
}

const REPEATS = {off: "all", all: "one", one: "off"};

export function changeRepeat() {
  queue.set({repeat: REPEATS[queue.get().repeat ?? "off"]});
}

// What follows is played in an order by chance; turned off, everything is where it was.
export function toggleShuffle() {
  const {tracks, index, inOrder} = queue.get(), now = tracks[index];
  if (inOrder.length) {
    const keys = new Set(tracks.map(({key}) => key)), known = new Set(inOrder.map(({key}) => key));
    const restored = [...inOrder.filter(({key}) => keys.has(key)), ...tracks.filter(({key}) => !known.has(key))];
    return queue.set({tracks: restored, inOrder: [], index: Math.max(0, restored.findIndex(({key}) => key === now?.key))});
  }
  const rest = tracks.toSpliced(index, 1);
  for (let place = rest.length - 1; place > 0; place -= 1) {
    const other = Math.floor(Math.random() * (place + 1));
    [rest[place], rest[other]] = [rest[other], rest[place]];
  }
  return queue.set({tracks: now ? [now, ...rest] : rest, inOrder: tracks, index: 0});
}

export function resume() {
  const {index, at} = queue.get();
  if (!loaded) return current() && playAt(index, at);
  return audio.play().catch((error) => error.name === "NotAllowedError" && playback.set({isPlaying: false}));
}

export function pause() {
  audio.pause();
}

export function toggle() {
  if (playback.get().isPlaying) pause();
  else resume();
}

export async function next() {
  const {tracks, index, goesOn, repeat} = queue.get(), now = tracks[index];
  if (index + 1 < tracks.length) return playAt(index + 1);
  if (repeat === "all" && now) return playAt(0);
  if (isFinding || !now) return undefined;
  const added = goesOn ? await findSimilar(tracks) : [];
  // Something else may have been chosen meanwhile, and may be over, too.
  if (current() !== now) return audio.ended ? next() : undefined;
  if (queue.get().tracks !== tracks) return next();
  if (added.length) queue.set({tracks: [...tracks, ...added]});
  if (added.length) return playAt(index + 1);
  if (goesOn) toast(t`The queue has ended, and nothing similar can be played.`);
  pause();
  return seek(0);
}

export function previous() {
  const {index} = queue.get();
  if (audio.currentTime > BACK_TO_START_S || index === 0) seek(0);
  else playAt(index - 1);
}

export function seek(seconds) {
  before = Math.min(Math.max(0, seconds), audio.duration || seconds);
  if (loaded) audio.currentTime = before;
  else queue.set({at: before});
  playback.set({position: before});
}

export function remove(place) {
  const {tracks, index} = queue.get();
  if (tracks.length === 1) return clear();
  const left = tracks.toSpliced(place, 1);
  queue.set({tracks: left, index: Math.min(place < index ? index - 1 : index, left.length - 1)});
  return place === index && loaded && playAt(queue.get().index);
}

export function moveUp(place) {
  const {tracks, index} = queue.get(), moved = tracks.toSpliced(place - 1, 2, tracks[place], tracks[place - 1]);
  queue.set({tracks: moved, index: moved.indexOf(tracks[index])});
}

export function clear() {
  count();
  loaded = null;
  pause();
  audio.removeAttribute("src");
  queue.set({tracks: [], index: 0, at: 0, inOrder: []});
}

// The queue goes on with what is like its last track and not in it yet.
async function findSimilar(tracks) {
  const {id, catalogue, name} = tracks.at(-1), known = new Set(tracks.map(({key}) => key));
  isFinding = true;
  const found = await listMusic("similar", {id, catalogue, playable: true}).catch(() => null);
  isFinding = false;
  return playable(found?.tracks?.items ?? []).filter(({key}) => !known.has(key)).slice(0, SIMILAR_AT_ONCE).map((one) => ({...one, like: name}));
}

// What was heard for half a minute, or half of a short track, counts; a refusal of it does not disturb the music.
function count() {
  if (loaded && heard > 0 && heard >= Math.min(COUNTED_S, (audio.duration || 0) / 2)) {
    ask("POST", "/v1/plays", {track_id: loaded.id, seconds: Math.min(heard, loaded.seconds || heard)}).catch(() => null);
  }
  heard = before = 0;
}

const EVENTS = {
  timeupdate() {
    const tick = audio.currentTime - before;
    if (tick > 0 && tick < LONGEST_TICK_S) heard += tick;
    before = audio.currentTime;
    playback.set({position: before});
    loadAhead();
  },
  durationchange: () => playback.set({length: Number.isFinite(audio.duration) ? audio.duration : 0}),
  play: () => playback.set({isPlaying: true}),
  playing() { failures = 0; },
  pause() {
    playback.set({isPlaying: false});
    if (loaded) queue.set({at: audio.currentTime});
  },
  ended: () => (queue.get().repeat === "one" ? playAt(queue.get().index) : next()),
  error() {
    if (!loaded) return;
    failures += 1;
    playback.set({isPlaying: false, problem: t`This track could not be played here.`});
    if (failures < TRIES && queue.get().index + 1 < queue.get().tracks.length) next();
  },
};
function listened(element) {
  for (const [name, work] of Object.entries(EVENTS)) element.addEventListener(name, () => { if (element === audio) work(); });
  return Object.assign(element, {volume: sound.get().volume, muted: sound.get().isMuted});
}
listened(audio);
window.addEventListener("pagehide", () => loaded && queue.set({at: audio.currentTime}));

// Media keys, and what the system shows.
const skip = (sign) => ({seekOffset}) => seek(playback.get().position + sign * (seekOffset || STEP_S));
const ACTIONS = {play: resume, pause, stop: pause, nexttrack: next, previoustrack: previous, seekto: ({seekTime}) => seek(seekTime), seekforward: skip(1), seekbackward: skip(-1)};
if (system) {
  for (const [name, work] of Object.entries(ACTIONS)) system.setActionHandler(name, work);
  playback.subscribe(({isPlaying, length, position}) => {
    system.playbackState = isPlaying ? "playing" : "paused";
    if (length > 0) system.setPositionState?.({duration: length, position: Math.min(position, length)});
  });
}

// What the server lists for a player, and what its user keeps.
export const likes = createStore({ids: null});
export const playlists = createStore({items: null});

export function listMusic(list, parameters = {}, options) {
  return ask("GET", link("/v1/player", {list, limit: MOST_LISTED, ...parameters}), undefined, options);
}

export async function loadLyrics(id) {
  return (await ask("GET", `/v1/lyrics/${idPath(id)}`)).lines;
}

function idPath(id) {
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
    throw error;
  });
}

export async function loadPlaylists() {
  const {playlists: items} = await ask("GET", "/v1/playlists");
  playlists.set({items});
  return items;
}

export function createPlaylist(name, tracks) {
  return keep("POST", "", {name, tracks});
}

export function changePlaylist(id, name, tracks) {
  return keep("PUT", id, {name, tracks});
}

export async function deletePlaylist({id, name, tracks}) {
  await keep("DELETE", id);
  toast(t`Deleted: ${name}`, {undo: () => createPlaylist(name, tracks)});
}

async function keep(method, id, body) {
  const kept = await ask(method, `/v1/playlists${id && `/${encodeURIComponent(id)}`}`, body);
  await loadPlaylists();
  return kept;
}
