// The queue and its playing. Every part of the page may use it; a track is given as the player lists it, or as a hit.
import {showDock} from "../../core/docks.js";
import {createStore, persisted} from "../../core/store.js";
import {toast} from "../../parts/toast.js";
import {listMusic, notePlay} from "./library.js";
import {connectSystem, showOnSystem} from "./media_session.js";

export const queue = persisted("music_queue", {tracks: [], index: 0, at: 0, goesOn: true, volume: 1});
export const playback = createStore({isPlaying: false, isWaiting: false, position: queue.get().at, length: 0, problem: null});
const MOST_QUEUED = 1000, SIMILAR_AT_ONCE = 5, BACK_TO_START_S = 3, LONGEST_STEP_S = 2, COUNTED_S = 30, TRIES = 3;

const audio = new Audio();
let loaded = null, heard = 0, before = 0, failures = 0;
audio.preload = "auto";
audio.volume = queue.get().volume;

export function asTrack(one) {
  if (one.name === undefined) return fromHit(one);
  const {catalogue, id, name, artists = [], album, seconds, image, playable} = one;
  return {key: `${catalogue}/${id}`, catalogue, id, title: name, artists, album, seconds, image, playable};
}

function fromHit(hit) {
  if (hit.fields === undefined) return hit;
  const valueOf = (name) => hit.fields.find(({field}) => field === name)?.value;
  const artists = valueOf("artists") ?? hit.subtitle;
  return {
    key: hit.key, catalogue: hit.catalogue, id: hit.id, title: hit.title, image: hit.image, playable: hit.audio,
    artists: artists ? [{name: artists}] : [], album: valueOf("album") ? {name: valueOf("album")} : null, seconds: null,
  };
}

export function current({tracks, index} = queue.get()) {
  return tracks[index] ?? null;
}

// Replace the queue and play; what has no file is left out.
export function play(given, index = 0) {
  const all = given.map(asTrack), wanted = all[index];
  const tracks = all.filter((one) => one.playable).slice(0, MOST_QUEUED);
  if (!tracks.length) return toast(all.length > 1 ? "None of these tracks has a file to play." : "This track has no file to play.");
  const place = wanted?.playable ? tracks.indexOf(wanted) : 0;
  queue.set({tracks, index: Math.max(0, place)});
  start();
}

export function enqueue(given, {isNext = false} = {}) {
  const added = given.map(asTrack).filter((one) => one.playable);
  const {tracks, index} = queue.get();
  if (!added.length || !tracks.length) return play(given);
  const place = isNext ? index + 1 : tracks.length;
  queue.set({tracks: tracks.toSpliced(place, 0, ...added).slice(0, MOST_QUEUED)});
  toast(added.length === 1 ? `Queued: ${added[0].title}` : `Queued: ${added.length} tracks`);
}

// Play whatever a record is: a track, or those of an album or artist.
export async function playRecord({catalogue, id, kind}) {
  if (kind === "track") return play([(await listMusic("track", {id, catalogue})).item]);
  const {tracks} = await listMusic(kind, {id, catalogue, limit: 200});
  play(tracks.items);
}

export function playAt(index) {
  queue.set({index});
  start();
}

function start(at = 0) {
  const track = current();
  if (!track) return;
  count();
  loaded = track;
  queue.set({at: 0});
  playback.set({position: at, length: 0, problem: null, isWaiting: true});
  audio.src = `/v1/tracks/${track.id.split("/").map(encodeURIComponent).join("/")}/audio`;
  audio.currentTime = at;
  showDock("player");
  showOnSystem(track);
  resume();
}

export function resume() {
  if (!loaded && current()) return start(queue.get().at);
  audio.play().catch((error) => error.name === "NotAllowedError" && playback.set({isPlaying: false, isWaiting: false}));
}

export function pause() {
  audio.pause();
}

export function toggle() {
  if (playback.get().isPlaying) pause();
  else resume();
}

