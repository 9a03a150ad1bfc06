// Everything that the page knows comes from the server as JSON, through here.
import {inWords} from "./format.js";
import {t} from "./language.js";
import {createStore, forgetPerson, keep, readStored, useStore} from "./store.js";

export class Refused extends Error {
  // A field that the server names first is told apart from what is wrong with it, which is for people.
  constructor(status, told, code = "", waitS = 0) {
    const [, field = "", isApart, rest = told] = /^'([\w.]+)'(:?) (.+)$/su.exec(told) ?? [];
    const message = isApart || !field ? rest : field.includes("_") ? `${inWords(field)} ${rest}` : told;
    super(message[0].toUpperCase() + message.slice(1));
    Object.assign(this, {status, code, waitS, field});
  }
}

export async function ask(method, path, body, {signal} = {}) {
  const options = {method, headers: {Accept: "application/json"}, credentials: "same-origin", signal};
  if (body !== undefined) {
    const isFile = body instanceof Blob;
    options.headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
    options.body = isFile ? body : JSON.stringify(body);
  }
  const reply = await reach(path, options);
  if (reply.status === 204) return null;
  const answer = await reply.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (reply.ok) return answer;
  const {message, code} = answer?.error ?? {};
  if (reply.status === 401 && path !== "/v1/login") window.dispatchEvent(new Event("loggedout"));
  throw new Refused(reply.status, message ?? t`The server answered with an error (${reply.status}).`, code, Number(reply.headers.get("Retry-After") ?? 0));
}

const early = new Map(), EARLY_MS = 2000;

export function callTool(name, given, options) {
  const key = JSON.stringify([name, given]), begun = early.get(key);
  early.delete(key);
  // What is no longer waited for is dropped, as any other call.
  return begun?.finally(() => options?.signal?.throwIfAborted()) ?? ask("POST", `/v1/tools/${encodeURIComponent(name)}`, given, options);
}

// Whether the document says that the visitor may call the tools: then nothing waits for the answer to who they are.
const isKnown = document.querySelector("meta[name=known]") !== null;

// Begin the calls of the first view, each [name, arguments], while the session is loaded.
export function callEarly(calls) {
  if (isKnown && session.get().loading) for (const call of calls) early.set(JSON.stringify(call), settled(callTool(...call)));
}

// A promise whose failure is told by whoever waits for it, or by nobody.
function settled(promise) {
  promise.catch(() => {});
  return promise;
}

// The server is not well when it says so with 503; that is an answer, too.
export async function askHealth() {
  const reply = await reach("/health", {headers: {Accept: "application/json"}});
  return reply.json();
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, t`The server cannot be reached.`);
  }
}

// The server and the person who is here: what it is, what they may do, and the tools that they may call.

const session = createStore({loading: true, problem: null, server: null, me: null, tools: []});

export function useSession() {
  return describe(useStore(session));
}

export async function reload() {
  try {
    const person = isKnown && session.get().loading && settled(loadUser());
    let server = await ask("GET", "/");
    const [me, tools] = server.user === null ? [null, []] : await (person || loadUser());
    // It may still have been loading its catalogues.
    if (me && server.audio === null) server = await ask("GET", "/");
    if (me && isSomebodyElse(me.name)) return startAnew();
    session.set({loading: false, problem: null, server, me, tools});
    setTimeout(() => early.clear(), EARLY_MS);
  } catch (error) {
    session.set({loading: false, problem: error});
  }
}

// The chat, likes and queue of one person are not the next one's, not even in a tab that stayed open.
let user = readStored("user");

function isSomebodyElse(name) {
  if (user === null) keep("user", user = name);
  return user !== name;
}

function startAnew() {
  forgetPerson();
  location.reload();
}

export function leave() {
  history.replaceState(null, "", "/");
  startAnew();
}

window.addEventListener("storage", ({key, oldValue}) => { if (key === "user" && oldValue) startAnew(); });

// A session that has ended is noticed by whatever asks next: then one has to log in again.
window.addEventListener("loggedout", () => { if (session.get().me) reload(); });

async function loadUser() {
  const me = ask("GET", "/v1/me");
  const tools = ask("GET", "/v1/tools").catch((error) => {
    if (error.status === 403) return {tools: []};
    throw error;
  });
  return [await me, (await tools).tools];
}

function describe(value) {
  return {
    ...value,
    reload,
    tool: (name) => value.tools.find((tool) => tool.name === name),
    may: (action) => value.me?.permissions.includes(action) ?? false,
  };
}
