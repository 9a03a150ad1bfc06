// Which model answers, and with which key.
import {html, useEffect, useState} from "../../core/html.js";
import {useStore} from "../../core/store.js";
import {Notice} from "../../parts/basics.js";
import {chosen, config, findProblem, forgetKeys, PROVIDERS, saveConfig} from "./config.js";

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
      const {models} = await PROVIDERS[settings.provider].load();
      setList({models: await models(settings, stopper.signal)});
    } catch (error) {
      if (!stopper.signal.aborted) setList({error});
    }
  }, 400); // while a key is typed, each letter would be a request
  return () => { clearTimeout(timer); stopper.abort(); };
}
