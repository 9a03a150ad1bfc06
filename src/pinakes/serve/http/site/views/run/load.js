// Loading what a page of Run shows, now and again, and the few things that all of them do with it.
import {html, useEffect, useState} from "../../core/html.js";
import {callTool, Refused} from "../../core/server.js";
import {Problem, Spinner, toast} from "../../parts/basics.js";

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

export function Loaded({state, children}) {
  return html`${state.error && html`<${Problem} error=${state.error} retry=${state.reload} />`}
    ${state.value === null ? !state.error && html`<${Spinner} />` : children(state.value)}`;
}

// The tools have dots in their names, or none where the server lists them so; both are answered.
export function hasTool(session, name) {
  return Boolean(session.tool(name) ?? session.tool(name.replaceAll(".", "_")));
}

// A tool's whole list, for choices: pages of 200 up to a bound.
export async function listAll(name, args, key, most = 1000) {
  const found = [];
  for (let offset = 0; offset < most; offset = found.length) {
    const answer = await callTool(name, {...args, limit: 200, offset});
    found.push(...answer[key]);
    if (!answer.has_more || !answer[key].length) break;
  }
  return found;
}

export async function readResource(uri, parameters = {}, signal) {
  const query = new URLSearchParams({uri, ...parameters});
  const reply = await fetch(`/v1/resources/read?${query}`, {headers: {Accept: "application/json, text/plain"}, signal});
  const text = await reply.text();
  if (reply.ok) return text;
  throw new Refused(reply.status, JSON.parse(text).error?.message ?? `The server answered ${reply.status}.`);
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

export function Tiles({tiles}) {
  return html`<dl class="tiles">${Object.entries(tiles).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function Pages({offset, shown, total, onMove, size}) {
  if (!offset && shown >= total) return null;
  return html`<div class="row"><button type="button" class="plain small" disabled=${offset === 0} onClick=${() => onMove(Math.max(0, offset - size))}>Before</button>
    <span class="quiet" role="status">${offset + 1} to ${offset + shown} of ${total}</span>
    <button type="button" class="plain small" disabled=${offset + shown >= total} onClick=${() => onMove(offset + size)}>Next</button></div>`;
}

export function State({good, bad, children}) {
  return html`<span class=${`state ${good ? "good" : bad ? "bad" : ""}`}>${children}</span>`;
}
