// One's own account: logging in, what one may do, the password, the tokens, logging out.
import {LANGUAGES, chooseLanguage, language} from "../core/language.js";
import {ago} from "../core/format.js";
import {day, moment} from "../core/units.js";
import {html, useEffect, useRef, useState, t} from "../core/html.js";
import {ask, leave} from "../core/server.js";
import {createStore, useStore, useStyle} from "../core/store.js";
import {Empty, Notice, toast} from "../parts/basics.js";
import {CodeBlock} from "../parts/code.js";
import {Boxes} from "../parts/form.js";
import {confirm} from "../parts/layers.js";

export const title = t`Account`;

export default function Account({session}) {
  useStyle("views/run/run.css");
  useStyle("parts/layers.css");
  if (!session.server.accounts) {
    return html`<h1>Account</h1><${Empty} title="There are no accounts here"><p>Anyone who can reach this server can use it. <a href="/connect">Connect an assistant</a></p><//><${LanguageChoice} />`;
  }
  return html`<div class="stack">
    <header class="row"><h1 class="grow">${session.me.name}</h1><button type="button" class="plain" onClick=${logOut}>Log out</button></header>
    <div class="halves">
      <div class="stack"><${About} me=${session.me} /><section class="card"><${LanguageChoice} /></section>${session.me.credential?.kind === "session" && html`<${ChangePassword} session=${session} />`}</div>
      <${Tokens} session=${session} />
    </div>
  </div>`;
}

async function logOut() {
  try {
    await ask("POST", "/v1/logout");
  } catch (error) {
    if (error.status !== 401) return toast(error.message, {mood: "bad"});
  }
  leave();
}

function About({me}) {
  const {roles, permissions, quotas, expires_at: ends} = me;
  const facts = {
    [t`Roles`]: roles.join(", ") || t`none`,
    [t`Permissions`]: inPermissions(permissions) || t`none yet; ask an administrator`,
    [t`Requests per minute`]: quotas ? t`${quotas.read} reads and ${quotas.write} writes` : t`no limit`,
    [t`Logged in until`]: ends ? moment(ends) : t`you log out`,
  };
  return html`<section class="card"><h2>What you can do</h2><dl class="facts">${Object.entries(facts).map(([what, value]) => html`
    <dt key=${what}>${what}</dt><dd>${value}</dd>`)}</dl></section>`;
}

function ChangePassword({session}) {
  const [said, setSaid] = useState({}), [isBusy, setBusy] = useState(false);
  const send = async (event) => {
    event.preventDefault();
    const form = event.target, {password, current_password} = Object.fromEntries(new FormData(form));
    setBusy(true);
    try {
      await ask("POST", "/v1/me/password", {password, current_password});
      form.reset();
      setSaid({text: t`Password changed. You have been logged out everywhere else.`});
      session.reload();
    } catch (error) {
      setSaid({text: error.message, isBad: true, field: error.field});
    } finally {
      setBusy(false);
    }
  };
  const invalid = (name) => (said.field === name ? "true" : undefined);
  return html`<section class="card stack"><h2>Change your password</h2>
    <form class="stack" onSubmit=${send}>
      <input type="text" name="username" autocomplete="username" value=${session.me.name} hidden />
      <label>Current password <input name="current_password" type="password" autocomplete="current-password" maxlength="1024" required aria-invalid=${invalid("current_password")} /></label>
      <label>New password <input name="password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required aria-invalid=${invalid("password")} />
        <span class="hint">8 characters or more</span></label>
      <div><button type="submit" disabled=${isBusy}>Change password</button></div>
    </form>
    <p class=${said.isBad ? "error" : "quiet"} role="status">${said.text}</p>
  </section>`;
}

export const PERMISSIONS = {
  AccessCatalog: t`Search and read catalogues`, EditCatalog: t`Edit records`, RequestContent: t`Request downloads`,
  ViewAnalytics: t`See analytics`, ManagePermissions: t`Manage users and access`, ServerAdmin: t`Administer the server`,
};
export const inPermissions = (names) => names.map((name) => PERMISSIONS[name] ?? name).join(", ");

export function LanguageChoice() {
  return html`<label class="inline">Language <select onChange=${({target}) => chooseLanguage(target.value)}>${Object.entries(LANGUAGES).map(([name, label]) => html`
    <option key=${name} value=${name} lang=${name} selected=${name === language}>${label}</option>`)}</select></label>`;
}

export const made = createStore(null);
const LIFETIMES = {"30d": t`after 30 days`, "90d": t`after 90 days`, "365d": t`after a year`, never: t`never`};

export function NewToken() {
  const token = useStore(made);
  return token && html`<${Notice} mood="good">
    <p>This is the token “${token.name}”. Copy it now: it is shown only once. The configurations under <a href="/connect">Connect</a> already contain it.</p>
    <${CodeBlock} text=${token.token} what="the token" /><//>`;
}

