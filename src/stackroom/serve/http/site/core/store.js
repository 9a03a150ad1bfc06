import {useEffect, useState} from "./html.js";

// A value that several parts of the page share, and can watch.
export function createStore(initial) {
  let value = initial;
  const watchers = new Set();
  return {
    get: () => value,
    set(change) {
      const changed = typeof change === "function" ? change(value) : change;
      value = isPlain(value) && isPlain(changed) ? {...value, ...changed} : changed;
      for (const watcher of [...watchers]) watcher(value);
    },
    subscribe(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

const OF_A_PERSON = ["taste", "visits", "music_queue", "docks", "ai_chat_config", "ai_chats", "user"];
let isForgotten = false;

// A store that survives a reload; what was kept is taken only where it has the form that the store begins with.
export function persisted(key, initial) {
  const store = createStore(withKept(initial, readStored(key)));
  store.subscribe((value) => keep(key, value));
  return store;
}

// Whether it is kept: a full or forbidden storage only means that nothing survives a reload.
export function keep(key, value) {
  try {
    if (!isForgotten) localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

// Whoever comes next finds nothing of the person before; what still runs until the page is loaded anew keeps nothing.
export function forgetPerson() {
  isForgotten = true;
  try {
    OF_A_PERSON.forEach((key) => localStorage.removeItem(key));
  } catch {
    // Where storage is forbidden, nothing was kept.
  }
}

export function useStore(store, select = (value) => value) {
  const [chosen, setChosen] = useState(() => select(store.get()));
  useEffect(() => {
    const watch = (value) => setChosen(() => select(value));
    watch(store.get());
    return store.subscribe(watch);
  }, [store]);
  return chosen;
}

export function readStored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function withKept(initial, kept) {
  return Object.fromEntries(Object.entries(initial).map(([name, value]) => [name, isLike(value, kept?.[name]) ? kept[name] : value]));
}

// Lists are of objects, and what begins as null becomes a text.
function isLike(value, kept) {
  if (Array.isArray(value)) return Array.isArray(kept) && kept.every(isPlain);
  return isPlain(value) ? isPlain(kept) : typeof kept === (value === null ? "string" : typeof value);
}

function isPlain(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

const root = new URL("../", import.meta.url);
// Those that the document came with are there before any script runs.
const loading = new Map([...document.querySelectorAll("link[rel=stylesheet]")].map(({href}) => [href.replace(root.href, ""), true]));

// Load a style sheet of the site once; true when it is there, so that a view is not seen without it.
export function useStyle(path) {
  const [isReady, setReady] = useState(() => loading.get(path) === true);
  useEffect(() => {
    let isHere = true;
    Promise.resolve(loadStyle(path)).then(() => isHere && setReady(true));
    return () => { isHere = false; };
  }, [path]);
  return isReady;
}

function loadStyle(path) {
  if (!loading.has(path)) {
    const element = Object.assign(document.createElement("link"), {rel: "stylesheet", href: new URL(path, root).href});
    const loaded = new Promise((resolve) => { element.onload = element.onerror = resolve; });
    loading.set(path, loaded.then(() => loading.set(path, true)));
    document.head.append(element);
  }
  return loading.get(path);
}

// The parts that stay while the view changes: the taste tray, the player and the chat.

export const docks = persisted("docks", {tray: false, player: false, chat: false});

export function showDock(name) {
  if (!docks.get()[name]) docks.set({[name]: true});
}

export function hideDock(name) {
  docks.set({[name]: false});
}

// Where one left off in each catalogue, and how many records it had then.

export const visits = persisted("visits", {catalogues: {}});

export function noteVisit(name, visit) {
  const {catalogues} = visits.get();
  visits.set({catalogues: {...catalogues, [name]: {...catalogues[name], ...visit}}});
}
