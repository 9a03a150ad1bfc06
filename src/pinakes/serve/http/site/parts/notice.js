import {html} from "../core/html.js";

export function Notice({mood = "", children, role}) {
  return html`<div class=${`notice ${mood}`} role=${role ?? (mood === "bad" ? "alert" : "status")}>${children}</div>`;
}

// An error as the server told it, with what to do about it.
export function Problem({error, retry}) {
  return html`<${Notice} mood="bad">
    <p>${error.message}</p>
    ${retry && html`<button class="plain" onClick=${retry}>Try again</button>`}
  <//>`;
}

export function Spinner({label = "Loading…"}) {
  return html`<p class="spinner" role="status"><span aria-hidden="true"></span>${label}</p>`;
}

export function Empty({title, children}) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}
