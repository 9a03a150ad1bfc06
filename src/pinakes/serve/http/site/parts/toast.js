import {html} from "../core/html.js";
import {createStore, useStore} from "../core/store.js";

const toasts = createStore([]);
const SHOWN_MS = 6000;

// Say something for a few seconds; `undo` adds a button.
export function toast(text, {undo, mood = ""} = {}) {
  const entry = {text, undo, mood};
  toasts.set((all) => [...all.slice(-2), entry]);
  setTimeout(() => remove(entry), SHOWN_MS);
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">${useStore(toasts).map((entry) => html`
    <div class=${`toast ${entry.mood}`}>${entry.text}
      ${entry.undo && html`<button type="button" class="plain small" onClick=${() => { remove(entry); entry.undo(); }}>Undo</button>`}
    </div>`)}</div>`;
}

function remove(entry) {
  toasts.set((all) => all.filter((one) => one !== entry));
}
