// Logging in; and, after a one-time password, choosing one's own.
import {html, useEffect, useRef, useState} from "../core/html.js";
import {ask} from "../core/server.js";
import {useStyle} from "../core/store.js";

export const title = "Log in";

export default function LogIn({session}) {
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