export function TokenForm({session, onMade, initial = ""}) {
  const {permissions} = session.me;
  const [name, setName] = useState(initial), [expires, setExpires] = useState("90d"), [scopes, setScopes] = useState(permissions), [error, setError] = useState("");
  const send = async (event) => {
    event.preventDefault();
    const body = {name, expires};
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
      <label class="grow">Token name <input value=${name} onInput=${(event) => setName(event.target.value)} maxlength="64" placeholder="laptop" autocomplete="off" required /></label>
      <label>Expires <select value=${expires} onChange=${(event) => setExpires(event.target.value)}>${Object.entries(LIFETIMES).map(([value, text]) => html`
        <option key=${value} value=${value} selected=${value === expires}>${text}</option>`)}</select></label>
    </div>
    <details><summary>Limit its permissions</summary><${Boxes} legend="This token can" labelOf=${(one) => PERMISSIONS[one] ?? one} options=${permissions} chosen=${scopes} onChange=${setScopes} /></details>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div><button type="submit">Create token</button></div>
  </form>`;
}

export function Tokens({session}) {
  const [tokens, setTokens] = useState(null), [error, setError] = useState(""), heading = useRef();
  const load = () => ask("GET", `/v1/tokens?user=${encodeURIComponent(session.me.name)}`).then((answer) => setTokens(answer.tokens), (failure) => setError(failure.message));
  useEffect(() => { load(); }, []);
  const revoke = async (token) => {
    if (!await confirm(t`Anything that uses “${token.name}” loses access immediately.`, {title: t`Revoke this token?`, yes: t`Revoke`, no: t`Cancel`, danger: true})) return;
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
    <div><h2 ref=${heading} tabindex="-1">Tokens</h2><p class="quiet">Use one for each assistant or program, so that you can revoke each of them separately.</p></div>
    <${NewToken} />
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${tokens?.length > 0 && html`<ul class="rows">${tokens.map((token) => html`<li key=${token.id}>
      <div class="grow"><strong>${token.name}</strong>${token.is_this && html` <span class="chip">current</span>`}<br /><span class="quiet">${describe(token)}</span></div>
      <button type="button" class="plain small danger" aria-label=${t`Revoke ${token.name}`} onClick=${() => revoke(token)}>Revoke</button></li>`)}</ul>`}
    <${TokenForm} session=${session} onMade=${load} />
  </section>`;
}

export function describe(token) {
  const hasEnded = token.expires_at && new Date(token.expires_at) < new Date();
  return [
    token.expires_at ? hasEnded ? t`expired ${day(token.expires_at)}` : t`expires ${day(token.expires_at)}` : t`never expires`,
    token.last_used_at ? t`last used ${ago(token.last_used_at)}` : t`never used`,
    token.scopes && inPermissions(token.scopes),
    token.catalogues && t`limited to ${token.catalogues.join(", ")}`,
  ].filter(Boolean).join(" · ");
}

// Logging in; and, after a one-time password, choosing one's own.
export function LogIn({session}) {
  useStyle("views/run/run.css");
  const mustChoose = session.me?.must_change_password;
  return html`<div class="narrow">${mustChoose ? html`<${ChoosePassword} session=${session} />` : html`<${EnterPassword} session=${session} />`}</div>`;
}

function EnterPassword({session}) {
  const logIn = ({name, password}) => ask("POST", "/v1/login", {name, password});
  return html`<section class="card stack">
    <div><h1>Log in</h1><p class="quiet">Log in to search the catalogues and to create tokens for your assistants.</p></div>
    <${PasswordForm} work=${logIn} session=${session} submit="Log in">
      <label>Name <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required /></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" maxlength="1024" required /></label>
    <//>
  </section>
  <p class="quiet after">No account? Ask whoever runs this server. <a href="/connect">How to connect an assistant</a></p>`;
}

function ChoosePassword({session}) {
  const choose = ({password}) => ask("POST", "/v1/me/password", {password});
  return html`<section class="card stack">
    <div><h1>Choose your password</h1>
      <p class="quiet">You logged in with a one-time password. Choose your own to continue.</p></div>
    <${PasswordForm} key="choose" work=${choose} session=${session} submit="Save password">
      <input type="text" name="username" autocomplete="username" value=${session.me.name} hidden />
      <label>New password <input name="password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required />
        <span class="hint">8 characters or more</span></label>
    <//>
  </section>`;
}

// A form with a password: sent once at a time; afterwards the session is read anew and the focus goes to the page.
function PasswordForm({work, session, submit, children}) {
  const [error, setError] = useState(""), [isBusy, setBusy] = useState(false), form = useRef();
  useEffect(() => form.current.querySelector("input:not([hidden])").focus(), []);
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await work(Object.fromEntries(new FormData(form.current)));
      await session.reload();
      document.getElementById("main")?.focus();
    } catch (failure) {
      setError(failure.message);
      setBusy(false);
    }
  };
  return html`<form ref=${form} class="stack" onSubmit=${send}>
    ${children}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div><button type="submit" disabled=${isBusy}>${submit}</button></div>
  </form>`;
}
