// Provider, key and model. They are kept in localStorage under one name, and sent to the provider alone.
import {html, useEffect, useState, t} from "../../core/html.js";
import {createStore, useStore} from "../../core/store.js";
import {Notice, toast} from "../../parts/basics.js";
import {ProviderError, isObject} from "./providers/wire.js";

const KEY = "ai_chat_config";

const withParts = () => import("./providers/anthropic_google.js"), openKind = () => import("./providers/openai.js");

const PROVIDERS = {
  anthropic: {title: "Anthropic", address: "https://api.anthropic.com", needsKey: true, load: withParts},
  openai: {title: "OpenAI", address: "https://api.openai.com/v1", needsKey: true, load: openKind},
  google: {title: "Google", address: "https://generativelanguage.googleapis.com/v1beta", needsKey: true, load: withParts},
  ollama: {title: "Ollama", address: "http://localhost:11434", needsKey: false, load: openKind},
  openrouter: {title: "OpenRouter", address: "https://openrouter.ai/api/v1", needsKey: true, load: openKind},
};

// The protocol of a provider: {models, round}.
export const openProtocol = async (provider) => (await PROVIDERS[provider].load())[provider];

const NOTHING = {provider: "anthropic", providers: {}};

function read() {
  try {
    const {provider, providers} = JSON.parse(localStorage.getItem(KEY));
    const isSound = (held) => isObject(held) && Object.values(held).every((value) => typeof value === "string");
    if (Object.hasOwn(PROVIDERS, provider) && isObject(providers) && Object.values(providers).every(isSound)) return {provider, providers};
  } catch { /* begin anew */ }
  return NOTHING;
}

export const config = createStore(read());

// What another tab keeps or forgets counts here, too.
window.addEventListener("storage", ({key}) => { if (key === KEY || key === null) config.set(read()); });

export function saveConfig(next) {
  config.set(next);
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    toast(t`This browser stores nothing: the settings last until the page is closed.`, {mood: "bad"});
  }
}

function forgetKeys() {
  config.set(NOTHING);
  try { localStorage.removeItem(KEY); } catch {}
}

// The chosen provider's settings, with its own address where none is set.
export function chosen({provider, providers} = config.get()) {
  const own = providers[provider] ?? {};
  const address = (own.address || PROVIDERS[provider].address).replace(/\/+$/, "");
  return {provider, key: "", model: "", ...own, address, protocol: own.protocol ?? (own.address ? "chat" : "responses")};
}

// The settings for another address: a key is never sent to a server that it was not entered for.
function movedTo(address, {provider, providers}) {
  const moved = {provider, providers: {...providers, [provider]: {...providers[provider], address}}};
  if (originOf(chosen(moved)) !== originOf(chosen({provider, providers}))) Object.assign(moved.providers[provider], {key: "", model: ""});
  return moved;
}

const originOf = ({address}) => URL.parse(address)?.origin;

const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])$/;

// What keeps these settings from being used, or null.
export function findProblem(settings, {model = true} = {}) {
  const {title, needsKey, address} = PROVIDERS[settings.provider], url = URL.parse(settings.address);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && LOCAL.test(url.hostname));
  if (!isSafe) return new ProviderError("address", t`“${settings.address}” is not a safe address for a key: use https, or http on localhost.`);
  if (needsKey && settings.address === address && !settings.key) return new ProviderError("no_key", t`The chat needs a key for ${title}. Enter it in the chat settings.`);
  if (model && !settings.model) return new ProviderError("no_model", t`Choose a model of ${title} in the chat settings.`);
  return null;
}

function useSettings() {
  const kept = useStore(config), settings = chosen(kept), provider = PROVIDERS[settings.provider];
  const [list, setList] = useState(null);
  const change = (patch) => saveConfig({...kept, providers: {...kept.providers, [settings.provider]: {...kept.providers[settings.provider], ...patch}}});
  const problem = findProblem(settings, {model: false});
  useEffect(() => load(settings, problem, setList), [settings.provider, settings.key, settings.address]);
  return {kept, settings, provider, list, change, problem};
}

