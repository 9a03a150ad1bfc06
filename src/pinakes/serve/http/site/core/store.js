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

// A store that survives a reload.
export function persisted(key, initial) {
  const store = createStore({...initial, ...readStored(key)});
  store.subscribe((value) => {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // A full or forbidden storage only means that nothing survives a reload.
    }
  });
  return store;
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

function readStored(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function isPlain(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

const root = new URL("../", import.meta.url);
const loading = new Map();

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
