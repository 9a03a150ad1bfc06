// Provider, keys and models. They are kept in localStorage under one name, and sent to the provider alone.
import {createStore} from "../../core/store.js";
import {ProviderError} from "./providers/wire.js";

export const KEY = "ai_chat_config";

export const PROVIDERS = {
  anthropic: {title: "Anthropic", address: "https://api.anthropic.com", needsKey: true, load: () => import("./providers/anthropic.js")},
  openai: {title: "OpenAI", address: "https://api.openai.com/v1", needsKey: true, load: () => import("./providers/openai.js")},
  google: {title: "Google", address: "https://generativelanguage.googleapis.com/v1beta", needsKey: true, load: () => import("./providers/google.js")},
  ollama: {title: "Ollama", address: "http://localhost:11434", needsKey: false, load: () => import("./providers/ollama.js")},
  openrouter: {title: "OpenRouter", address: "https://openrouter.ai/api/v1", needsKey: true, load: () => import("./providers/openrouter.js")},
};

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