// Another model of the same provider, for what is asked next.
export function ModelChoice({onDone}) {
  const {settings, list, change, problem} = useSettings();
  const told = problem ?? list?.error;
  return html`<form class="stack" onSubmit=${(event) => { event.preventDefault(); onDone(); }}>
    <${Model} settings=${settings} list=${list} change=${change} />
    ${told && html`<${Notice} mood="bad"><p>${told.message}</p><//>`}
    <div class="row"><button type="submit" disabled=${!settings.model}>Done</button></div>
  </form>`;
}

export function Settings({onDone, children}) {
  const {kept, settings, provider, list, change, problem} = useSettings();
  return html`<form class="stack chat-settings" onSubmit=${(event) => { event.preventDefault(); onDone(); }}>
    <${Notice} role="note"><p><strong>Keys stay in this browser</strong>, in its local storage (<code>ai_chat_config</code>). Anyone who uses this browser can read them, so use a key with a spending limit. Your questions and what the tools find are sent to the provider.</p><//>
    <label>Provider
      <select value=${settings.provider} onChange=${(event) => saveConfig({...kept, provider: event.target.value})}>
        ${Object.entries(PROVIDERS).map(([id, {title}]) => html`<option value=${id} selected=${id === settings.provider}>${title}</option>`)}
      </select></label>
    <label>Key${provider.needsKey ? "" : t` (only for ollama.com)`}
      <input type="password" autocomplete="off" spellcheck=${false} value=${settings.key} onInput=${(event) => change({key: event.target.value.trim()})} /></label>
    <${Model} settings=${settings} list=${list} change=${change} />
    ${problem ? html`<p class="hint">${problem.kind === "no_key" ? t`Enter a key for ${provider.title} to see its models.` : problem.message}</p>` : list?.error && html`<${Notice} mood="bad"><p>${list.error.message}</p><//>`}
    <details open=${Boolean(kept.providers[settings.provider]?.address) || !provider.needsKey}><summary>Address</summary>
      <div class="stack">
        <label>Provider address
          <input type="url" placeholder=${provider.address} key=${settings.provider} defaultValue=${kept.providers[settings.provider]?.address ?? ""} onChange=${(event) => saveConfig(movedTo(event.target.value.trim(), kept))} />
          <span class="hint">https, or http on localhost. Another server needs its own key, and has to be allowed in the settings of this server (connect under [web]).</span></label>
        ${settings.provider === "openai" && html`<label>Protocol
          <select value=${settings.protocol} onChange=${(event) => change({protocol: event.target.value})}>
            ${[["responses", t`Responses (OpenAI)`], ["chat", t`Chat Completions (compatible servers)`]].map(([id, label]) => html`<option value=${id} selected=${id === settings.protocol}>${label}</option>`)}
          </select></label>`}
      </div>
    </details>
    ${children}
    <div class="row"><button type="submit" disabled=${Boolean(findProblem(settings))}>Done</button>
      <button type="button" class="plain danger" onClick=${forgetKeys}>Forget all keys</button></div>
  </form>`;
}

function Model({settings, list, change}) {
  const models = list?.models ?? [];
  const isKnown = models.some(({id}) => id === settings.model);
  if (!models.length) {
    return html`<label>Model<input value=${settings.model} onInput=${(event) => change({model: event.target.value.trim()})} />
      <span class="hint" role="status">${list === "loading" ? t`Loading the models …` : t`Type its name, or choose it once the list has loaded.`}</span></label>`;
  }
  return html`<label>Model
    <select value=${settings.model} onChange=${(event) => change({model: event.target.value})}>
      ${!isKnown && html`<option value=${settings.model} selected>${settings.model || t`Choose a model`}</option>`}
      ${models.map(({id, title}) => html`<option value=${id} selected=${id === settings.model}>${title === id ? id : `${title} (${id})`}</option>`)}
    </select></label>`;
}

function load(settings, problem, setList) {
  setList(null);
  if (problem) return undefined;
  const stopper = new AbortController();
  const timer = setTimeout(async () => {
    setList("loading");
    try {
      const protocol = await openProtocol(settings.provider);
      setList({models: await protocol.models(settings, stopper.signal)});
    } catch (error) {
      if (!stopper.signal.aborted) setList({error});
    }
  }, 400); // while a key is typed, each letter would be a request
  return () => { clearTimeout(timer); stopper.abort(); };
}
