// Keys of the page. Each part registers its own; "?" lists those that work at the moment.
import {useLayoutEffect} from "./html.js";
import {t} from "./language.js";
import {createStore} from "./store.js";

export const keys = createStore([]);
const NAMES = {" ": t`Space`};

// `bindings`: {key: [what it does, function]}; a function that returns false leaves the key to others.
export function useKeys(section, bindings) {
  // What a key does is never older than what is seen.
  useLayoutEffect(() => {
    const entry = {section, bindings};
    keys.set((all) => [...all, entry]);
    return () => keys.set((all) => all.filter((one) => one !== entry));
  }, Object.values(bindings).map(([, work]) => work));
}

// What is shown takes the focus, but not from somebody who writes in the chat.
export function takeFocus(element) {
  if (!document.activeElement?.matches(".chat :not(a)")) element?.focus({preventScroll: true});
}

export function keyName(key) {
  return NAMES[key] ?? key;
}

document.addEventListener("keydown", (event) => {
  // What is under a dialog waits for its answer.
  if (document.querySelector("dialog[open]") || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target) && event.key !== "Escape") return;
  if (event.key === " " && event.target.closest?.("button, a, summary, input:not([type=range]), [role=tab]")) return;
  for (const {bindings} of [...keys.get()].reverse()) {
    const work = bindings[event.key]?.[1];
    if (work && work(event) !== false) {
      event.preventDefault();
      return;
    }
  }
});

function isTyping(element) {
  return element.isContentEditable || element.matches?.("textarea, select, input:not([type=checkbox], [type=radio], [type=range], [type=button])");
}
