import {html, useEffect, useState, t} from "../core/html.js";
import {useKeys} from "../core/keys.js";
import {askHealth} from "../core/server.js";
import {docks, hideDock, showDock, useStore} from "../core/store.js";
import {Icon} from "./basics.js";

const HEALTH_EVERY_MS = 10000;
const STATUS = {ok: t`All is well`, degraded: t`Degraded`, starting: t`Starting…`, ending: t`Shutting down`, away: t`Unreachable`};
const RUN_ACTIONS = ["ServerAdmin", "ViewAnalytics", "ManagePermissions"];

export function Bar({session, address}) {
  const {server, me} = session;
  const hasChat = me && !me.must_change_password && server.mcp && server.chat !== false;
  return html`<header class="bar">
    <a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" /><path d="M8 9h16M8 16h16M8 23h9" /></svg>Stackroom</a>
    <nav aria-label="Main">${links(session).map(([path, label]) => html`
      <a key=${path} href=${path} aria-current=${isWithin(address.path, path) ? "page" : undefined}>${label}</a>`)}</nav>
    <span class="spring"></span>
    <${Health} />
    ${hasChat && html`<${ChatButton} />`}
    ${server?.accounts && me && html`<a class="who" href="/account"><${Icon} name="user" /><span>${me.name}</span></a>`}
  </header>`;
}

function links(session) {
  const {server, me, tools, may} = session;
  const isIn = me && !me.must_change_password;
  return [
    isIn && ["/", t`Catalogues`],
    isIn && server.audio && ["/music", t`Music`],
    isIn && (!server.accounts || may("ServerAdmin")) && ["/add", t`Add`],
    isIn && tools.length > 0 && ["/tools", t`Tools`],
    isIn && RUN_ACTIONS.some(may) && ["/run", t`Run`],
    server && ["/connect", t`Connect`],
  ].filter(Boolean);
}

function isWithin(path, link) {
  return link === "/" ? path === "/" || path.startsWith("/c/") || path === "/search" : path === link || path.startsWith(`${link}/`);
}

function ChatButton() {
  const isOpen = useStore(docks, (value) => value.chat);
  return html`<button type="button" class="bar-button" aria-pressed=${isOpen} onClick=${() => (isOpen ? hideDock : showDock)("chat")}>
    <${Icon} name="chat" /> Chat</button>`;
}

function Health() {
  const [health, setHealth] = useState(null);
  useEffect(() => {
    const look = () => { if (!document.hidden) askHealth().then(setHealth, () => setHealth({status: "away"})); };
    look();
    const timer = setInterval(look, HEALTH_EVERY_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  const status = health?.status ?? "unknown", label = STATUS[status] ?? t`Checking…`;
  const reasons = (health?.degraded ?? []).map((one) => `${one.part}: ${one.reason}`);
  return html`<details class="health">
    <summary class="pill" data-status=${status}><span class="dot" aria-hidden="true"></span><span class="pill-text">${label}</span></summary>
    <div class="popover">${reasons.length ? html`<ul>${reasons.map((one) => html`<li>${one}</li>`)}</ul>` : html`<p>${label}.</p>`}</div>
  </details>`;
}

// "/" goes to the search box of the view, "?" lists the keys.
export function KeysHelp() {
  const [List, setList] = useState(null);
  useKeys(t`Page`, {
    "/": [t`search`, focusSearch],
    "?": [t`list the shortcuts`, () => void import("./layers.js").then((found) => setList(() => found.KeysList))],
  });
  return List && html`<${List} onClose=${() => setList(null)} />`;
}

function focusSearch() {
  const box = document.querySelector("input[type=search]");
  box?.focus();
  box?.select();
  return box !== null;
}
