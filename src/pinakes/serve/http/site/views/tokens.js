// The tokens of the person who is here: making one shows its secret once, and puts it into the configurations.
import {html, useEffect, useRef, useState} from "../core/html.js";
import {ago, day} from "../core/format.js";
import {ask} from "../core/server.js";
import {createStore, useStore} from "../core/store.js";
import {CodeBlock, Notice} from "../parts/basics.js";
import {Boxes} from "../parts/form.js";
import {confirm} from "../parts/layers.js";

export const made = createStore(null);
const LIFETIMES = {30: "30 days", 90: "90 days", 365: "a year", "": "until revoked"};

export function NewToken() {
  const token = useStore(made);
  return token && html`<${Notice} mood="good">
    <p>This is the token “${token.name}”. It is shown this once; the configurations under <a href="/connect">Connect</a> have it now.</p>
    <${CodeBlock} text=${token.token} what="the token" /><//>`;
}

export function TokenForm({session, onMade, initial = ""}) {
  const {permissions} = session.me;
  const [name, setName] = useState(initial), [days, setDays] = useState("90"), [scopes, setScopes] = useState(permissions), [error, setError] = useState("");
  const send = async (event) => {
    event.preventDefault();
    const body = {name};
    if (days) body.expires_in_days = Number(days);
    if (scopes.length < permissions.length) body.scopes = scopes;
    try {
      made.set(await ask("POST", "/v1/tokens", body));
      setError("");
      setName("");
      onMade?.();
    } catch (failure) {
      setError(failure.message);
    }
  };
  return html`<form class="stack" onSubmit=${send}>
    <div class="row">
      <label class="grow">Name of the token <input value=${name} onInput=${(event) => setName(event.target.value)} maxlength="64" placeholder="laptop" autocomplete="off" required /></label>
      <label>Lasts <select value=${days} onChange=${(event) => setDays(event.target.value)}>${Object.entries(LIFETIMES).map(([value, text]) => html`
        <option key=${value} value=${value} selected=${value === days}>${text}</option>`)}</select></label>
    </div>
    <details><summary>It may do less than I may</summary><${Boxes} legend="The token may" options=${permissions} chosen=${scopes} onChange=${setScopes} /></details>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div><button type="submit">Make a token</button></div>
  </form>`;
}

export function Tokens({session}) {
  const [tokens, setTokens] = useState(null), [error, setError] = useState(""), heading = useRef();
  const load = () => ask("GET", "/v1/tokens").then((answer) => setTokens(answer.tokens), (failure) => setError(failure.message));
  useEffect(() => { load(); }, []);
  const revoke = async (token) => {
    if (!await confirm(`Whatever uses “${token.name}” is refused from now on.`, {title: "Revoke this token?", yes: "Revoke", no: "Keep it", danger: true})) return;
    try {
      await ask("DELETE", `/v1/tokens/${encodeURIComponent(token.id)}`);
      if (made.get()?.id === token.id) made.set(null);
      await load();
      heading.current?.focus();
    } catch (failure) {
      setError(failure.message);
    }
  };
  return html`<section class="card stack">
    <div><h2 ref=${heading} tabindex="-1">Tokens</h2><p class="quiet">One for each assistant or program, so that you can revoke it alone.</p></div>
    <${NewToken} />
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${tokens?.length > 0 && html`<ul class="rows">${tokens.map((token) => html`<li key=${token.id}>
      <div class="grow"><strong>${token.name}</strong>${token.is_this && html` <span class="chip">this one</span>`}<br /><span class="quiet">${describe(token)}</span></div>
      <button type="button" class="plain small danger" aria-label=${`Revoke ${token.name}`} onClick=${() => revoke(token)}>Revoke</button></li>`)}</ul>`}
    <${TokenForm} session=${session} onMade=${load} />
  </section>`;
}

export function describe(token) {
  const hasEnded = token.expires_at && new Date(token.expires_at) < new Date();
  return [
    token.expires_at ? `${hasEnded ? "ended" : "ends"} ${day(token.expires_at)}` : "lasts until revoked",
    token.last_used_at ? `used ${ago(token.last_used_at)}` : "not used yet",
    token.scopes?.join(", "),
    token.catalogues && `only ${token.catalogues.join(", ")}`,
  ].filter(Boolean).join(" · ");
}
