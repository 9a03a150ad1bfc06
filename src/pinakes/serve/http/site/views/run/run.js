// The server, for those who run it: one page for each concern, shown to whoever may see it.
import {html, useEffect, useState} from "../../core/html.js";
import {useStyle} from "../../core/store.js";
import {Empty, Problem, Spinner} from "../../parts/basics.js";
import {hasTool} from "./load.js";
import {queueTool, undoTools} from "./tool_shapes.js";

export const title = "Run";

const managesUsers = (session) => session.server.accounts && hasTool(session, "users.query");
const seesAccess = (session) => session.server.accounts && (session.may("ManagePermissions") || session.may("ServerAdmin"));
const seesCalls = (session) => session.may("ViewAnalytics") || session.may("ServerAdmin");
const PAGES = {
  health: ["Health", () => true, () => import("./health.js")],
  analytics: ["Analytics", seesCalls, () => import("./analytics.js")],
  users: ["Users", managesUsers, () => import("./users.js")],
  roles: ["Roles", managesUsers, () => import("./roles.js")],
  access: ["Access", seesAccess, () => import("./access.js")],
  tokens: ["Tokens", seesAccess, () => import("./tokens.js")],
  jobs: ["Jobs", (session) => hasTool(session, "jobs.query"), () => import("./jobs.js")],
  downloads: ["Downloads", (session) => Boolean(queueTool(session)), () => import("./downloads.js")],
  changes: ["Changes", (session) => undoTools(session).length > 0, () => import("./changes.js")],
  audit: ["Audit", (session) => session.server.accounts && hasTool(session, "server.query"), () => import("./audit.js")],
  logs: ["Logs", (session) => hasTool(session, "server.query"), () => import("./logs.js")],
  sql: ["SQL", (session) => hasTool(session, "debug.sql"), () => import("./sql.js")],
};

export default function Run({address, session}) {
  useStyle("views/run/run.css");
  const name = address.params.page ?? "health";
  const [label, isFor, load] = PAGES[name] ?? [];
  const offered = Object.entries(PAGES).filter(([, [, isOffered]]) => isOffered(session));
  return html`<div class="run">
    <nav class="run-nav" aria-label="Run">${offered.map(([page, [text]]) => html`
      <a key=${page} href=${`/run/${page}`} aria-current=${page === name ? "page" : undefined}>${text}</a>`)}</nav>
    <div class="stack run-page">${!label ? html`<${Empty} title="There is no such page" />`
      : !isFor(session) ? html`<${Empty} title="This is not for you"><p>${label} needs a permission that you do not have, or is not offered by this server.</p><//>`
      : html`<${Page} key=${name} label=${label} load=${load} address=${address} session=${session} />`}</div>
  </div>`;
}

function Page({label, load, ...given}) {
  const [module, setModule] = useState(null), [error, setError] = useState(null);
  useEffect(() => {
    document.title = `${label} · Pinakes`;
    load().then(setModule, setError);
  }, [load]);
  return html`<h1>${label}</h1>${error ? html`<${Problem} error=${{message: "This page could not be loaded."}} retry=${() => location.reload()} />`
    : module ? html`<${module.default} ...${given} />` : html`<${Spinner} />`}`;
}
