// Provider, key and model. They are kept in localStorage under one name, and sent to the provider alone.
import {html, useEffect, useState} from "../../core/html.js";
import {createStore, useStore} from "../../core/store.js";
import {Notice} from "../../parts/basics.js";
import {ProviderError} from "./providers/wire.js";

export const KEY = "ai_chat_config";

const withParts = () => import("./providers/anthropic_google.js"), openKind = () => import("./providers/openai.js");

export const PROVIDERS = {
  anthropic: {title: "Anthropic", address: "https://api.anthropic.com", needsKey: true, load: withParts},
  openai: {title: "OpenAI", address: "https://api.openai.com/v1", needsKey: true, load: openKind},
  google: {title: "Google", address: "https://generativelanguage.googleapis.com/v1beta", needsKey: true, load: withParts},
  ollama: {title: "Ollama", address: "http://localhost:11434", needsKey: false, load: openKind},
  openrouter: {title: "OpenRouter", address: "https://openrouter.ai/api/v1", needsKey: true, load: openKind},
};

// The protocol of a provider: {models, round}.
export const openProtocol = async (provider) => (await PROVIDERS[provider].load())[provider];

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY));
    if (isObject(kept) && kept.provider in PROVIDERS && isObject(kept.providers)) return kept;
  } catch { /* begin anew */ }
  return {provider: "anthropic", providers: {}};
}

export const config = createStore(read());

export function saveConfig(next) {
  localStorage.setItem(KEY, JSON.stringify(next));
  config.set(next);
}

export function forgetKeys() {
  localStorage.removeItem(KEY);
  config.set({provider: "anthropic", providers: {}});
}

// The chosen provider's settings, with its own address where none is set.
export function chosen({provider, providers} = config.get()) {
  const own = isObject(providers[provider]) ? providers[provider] : {};
  const address = (own.address || PROVIDERS[provider].address).replace(/\/+$/, "");
  return {provider, key: "", model: "", ...own, address, protocol: own.protocol ?? (own.address ? "chat" : "responses")};
}

const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])$/;

// What keeps these settings from being used, or null.
export function findProblem(settings, {model = true} = {}) {
  const {title, needsKey} = PROVIDERS[settings.provider];
  let url;
  try { url = new URL(settings.address); } catch { return new ProviderError("address", `"${settings.address}" is not an address. One begins with https:// or http://localhost.`); }
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && LOCAL.test(url.hostname));
  if (!isSafe) return new ProviderError("address", `${settings.address}: use https, or http on localhost, since a key would travel unprotected otherwise.`);
  const isOwnAddress = settings.address === PROVIDERS[settings.provider].address;
  if (needsKey && isOwnAddress && !settings.key) return new ProviderError("no_key", `The chat needs a key of ${title}. Enter it in the settings of the chat.`);
  if (model && !settings.model) return new ProviderError("no_model", `Choose a model of ${title} in the settings of the chat.`);
  return null;
}

export function Settings({onDone}) {
  const kept = useStore(config), settings = chosen(kept), provider = PROVIDERS[settings.provider];
  const [list, setList] = useState(null);
  const change = (patch) => saveConfig({...kept, providers: {...kept.providers, [settings.provider]: {...kept.providers[settings.provider], ...patch}}});
  const problem = findProblem(settings, {model: false});
  useEffect(() => load(settings, problem, setList), [settings.provider, settings.key, settings.address]);
  return html`<form class="stack chat-settings" onSubmit=${(event) => { event.preventDefault(); onDone(); }}>
    <${Notice} role="note"><p><strong>Keys stay in this browser</strong>, in its local storage (<code>ai_chat_config</code>): whoever uses this browser profile, or a script on this page, can read them. Use a key with a spending limit. Your questions, and what the tools find, go to the provider that you choose.</p><//>
    <label>Provider
      <select value=${settings.provider} onChange=${(event) => saveConfig({...kept, provider: event.target.value})}>
        ${Object.entries(PROVIDERS).map(([id, {title}]) => html`<option value=${id} selected=${id === settings.provider}>${title}</option>`)}
      </select></label>
    <label>Key${provider.needsKey ? "" : " (only for ollama.com)"}
      <input type="password" autocomplete="off" spellcheck=${false} value=${settings.key} onInput=${(event) => change({key: event.target.value.trim()})} /></label>
    <${Model} settings=${settings} list=${list} change=${change} />
    ${problem ? html`<p class="hint">${problem.kind === "no_key" ? `Enter a key of ${provider.title}; its list of models follows.` : problem.message}</p>` : list?.error && html`<${Notice} mood="bad"><p>${list.error.message}</p><//>`}
    <details open=${Boolean(kept.providers[settings.provider]?.address) || !provider.needsKey}><summary>Address</summary>
      <div class="stack">
        <label>Address of the provider
          <input type="url" placeholder=${provider.address} value=${kept.providers[settings.provider]?.address ?? ""} onChange=${(event) => change({address: event.target.value.trim()})} />
          <span class="hint">https, or http on localhost. Other addresses than the providers’ own must be allowed by this server (connect under [web]).</span></label>
        ${settings.provider === "openai" && html`<label>Protocol
          <select value=${settings.protocol} onChange=${(event) => change({protocol: event.target.value})}>
            ${[["responses", "Responses (OpenAI)"], ["chat", "Chat Completions (compatible servers)"]].map(([id, label]) => html`<option value=${id} selected=${id === settings.protocol}>${label}</option>`)}
          </select></label>`}
      </div>
    </details>
    <div class="row"><button type="submit" disabled=${Boolean(findProblem(settings))}>Done</button>
      <button type="button" class="plain danger" onClick=${forgetKeys}>Forget all keys</button></div>
  </form>`;
}

function Model({settings, list, change}) {
  const models = list?.models ?? [];
  const isKnown = models.some(({id}) => id === settings.model);
  if (!models.length) {
    return html`<label>Model<input value=${settings.model} onInput=${(event) => change({model: event.target.value.trim()})} />
      <span class="hint" role="status">${list === "loading" ? "Asking for the list of models …" : "Its name, or choose from the list when the provider has sent it."}</span></label>`;
  }
  return html`<label>Model
    <select value=${settings.model} onChange=${(event) => change({model: event.target.value})}>
      ${!isKnown && html`<option value=${settings.model} selected>${settings.model || "Choose a model"}</option>`}
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
