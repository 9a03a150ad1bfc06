import {html, useEffect, useState, t} from "../core/html.js";
import {createStore, useStore} from "../core/store.js";

const PATHS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14m5 12 4.5 4.5",
  close: "M6 6l12 12M18 6 6 18",
  list: "M4 6h16M4 12h16M4 18h16",
  chat: "M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-8l-4 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z",
  like: "M12 20S4 15 4 9a4 4 0 0 1 8-1 4 4 0 0 1 8 1c0 6-8 11-8 11z",
  play: "M8 5v14l11-7z",
  plus: "M12 5v14M5 12h14",
  up: "M6 15l6-6 6 6",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 20c1-4 5-5 8-5s7 1 8 5",
};

// Parts that are loaded later bring their own.
export function addIcons(paths) {
  Object.assign(PATHS, paths);
}

export function Icon({name}) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

export function Notice({mood = "", children, role}) {
  return html`<div class=${`notice ${mood}`} role=${role ?? (mood === "bad" ? "alert" : "status")}>${children}</div>`;
}

const UPDATED = t`This page was updated; reload it.`, AWAY = t`The server cannot be reached.`;
const reloadPage = () => location.reload();

// Whether a part of the page is no longer at the server, in the words of each browser.
function isUnloaded(error) {
  return /dynamically imported module|Importing a module/u.test(error?.message);
}

// A part that cannot be loaded was replaced, or the server is away; that is known by asking.
const isAway = () => fetch("/health").then(() => false, () => true);

// What nobody has handled is told, whichever button it came from.
window.addEventListener("unhandledrejection", async (event) => {
  const error = event.reason, isAbort = error?.name === "AbortError";
  if (isUnloaded(error) || isAbort || error?.status !== undefined) event.preventDefault();
  const isOld = isUnloaded(error) && !await isAway();
  if (!isAbort) toast(isOld ? UPDATED : isUnloaded(error) ? AWAY : error?.message ?? String(error), {mood: "bad", undo: isOld && reloadPage, button: t`Reload`});
});

// An error as the server told it, with what to do about it.
export function Problem({error, retry}) {
  const isPart = isUnloaded(error), [message, setMessage] = useState(isPart ? AWAY : null);
  useEffect(() => { if (isPart) isAway().then((is) => setMessage(is ? AWAY : UPDATED)); }, [error]);
  const isOld = message === UPDATED;
  return html`<${Notice} mood="bad">
    <p>${message ?? error.message}</p>
    ${(isPart || retry) && html`<button type="button" class="plain" onClick=${isPart ? reloadPage : retry}>${isOld ? t`Reload` : t`Try again`}</button>`}
  <//>`;
}

export function Spinner({label = t`Loading…`}) {
  return html`<p class="spinner" role="status"><span aria-hidden="true"></span>${label}</p>`;
}

// A catalogue's title, and quietly its id where that says something else.
export function Named({title, name}) {
  return html`${title}${!title.toLowerCase().includes(name.toLowerCase()) && html` <small>${name}</small>`}`;
}

export function Empty({title, children}) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

const toasts = createStore([]);
const SHOWN_MS = 6000;

// Say something for a few seconds; `undo` adds a button.
export function toast(text, {undo, mood = "", button = t`Undo`} = {}) {
  const entry = {text, undo, mood, button};
  toasts.set((all) => [...all.filter((one) => one.undo || one.text !== text).slice(-2), entry]);
  setTimeout(() => remove(entry), SHOWN_MS);
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">${useStore(toasts).map((entry) => html`
    <div class=${`toast ${entry.mood}`}>${entry.text}
      ${entry.undo && html`<button type="button" class="plain small" onClick=${() => { remove(entry); entry.undo(); }}>${entry.button}</button>`}
    </div>`)}</div>`;
}

function remove(entry) {
  toasts.set((all) => all.filter((one) => one !== entry));
}