export async function next() {
  const {tracks, index, goesOn} = queue.get();
  if (index + 1 < tracks.length) return playAt(index + 1);
  if (goesOn && (await addSimilar())) return playAt(index + 1);
  audio.pause();
  seek(0);
  return null;
}

export function previous() {
  const {index} = queue.get();
  if (audio.currentTime > BACK_TO_START_S || index === 0) seek(0);
  else playAt(index - 1);
}

export function seek(seconds) {
  const end = audio.duration || playback.get().length || 0;
  const position = Math.min(Math.max(0, seconds), end);
  before = position;
  if (loaded) audio.currentTime = position;
  else queue.set({at: position});
  playback.set({position});
}

export function setVolume(volume) {
  audio.volume = volume;
  queue.set({volume});
}

export function remove(place) {
  const {tracks, index} = queue.get();
  if (tracks.length === 1) return clear();
  const left = tracks.toSpliced(place, 1);
  queue.set({tracks: left, index: Math.min(place < index ? index - 1 : index, left.length - 1)});
  return place === index && loaded ? changeTo(playback.get().isPlaying) : null;
}

function changeTo(isPlaying) {
  if (isPlaying) return start();
  audio.removeAttribute("src");
  loaded = null;
  playback.set({position: 0, length: 0});
  return null;
}

export function move(from, to) {
  const {tracks, index} = queue.get();
  if (to < 0 || to >= tracks.length) return;
  const playing = tracks[index], moved = tracks.toSpliced(from, 1).toSpliced(to, 0, tracks[from]);
  queue.set({tracks: moved, index: moved.indexOf(playing)});
}

export function clear() {
  count();
  audio.pause();
  changeTo(false);
  queue.set({tracks: [], index: 0, at: 0});
}

// The queue goes on with what is like its last track and not in it yet.
async function addSimilar() {
  const {tracks} = queue.get(), last = tracks.at(-1), known = new Set(tracks.map(({key}) => key));
  const found = await listMusic("similar", {id: last.id, catalogue: last.catalogue, playable: true, limit: 50}).catch(() => null);
  const added = (found?.tracks?.items ?? []).map(asTrack).filter(({key}) => !known.has(key)).slice(0, SIMILAR_AT_ONCE);
  queue.set({tracks: [...tracks, ...added.map((one) => ({...one, like: last.title}))]});
  if (!added.length) toast("The queue is over, and nothing more like it can be played.");
  return added.length > 0;
}

// What was heard for half a minute, or half of a short track, counts as played.
function count() {
  const length = audio.duration || 0;
  if (loaded && heard > 0 && heard >= Math.min(COUNTED_S, length / 2)) {
    notePlay(loaded, Math.min(heard, loaded.seconds || heard));
  }
  heard = before = 0;
}

audio.addEventListener("timeupdate", () => {
  const step = audio.currentTime - before;
  if (step > 0 && step < LONGEST_STEP_S) heard += step;
  before = audio.currentTime;
  playback.set({position: before});
});
audio.addEventListener("durationchange", () => playback.set({length: Number.isFinite(audio.duration) ? audio.duration : 0}));
audio.addEventListener("play", () => playback.set({isPlaying: true}));
audio.addEventListener("playing", () => {
  failures = 0;
  playback.set({isPlaying: true, isWaiting: false});
});
audio.addEventListener("waiting", () => playback.set({isWaiting: true}));
audio.addEventListener("pause", () => {
  playback.set({isPlaying: false, isWaiting: false});
  queue.set({at: audio.currentTime});
});
audio.addEventListener("ended", next);
audio.addEventListener("error", () => {
  if (!loaded || !audio.hasAttribute("src")) return;
  failures += 1;
  playback.set({isPlaying: false, isWaiting: false, problem: "This track could not be played here."});
  const {tracks, index} = queue.get();
  if (failures < TRIES && index + 1 < tracks.length) next();
});
window.addEventListener("pagehide", () => loaded && queue.set({at: audio.currentTime}));
connectSystem({resume, pause, next, previous, seek}, playback);
