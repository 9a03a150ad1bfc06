// One's own account: logging in, what one may do, the password, the tokens, logging out.
import {ago} from "../core/format.js";
import {day, moment} from "../core/units.js";
import {html, useEffect, useRef, useState} from "../core/html.js";
import {ask, leave} from "../core/server.js";
import {createStore, useStore, useStyle} from "../core/store.js";
import {Empty, Notice, toast} from "../parts/basics.js";
import {CodeBlock} from "../parts/code.js";
import {Boxes} from "../parts/form.js";
import {confirm} from "../parts/layers.js";

export const title = "Account";

export default function Account({session}) {
  useStyle("views/run/run.css");
  useStyle("parts/layers.css");
  if (!session.server.accounts) {
    return html`<h1>Account</h1><${Empty} title="There are no accounts here"><p>Whoever reaches this server may use it. <a href="/connect">Connect an assistant</a></p><//>`;
  }
  return html`<div class="stack">
    <header class="row"><h1 class="grow">${session.me.name}</h1><button type="button" class="plain" onClick=${logOut}>Log out</button></header>
    <div class="halves">
      <div class="stack"><${About} me=${session.me} />${session.me.credential?.kind === "session" && html`<${ChangePassword} session=${session} />`}</div>
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

const ACTIONS = {
  AccessCatalog: "search and read", EditCatalog: "edit records", RequestContent: "ask for downloads", ViewAnalytics: "see what is asked",
  ManagePermissions: "manage users and their rights", ServerAdmin: "run the server",
};

function About({me}) {
  const {roles, permissions, quotas, expires_at: ends} = me;
  const facts = {
    "Roles": roles.join(", ") || "none",
    "May do": permissions.map((one) => ACTIONS[one] ?? one).join(", ") || "nothing yet; ask an administrator",
    "Calls a minute": quotas ? `${quotas.read} reads, ${quotas.write} writes` : "as many as you like",
    "Logged in until": ends ? moment(ends) : "you log out",
  };
  return html`<section class="card"><h2>What you may do</h2><dl class="facts">${Object.entries(facts).map(([what, value]) => html`
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
      setSaid({text: "Your password is changed; you are logged out everywhere else."});
      session.reload();
    } catch (error) {
      setSaid({text: error.message, isBad: true, field: /^'(\w+)'/u.exec(error.message)?.[1]});
    } finally {
      setBusy(false);
    }
  };
  const invalid = (name) => (said.field === name ? "true" : undefined);
  return html`<section class="card stack"><h2>Change your password</h2>
    <form class="stack" onSubmit=${send}>
      <input type="text" name="username" autocomplete="username" value=${session.me.name} hidden />
      <label>Password until now <input name="current_password" type="password" autocomplete="current-password" maxlength="1024" required aria-invalid=${invalid("current_password")} /></label>
      <label>New password <input name="password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required aria-invalid=${invalid("password")} />
        <span class="hint">8 characters or more</span></label>
      <div><button type="submit" disabled=${isBusy}>Change it</button></div>
    </form>
    <p class=${said.isBad ? "error" : "quiet"} role="status">${said.text}</p>
  </section>`;
}

export const made = createStore(null);
const LIFETIMES = {"30d": "30 days", "90d": "90 days", "365d": "a year", never: "until revoked"};

export function NewToken() {
  const token = useStore(made);
  return token && html`<${Notice} mood="good">
    <p>This is the token “${token.name}”. It is shown this once; the configurations under <a href="/connect">Connect</a> have it now.</p>
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
      <label class="grow">Name of the token <input value=${name} onInput=${(event) => setName(event.target.value)} maxlength="64" placeholder="laptop" autocomplete="off" required /></label>
      <label>Lasts <select value=${expires} onChange=${(event) => setExpires(event.target.value)}>${Object.entries(LIFETIMES).map(([value, text]) => html`
        <option key=${value} value=${value} selected=${value === expires}>${text}</option>`)}</select></label>
    </div>
    <details><summary>It may do less than I may</summary><${Boxes} legend="The token may" options=${permissions} chosen=${scopes} onChange=${setScopes} /></details>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div><button type="submit">Make a token</button></div>
  </form>`;
}

export function Tokens({session}) {
  const [tokens, setTokens] = useState(null), [error, setError] = useState(""), heading = useRef();
  const load = () => ask("GET", `/v1/tokens?user=${encodeURIComponent(session.me.name)}`).then((answer) => setTokens(answer.tokens), (failure) => setError(failure.message));
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

// Logging in; and, after a one-time password, choosing one's own.
export function LogIn({session}) {
  useStyle("views/run/run.css");
  const mustChoose = session.me?.must_change_password;
  return html`<div class="narrow">${mustChoose ? html`<${ChoosePassword} session=${session} />` : html`<${EnterPassword} session=${session} />`}</div>`;
}

function EnterPassword({session}) {
  const logIn = ({name, password}) => ask("POST", "/v1/login", {name, password});
  return html`<section class="card stack">
    <div><h1>Log in</h1><p class="quiet">To search the catalogues here, and to make a token for your assistant.</p></div>
    <${PasswordForm} work=${logIn} session=${session} submit="Log in">
      <label>Name <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required /></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" maxlength="1024" required /></label>
    <//>
  </section>
  <p class="quiet after">No account? Whoever runs this server can make one. <a href="/connect">How to connect an assistant</a></p>`;
}

function ChoosePassword({session}) {
  const choose = ({password}) => ask("POST", "/v1/me/password", {password});
  return html`<section class="card stack">
    <div><h1>Choose your password</h1>
      <p class="quiet">The password that you logged in with works only once, and allows nothing but choosing your own.</p></div>
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
