// The frame of the page: the bar, the view that the address names, and the docks beside it.
import {html, render, useEffect, useErrorBoundary, useRef, useState, t} from "./core/html.js";
import {address as current, useAddress} from "./core/address.js";
import {takeFocus} from "./core/keys.js";
import {callEarly, reload, useSession} from "./core/server.js";
import {docks, useStore} from "./core/store.js";
import {Bar, KeysHelp} from "./parts/bar.js";
import {Empty, Problem, Spinner, Toasts} from "./parts/basics.js";

const VIEWS = [
  [/^\/(?:search)?$/u, () => import("./views/home.js")],
  [/^\/c\/(?<catalogue>[^/]+)$/u, () => import("./views/explore/explore.js")],
  [/^\/taste\/(?<catalogue>[^/]+)$/u, () => import("./views/taste/taste.js")],
  [/^\/manage\/(?<catalogue>[^/]+)$/u, () => import("./views/manage/manage.js")],
  [/^\/music(?:\/(?<page>.+))?$/u, () => import("./views/music/music.js")],
  [/^\/run(?:\/(?<page>[^/]+))?$/u, () => import("./views/run/run.js")],
  [/^\/tools(?:\/(?<name>[^/]+))?$/u, () => import("./views/tools/tools.js")],
  [/^\/add$/u, () => import("./views/add/add.js")],
  [/^\/connect$/u, () => import("./views/connect.js")],
  [/^\/account$/u, () => import("./views/account.js")],
];
const DOCKS = {
  tray: () => import("./views/taste/store.js"),
  player: () => import("./views/music/tracks.js").then(({Player}) => ({default: Player})),
  chat: () => import("./views/chat/drawer.js"),
};
const RECORD = () => import("./views/record/record.js");
const LOG_IN = () => import("./views/account.js").then(({LogIn}) => ({default: LogIn, title: t`Log in`}));
const OPEN_TO_ALL = /^\/connect$/u;

function App() {
  const session = useSession(), address = useAddress(), shownDocks = useStore(docks);
  const place = find(address.path);
  const isShut = session.server?.accounts && (!session.me || session.me.must_change_password);
  const mustLogIn = isShut && !OPEN_TO_ALL.test(address.path);
  useEffect(() => { reload(); }, []);
  return html`
    <a class="skip" href="#main" data-document>Skip to content</a>
    <${Bar} session=${session} address=${address} />
    <div class=${`frame ${shownDocks.chat && !isShut ? "with-chat" : ""}`}>
      <main id="main" tabindex="-1">
        ${session.problem ? html`<${Problem} error=${session.problem} retry=${reload} />`
          : session.loading ? html`<${Spinner} />`
          : mustLogIn ? html`<${Lazy} key="log-in" load=${LOG_IN} session=${session} address=${address} />`
          : place ? html`<${Lazy} key=${place.load} load=${place.load} session=${session} address=${{...address, params: place.params}} />`
          : html`<${Empty} title="Page not found"><p><a href="/">Go to the catalogues</a></p><//>`}
      </main>
      ${session.me && !isShut && address.query.get("open") && html`
        <${Lazy} key="record" load=${RECORD} isQuiet session=${session} address=${address} />`}
      ${session.me && !isShut && Object.keys(DOCKS).map((name) => shownDocks[name] && html`
        <${Lazy} key=${name} load=${DOCKS[name]} isQuiet session=${session} address=${address} />`)}
    </div>
    <${KeysHelp} />
    <${Toasts} />`;
}

function find(path) {
  for (const [pattern, load] of VIEWS) {
    const found = pattern.exec(path);
    if (found) return {load, params: found.groups ?? {}};
  }
  return null;
}

// A part of the page that is loaded when it is first shown.
function Lazy({load, isQuiet, ...given}) {
  const [module, setModule] = useState(null), [error, setError] = useState(null);
  const [failure, reset] = useErrorBoundary((thrown) => console.error(thrown));
  const isHere = useRef(true), {url} = given.address;
  useEffect(() => {
    load().then((found) => isHere.current && setModule(found), setError);
    return () => { isHere.current = false; };
  }, [load]);
  useEffect(() => {
    if (module?.title) document.title = `${module.title} · Stackroom`;
  }, [module]);
  useEffect(() => { if (failure) reset(); }, [url]);
  if (error ?? failure) {
    const told = html`<${Problem} error=${error ?? {message: t`This part of the page failed: ${failure.message}`}} retry=${error ? () => location.reload() : reset} />`;
    return isQuiet ? html`<div class="toasts">${told}</div>` : told;
  }
  if (!module) return !isQuiet && html`<${Spinner} />`;
  return html`<${module.default} ...${given} />`;
}

// After a change of the page the focus goes to its beginning, as it would with a new document.
let before = location.pathname;
window.addEventListener("popstate", () => { before = location.pathname; });
window.addEventListener("pagechange", () => {
  if (location.pathname === before) return;
  before = location.pathname;
  window.scrollTo(0, 0);
  takeFocus(document.getElementById("main"));
});

// The data of the first view is asked for at once: `calls` of a module are those that it begins with.
const first = find(current().path), begin = ({calls}) => calls && callEarly(calls({...current(), params: first?.params}));
first?.load().then(begin, () => {});
if (current().query.get("open")) RECORD().then(begin, () => {});
render(html`<${App} />`, document.getElementById("app"));
