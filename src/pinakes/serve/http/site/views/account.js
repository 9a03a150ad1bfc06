// One's own account: what one may do, the password, the tokens, logging out.
import {html, useState} from "../core/html.js";
import {go} from "../core/address.js";
import {moment} from "../core/format.js";
import {ask} from "../core/server.js";
import {useStyle} from "../core/store.js";
import {Empty, toast} from "../parts/basics.js";
import {made, Tokens} from "./tokens.js";

export const title = "Account";

export default function Account({session}) {
  useStyle("views/run/run.css");
  if (!session.server.accounts) {
    return html`<${Empty} title="There are no accounts here"><p>Whoever reaches this server may use it. <a href="/connect">Connect an assistant</a></p><//>`;
  }
  return html`<div class="stack">
    <header class="row"><h1 class="grow">${session.me.name}</h1><button type="button" class="plain" onClick=${() => logOut(session)}>Log out</button></header>
    <div class="halves">
      <div class="stack"><${About} me=${session.me} />${session.me.credential?.kind === "session" && html`<${ChangePassword} session=${session} />`}</div>
      <${Tokens} session=${session} />
    </div>
  </div>`;
}

async function logOut(session) {
  try {
    await ask("POST", "/v1/logout");
  } catch (error) {
    if (error.status !== 401) return toast(error.message, {mood: "bad"});
  }
  made.set(null);
  go("/");
  await session.reload();
}

function About({me}) {
  const {roles, permissions, quotas, expires_at: ends} = me;
  const facts = {
    "Roles": roles.join(", ") || "none",
    "May do": permissions.join(", ") || "nothing yet; ask an administrator",
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
