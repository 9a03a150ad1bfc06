// What the pages under Run share: loading, tables, forms, small buttons, and the tools that they look for.
import {html, useEffect, useState, t} from "../../core/html.js";
import {ago} from "../../core/format.js";
import {moment} from "../../core/units.js";
import {callTool, Refused} from "../../core/server.js";
import {Problem, Spinner, toast} from "../../parts/basics.js";
import {confirm} from "../../parts/layers.js";
import {cellText, DataTable} from "../../parts/result.js";

// `work(signal)` runs at once, when an input changes, on `reload()`, and every so often while somebody looks.
export function useLoad(work, inputs = [], everyMs = 0) {
  const [state, setState] = useState({value: null, error: null}), [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer;
    const load = async () => {
      try {
        const value = document.hidden && timer ? null : await work(stop.signal);
        if (value !== null && !stop.signal.aborted) setState({value, error: null});
      } catch (error) {
        if (!stop.signal.aborted) setState((before) => ({...before, error}));
      }
      if (everyMs && !stop.signal.aborted) timer = setTimeout(load, everyMs);
    };
    load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...inputs, turn, everyMs]);
  return {...state, reload: () => setTurn((before) => before + 1)};
}

// The answer of a tool, now and again.
export function useTool(name, args, everyMs) {
  return useLoad((signal) => callTool(name, args, {signal}), [JSON.stringify(args)], everyMs);
}

export function Loaded({state, children}) {
  return html`${state.error && html`<${Problem} error=${state.error} retry=${state.reload} />`}
    ${state.value === null ? !state.error && html`<${Spinner} />` : children(state.value)}`;
}

// Rows as a table; `columns`: {label: name of a field, or function of a row}.
export function Table({label, columns, rows, ...given}) {
  const made = Object.entries(columns).map(([text, field]) => {
    const valueOf = typeof field === "function" ? field : (row) => row[field];
    return {name: text, label: text, number: typeof valueOf(rows[0] ?? {}) === "number", show: typeof field === "function" ? field : (row) => cellText(row[field], field)};
  });
  return html`<${DataTable} label=${label} columns=${rows.length ? made : []} rows=${rows} ...${given} />`;
}

// A table of what is loaded, in a card.
export function Listing({title: heading, state, rowsOf = (value) => value, label = heading, ...given}) {
  return html`<section class="card">${heading && html`<h2>${heading}</h2>`}<${Loaded} state=${state}>${(value) => html`
    <${Table} label=${label} rows=${rowsOf(value)} ...${given} />`}<//></section>`;
}

// What a form is sent with, and what is wrong, for its end.
export function useForm(work) {
  const [error, setError] = useState("");
  const send = (event) => {
    event.preventDefault();
    work(event).then(() => setError(""), (failure) => setError(failure.message));
  };
  return [send, error && html`<p class="error" role="alert">${error}</p>`];
}

// Do something that may be refused, and say what came of it.
export async function attempt(work, done) {
  try {
    const result = await work();
    if (done) toast(done);
    return result ?? true;
  } catch (error) {
    toast(error.message, {mood: "bad"});
    return null;
  }
}

export function sure(question, heading, yes) {
  return confirm(question, {title: heading, yes, no: t`Cancel`, danger: true});
}

// The tools have dots in their names, or none where the server lists them so; both are answered.
export function findTool(session, name) {
  return session.tool(name) ?? session.tool(name.replaceAll(".", "_"));
}

// Tools that packages bring are known by their form: a queue can be listed, and what acts on it has the same first name.
export function queueTool(session) {
  const query = session.tools.find((tool) => choices(tool, "query_type").includes("queue")), first = (tool) => tool.name.split(/[._]/u)[0];
  const action = query && session.tools.find((tool) => first(tool) === first(query) && choices(tool, "action").includes("retry"));
  return query && {query: query.name, action: action?.name, states: choices(query, "state")};
}

export function undoTools(session) {
  return session.tools.filter((tool) => choices(tool, "action").includes("undo")).map((tool) => tool.name);
}

function choices(tool, name) {
  return tool.inputSchema.properties?.[name]?.enum ?? [];
}

export async function readResource(uri, parameters = {}, signal) {
  const reply = await fetch(`/v1/resources/read?${new URLSearchParams({uri, ...parameters})}`, {headers: {Accept: "application/json, text/plain"}, signal});
  const text = await reply.text();
  if (reply.ok) return text;
  throw new Refused(reply.status, JSON.parse(text).error?.message ?? t`The server answered with an error (${reply.status}).`);
}

export function Tiles({tiles}) {
  return html`<dl class="tiles">${Object.entries(tiles).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function Pages({offset, shown, total, onMove, size}) {
  if (!offset && shown >= total) return null;
  return html`<div class="row"><button type="button" class="plain small" disabled=${offset === 0} onClick=${() => onMove(Math.max(0, offset - size))}>Previous</button>
    <span class="quiet" role="status">${t`${offset + 1} to ${offset + shown} of ${total}`}</span>
    <button type="button" class="plain small" disabled=${offset + shown >= total} onClick=${() => onMove(offset + size)}>Next</button></div>`;
}

export function State({good, bad, children}) {
  return html`<span class=${`state ${good ? "good" : bad ? "bad" : ""}`}>${children}</span>`;
}

export function Small({label, onClick, children, ...given}) {
  return html`<button type="button" class=${`plain small ${given.danger ? "danger" : ""}`} aria-label=${label} aria-pressed=${given.pressed} onClick=${onClick}>${children}</button>`;
}

export function When({at, isAgo}) {
  return html`<span class="tight">${isAgo ? ago(at) : moment(at)}</span>`;
}
