// The tray: records that are liked and disliked, of one catalogue at a time, a sentence, and weights of signals.
import {html} from "../../core/html.js";
import {link} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {hideDock, persisted, showDock, useStore, useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";

const EMPTY = {catalogue: null, likes: [], dislikes: [], sentence: "", weights: {}};
const MOST = 50;

export const taste = persisted("taste", EMPTY);

export const like = (hit) => put("likes", "dislikes", hit);
export const dislike = (hit) => put("dislikes", "likes", hit);

export function remove(key) {
  taste.set(({likes, dislikes}) => ({likes: without(likes, key), dislikes: without(dislikes, key)}));
  if (isEmpty()) hideDock("tray");
}

export function clear() {
  taste.set({...EMPTY, catalogue: taste.get().catalogue});
  hideDock("tray");
}

export function fill(tray) {
  taste.set({...EMPTY, ...tray});
}

export function moodOf(key, {likes, dislikes} = taste.get()) {
  const has = (hits) => hits.some((one) => one.key === key);
  return has(likes) ? "like" : has(dislikes) ? "dislike" : null;
}

export function isEmpty({likes, dislikes} = taste.get()) {
  return likes.length + dislikes.length === 0;
}

// The tray as an address, to keep and to share.
export function parametersOf({likes, dislikes, sentence, weights}) {
  const ids = (hits) => hits.map((one) => one.id);
  const weighed = Object.entries(weights).map(([name, weight]) => [`w.${name}`, String(weight)]);
  return {like: ids(likes), dislike: ids(dislikes), q: sentence, ...Object.fromEntries(weighed)};
}

function put(name, other, {key, id, catalogue, title, subtitle, image, kind}) {
  const before = taste.get().catalogue === catalogue ? taste.get() : {...EMPTY, catalogue};
  const kept = {key, id, catalogue, title, subtitle, image, kind};
  taste.set({...before, [name]: [...without(before[name], key), kept].slice(-MOST), [other]: without(before[other], key)});
  showDock("tray");
}

function without(hits, key) {
  return hits.filter((one) => one.key !== key);
}

// The tray at the foot of every page but its own, and the way to more of what is in it.
export default function Tray({address}) {
  const tray = useStore(taste), isStyled = useStyle("views/records.css");
  if (!isStyled || isEmpty(tray) || address.path.startsWith("/taste/")) return null;
  const said = [plural(tray.likes.length, "like"), tray.dislikes.length > 0 && plural(tray.dislikes.length, "dislike")].filter(Boolean).join(", ");
  const names = tray.likes.map((one) => one.title).reverse();
  return html`<aside class="tray" aria-label="Taste">
    <${Icon} name="like" />
    <p><b>${said}</b> <span class="quiet">${names.slice(0, 3).join(", ")}</span></p>
    <a class="button small" href=${link(`/taste/${encodeURIComponent(tray.catalogue)}`, parametersOf(tray))}>Recommend</a>
    <button type="button" class="quiet-button" aria-label="Empty the tray" onClick=${clear}><${Icon} name="close" /></button>
  </aside>`;
}
