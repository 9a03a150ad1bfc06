// How a record is found by its name, read and shown: the one that the drawer shows is a part of the address.
import {html, useEffect, useState} from "../../core/html.js";
import {change, changed} from "../../core/address.js";
import {callTool} from "../../core/server.js";
import {hitOf} from "../../parts/found.js";

const WHOLE = 100000, WAIT_MS = 150;

export function openRecord(key) {
  change({open: key});
}

export function recordLink(key) {
  return changed({open: key});
}

export function closeRecord() {
  change({open: null});
}

export const recordCall = (key) => ["fetch", {id: key, include: ["tiles", "fields"], max_tokens: WHOLE}];

export function fetchRecord(key, options) {
  return callTool(...recordCall(key), options);
}

// A box that finds a record by a few letters of its name.
export function Finder({catalogue, label, onChoose}) {
  const [text, setText] = useState(""), [hits, setHits] = useState([]);
  useEffect(() => {
    const stop = new AbortController();
    const look = () => callTool("search", {query: text, catalogue, limit: 6, include: ["tiles"]}, stop).then(({results}) => setHits(results.map(hitOf)), () => {});
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
