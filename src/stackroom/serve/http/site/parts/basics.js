import {html, useEffect, useState} from "../core/html.js";
import {createStore, useStore} from "../core/store.js";

const PATHS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14m5 12 4.5 4.5",
  close: "M6 6l12 12M18 6 6 18",
  list: "M4 6h16M4 12h16M4 18h16",
  table: "M4 5h16v14H4zM4 10h16M10 5v14",
  map: "M6 7h.01M17 6h.01M12 12h.01M8 17h.01M18 16h.01M15 9h.01M5 13h.01",
  queue: "M4 6h11M4 12h11M4 18h7M17 13v6l5-3z",
  chat: "M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-8l-4 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z",
  like: "M12 20S4 15 4 9a4 4 0 0 1 8-1 4 4 0 0 1 8 1c0 6-8 11-8 11z",
  dislike: "M5 5l14 14M9 5a4 4 0 0 0-5 4c0 6 8 11 8 11l4-3M15.5 5a4 4 0 0 1 4.5 4c0 1.5-.5 3-1.2 4.2",
  play: "M8 5v14l11-7z",
  pause: "M8 5v14M16 5v14",
  next: "M6 5v14l9-7zM18 5v14",
  previous: "M18 5v14L9 12zM6 5v14",
  shuffle: "M4 7h3l9 10h4M4 17h3l3-3.3M13.5 9.5 16 7h4M18 5l2 2-2 2M18 15l2 2-2 2",
  repeat: "M5 12V9a2 2 0 0 1 2-2h11M16 5l2 2-2 2M19 12v3a2 2 0 0 1-2 2H6M8 19l-2-2 2-2",
  once: "M5 12V9a2 2 0 0 1 2-2h11M16 5l2 2-2 2M19 12v3a2 2 0 0 1-2 2H6M8 19l-2-2 2-2M11.5 10.5 12.5 10v4",
  sound: "M5 10v4h3l4 4V6l-4 4zM15.5 9a4 4 0 0 1 0 6M18 7a7 7 0 0 1 0 10",
  silent: "M5 10v4h3l4 4V6l-4 4zM16 10l4 4M20 10l-4 4",
  plus: "M12 5v14M5 12h14",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  left: "M15 6l-6 6 6 6",
  right: "M9 6l6 6-6 6",
  check: "M5 13l4 4L19 7",
  stop: "M7 7h10v10H7z",
  send: "M5 12h13M12 5l7 7-7 7",
  settings: "M4 8h9M17 8h3M4 16h3M11 16h9M13 6v4M7 14v4",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 20c1-4 5-5 8-5s7 1 8 5",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  undo: "M8 5 4 9l4 4M4 9h9a6 6 0 0 1 0 12h-3",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  music: "M9 18V6l11-2v12M9 18a3 2.5 0 1 1-3-2.5 3 2.5 0 0 1 3 2.5M20 16a3 2.5 0 1 1-3-2.5 3 2.5 0 0 1 3 2.5",
};

export function Icon({name}) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

export function Notice({mood = "", children, role}) {
  return html`<div class=${`notice ${mood}`} role=${role ?? (mood === "bad" ? "alert" : "status")}>${children}</div>`;
}

const UPDATED = "This page was updated; reload it.", AWAY = "The server cannot be reached.";
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
  if (!isAbort) toast(isOld ? UPDATED : isUnloaded(error) ? AWAY : error?.message ?? String(error), {mood: "bad", undo: isOld && reloadPage, button: "Reload"});
});

// An error as the server told it, with what to do about it.
export function Problem({error, retry}) {
  const isPart = isUnloaded(error), [message, setMessage] = useState(isPart ? AWAY : null);
  useEffect(() => { if (isPart) isAway().then((is) => setMessage(is ? AWAY : UPDATED)); }, [error]);
  const isOld = message === UPDATED;
  return html`<${Notice} mood="bad">
    <p>${message ?? error.message}</p>
    ${(isPart || retry) && html`<button type="button" class="plain" onClick=${isPart ? reloadPage : retry}>${isOld ? "Reload" : "Try again"}</button>`}
  <//>`;
}

export function Spinner({label = "Loading…"}) {
  return html`<p class="spinner" role="status"><span aria-hidden="true"></span>${label}</p>`;
}

export function Empty({title, children}) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

const toasts = createStore([]);
const SHOWN_MS = 6000;

// Say something for a few seconds; `undo` adds a button.
export function toast(text, {undo, mood = "", button = "Undo"} = {}) {
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
