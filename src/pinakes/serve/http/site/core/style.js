import {useEffect, useState} from "./html.js";

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
