import {html} from "../../core/html.js";
import {change} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {DataTable} from "../../parts/result.js";
import {Loaded, readResource, State, useLoad} from "./load.js";

const EVERY_MS = 4000;
const KINDS = {recent: "All lines", errors: "Errors"};
const SAID = ["at", "level", "logger", "message", "problem"];
const COLUMNS = [
  {name: "at", label: "When", tight: true, show: (line) => new Date(line.at).toLocaleTimeString()},
  {name: "level", label: "Level", show: (line) => html`<${State} good=${line.level === "INFO"} bad=${line.level === "ERROR"}>${line.level.toLowerCase()}<//>`},
  {name: "text", label: "Line", show: (line) => html`<span class="wrapped">${[line.message, line.problem, fieldsOf(line)].filter(Boolean).join(" · ")}</span>`},
];

export default function Logs({address}) {
  const kind = KINDS[address.query.get("lines")] ? address.query.get("lines") : "recent", words = (address.query.get("q") ?? "").toLowerCase();
  const state = useLoad(async (signal) => JSON.parse(await readResource(`logs://${kind}`, {max_tokens: "12000"}, signal)), [kind], EVERY_MS);
  return html`<div class="row">${Object.entries(KINDS).map(([name, label]) => html`
      <button key=${name} type="button" class="plain small" aria-pressed=${name === kind} onClick=${() => change({lines: name === "recent" ? null : name})}>${label}</button>`)}
      <label class="find grow"><span class="unseen">Find in the lines</span><input type="search" placeholder="Find in the lines" value=${words} onInput=${(event) => change({q: event.target.value}, {replace: true})} /></label></div>
    <${Loaded} state=${state}>${({lines, total}) => {
      const shown = lines.filter((line) => JSON.stringify(line).toLowerCase().includes(words));
      return html`<section class="card"><p class="quiet">${plural(shown.length, "line")} of the last ${total}, latest first; without what was found, and without secrets.</p>
        <${DataTable} label="Log" columns=${COLUMNS} rows=${shown} empty=${kind === "errors" ? "No errors." : "No lines."} /></section>`;
    }}<//>`;
}

function fieldsOf(line) {
  return Object.entries(line).filter(([name]) => !SAID.includes(name)).map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`).join(" ");
}
