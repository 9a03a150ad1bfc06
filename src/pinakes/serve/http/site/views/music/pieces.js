// Small parts of the music pages: covers, cards, likes, and loading a list.
import {html, useEffect, useState} from "../../core/html.js";
import {link} from "../../core/address.js";
import {useStore} from "../../core/store.js";
import {Icon} from "../../parts/icon.js";
import {Problem, Spinner} from "../../parts/notice.js";
import {likes, loadLikes, setLike} from "./library.js";
import {playRecord} from "./queue.js";

export function placeOf(kind, id) {
  return link(`/music/${kind}`, {id});
}

// A cover; where there is none, one is drawn from the name, always the same.
export function Cover({image, name, isRound = false}) {
  const kind = `cover ${isRound ? "round" : ""}`;
  if (image) return html`<img class=${kind} src=${image} alt="" loading="lazy" decoding="async" />`;
  return html`<span class=${`${kind} drawn`} style=${{background: drawn(name)}} aria-hidden="true"><${Icon} name="music" /></span>`;
}

function drawn(name) {
  let sum = 7;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 100003;
  const hue = sum % 360, x = sum % 83, y = sum % 71;
  return `radial-gradient(circle at ${x}% ${y}%, hsl(${(hue + 50) % 360} 60% 62% / 85%), transparent 60%), linear-gradient(${sum % 180}deg, hsl(${hue} 42% 34%), hsl(${(hue + 30) % 360} 45% 48%))`;
}

export function Artists({artists}) {
  return artists.map(({id, name}, place) => html`${place > 0 && ", "}${id ? html`<a href=${placeOf("artist", id)}>${name}</a>` : name}`);
}

export function LikeButton({id, name}) {
  const isLiked = useStore(likes).ids?.has(id) ?? false;
  useEffect(() => { loadLikes(); }, []);
  return html`<button type="button" class=${`quiet-button like ${isLiked ? "liked" : ""}`} aria-pressed=${isLiked} aria-label=${`Like ${name}`}
    onClick=${() => setLike(id, !isLiked)}><${Icon} name="like" /></button>`;
}

export function Cards({items, label}) {
  return html`<ul class="cards" aria-label=${label}>${items.map((one) => html`<li key=${one.catalogue + one.id} class="music-card">
    <div class="cover-box">
      <a href=${placeOf(one.kind, one.id)} tabindex="-1" aria-hidden="true"><${Cover} image=${one.image} name=${one.name} isRound=${one.kind === "artist"} /></a>
      <button type="button" class="cover-play" aria-label=${`Play ${one.name}`} onClick=${() => playRecord(one)}><${Icon} name="play" /></button>
    </div>
    <a class="card-name" href=${placeOf(one.kind, one.id)}>${one.name}</a>
    <span class="quiet card-line">${[one.artists.map(({name}) => name).join(", "), one.year].filter(Boolean).join(" · ")}</span>
  </li>`)}</ul>`;
}

// Load something when `inputs` change: {value, error, isLoading, again}; the former value stays until the new one is there.
export function useLoaded(load, inputs) {
  const [state, setState] = useState({isLoading: true}), [tries, setTries] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((was) => ({...was, isLoading: true, error: null}));
    load({signal: stop.signal}).then(
      (value) => stop.signal.aborted || setState({value, isLoading: false}),
      (error) => stop.signal.aborted || setState({error, isLoading: false}),
    );
    return () => stop.abort();
  }, [...inputs, tries]);
  return {...state, again: () => setTries(tries + 1)};
}

export function Loaded({state, children}) {
  if (state.error) return html`<${Problem} error=${state.error} retry=${state.again} />`;
  return state.value === undefined ? html`<${Spinner} />` : children(state.value);
}
