// The state of the page is its address, so that back, reload and sharing work.
import {createStore, useStore} from "./store.js";

history.replaceState(history.state, "", withRecordOpen(new URL(location.href)));
const current = createStore(read());
window.addEventListener("popstate", () => current.set(read()));
document.addEventListener("click", followLink);

export function useAddress() {
  return useStore(current);
}

export function address() {
  return current.get();
}

export function go(to, {replace = false} = {}) {
  const url = withRecordOpen(new URL(to, location.href));
  if (url.origin !== location.origin) throw new Error("only addresses of this page");
  history[replace ? "replaceState" : "pushState"](null, "", url);
  current.set(read());
  if (!replace) window.dispatchEvent(new Event("pagechange"));
}

// Change some parameters of the present address: null removes one, a list repeats it.
export function change(parameters, options) {
  go(changed(parameters), options);
}

export function changed(parameters) {
  return link(location.pathname, parameters, new URLSearchParams(location.search));
}

export function link(path, parameters = {}, query = new URLSearchParams()) {
  for (const [name, value] of Object.entries(parameters)) {
    query.delete(name);
    for (const one of [value].flat()) {
      if (one !== null && one !== undefined && one !== "") query.append(name, one);
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function read() {
  return {path: decoded(location.pathname, decodeURI), query: new URLSearchParams(location.search), url: location.pathname + location.search};
}

// The address of a record alone is that of its catalogue with the record open.
function withRecordOpen(url) {
  const [, catalogue, id] = /^\/c\/([^/]+)\/(.+)$/u.exec(url.pathname) ?? [];
  return id ? new URL(link(`/c/${catalogue}`, {open: decoded(`${catalogue}/${id}`)}, url.searchParams), url) : url;
}

// A text with a stray % stays as it is.
function decoded(text, decode = decodeURIComponent) {
  try {
    return decode(text);
  } catch {
    return text;
  }
}

// Links within the page change the view without loading the document again.
function followLink(event) {
  const anchor = event.target.closest?.("a[href]");
  const isPlainClick = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (!anchor || !isPlainClick || event.defaultPrevented || anchor.target || anchor.hasAttribute("download")) return;
  const url = new URL(anchor.href);
  if (url.origin !== location.origin || anchor.dataset.document !== undefined) return;
  event.preventDefault();
  go(url);
}
