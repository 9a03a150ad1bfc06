// A box that finds a record by a few letters of its name.
import {html, useEffect, useState} from "../../core/html.js";
import {link} from "../../core/address.js";
import {ask} from "../../core/server.js";

const WAIT_MS = 150;

export function Finder({catalogue, label, onChoose}) {
  const [text, setText] = useState(""), [hits, setHits] = useState([]);
  useEffect(() => {
    const stop = new AbortController();
    const look = () => ask("GET", link(`/c/${encodeURIComponent(catalogue)}`, {q: text, parts: "hits", limit: 6}), undefined, stop)
      .then((found) => setHits(found.hits), () => {});
    const timer = text.trim() ? setTimeout(look, WAIT_MS) : setHits([]);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [text, catalogue]);
  const choose = (hit) => { setText(""); onChoose(hit); };
  return html`<div class="finder">
    <label>${label}<input type="text" value=${text} autocomplete="off" onInput=${(event) => setText(event.target.value)} /></label>
    ${hits.length > 0 && html`<ul class="brief" aria-label="Suggestions">${hits.map((hit) => html`<li key=${hit.key}>
      <button type="button" class="link" onClick=${() => choose(hit)}>${hit.title}</button> <span class="quiet">${hit.subtitle}</span></li>`)}</ul>`}
  </div>`;
}

// A value of a record as texts: a list's items, a tag's value.
export function texts(value) {
  return [value ?? []].flat().map((one) => (one && typeof one === "object" ? one.value ?? JSON.stringify(one) : String(one)));
}
