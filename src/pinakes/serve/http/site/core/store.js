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
