// How assistants and programs reach this server: addresses, and configurations that hold the token that was just made.
import {html, useState, t} from "../core/html.js";
import {useStore, useStyle} from "../core/store.js";
import {CodeBlock, CopyButton} from "../parts/code.js";
import {Tabs} from "../parts/layers.js";
import {LanguageChoice, made, NewToken, TokenForm} from "./account.js";

export const title = t`Connect`;
const TOKEN_PLACE = "YOUR_TOKEN";

export default function Connect({session}) {
  useStyle("views/run/run.css");
  const {server, me} = session, isIn = me && !me.must_change_password;
  const [client, setClient] = useState("Claude Code"), token = useStore(made);
  const known = clients(session, token?.token), chosen = known[client] ? client : Object.keys(known)[0];
  return html`<div class="stack">
    <header><h1>Connect your assistant</h1>
      <p class="quiet">For assistants that support the Model Context Protocol (MCP), and for programs that use HTTP.
        ${server.accounts ? t` Your assistant needs an address and a token of its own.` : t` There are no accounts here: anyone who can reach this server can use it without a token.`}
        ${server.accounts && !isIn && html` <a href="/account">Log in to create one.</a>`}</p></header>
    <div class=${server.accounts && isIn ? "halves" : "stack"}>
      <section class="card"><h2>Configuration</h2>
        <${Tabs} tabs=${Object.fromEntries(Object.keys(known).map((name) => [name, name]))} chosen=${chosen} onChoose=${setClient} label="Client">
          <${Client} ...${known[chosen]} /><//></section>
      ${server.accounts && isIn && html`<section class="card stack"><div><h2>Token</h2>
        <p class="quiet">Create one here and the configuration contains it at once. <a href="/account">Your tokens</a></p></div>
        <${NewToken} /><${TokenForm} session=${session} initial=${token ? "" : t`my assistant`} /></section>`}
    </div>
    <section class="card"><h2>Addresses</h2><ul class="rows">${addresses(server).map(([name, url]) => html`<li key=${name}>
      <div class="grow"><span class="quiet">${name}</span><br /><code>${url}</code></div><${CopyButton} text=${url} what=${t`the address of ${name}`} /></li>`)}</ul>
      <p class="quiet after"><a href="/docs/" data-document>Documentation</a> · <a href="/openapi.json" data-document>OpenAPI</a> · <a href="/health" data-document>Health</a>${session.may("ViewAnalytics") || session.may("ServerAdmin") ? html` · <a href="/metrics" data-document>Metrics</a>` : ""}</p></section>
    ${!server.accounts && html`<${LanguageChoice} />`}
  </div>`;
}

function Client({how, text, install}) {
  return html`<div class="stack"><p class="quiet">${how}</p>
    <${CodeBlock} text=${text} what="the configuration" />
    ${install && html`<p><a class="button plain" href=${install.href}>${install.label}</a></p>`}</div>`;
}

function addresses({mcp, rest}) {
  const all = mcp ? [["Streamable HTTP", mcp.streamable_http], ["SSE", mcp.sse], ["WebSocket", mcp.websocket]] : [];
  return [...all, ["REST", rest]];
}

function clients({server, tools}, secret) {
  const bearer = `Bearer ${secret ?? TOKEN_PLACE}`, url = server.mcp?.streamable_http;
  const headers = server.accounts ? {headers: {Authorization: bearer}} : {};
  const option = (name) => (server.accounts ? ` \\\n  ${name} "Authorization: ${bearer}"` : "");
  const written = (value) => JSON.stringify(value, null, 2);
  const search = tools.find((tool) => tool.name === "search")?.name ?? tools.find(isSearch)?.name ?? "search";
  const rest = {REST: {
    how: t`With curl or any other program; /openapi.json describes every tool.`,
    text: `curl ${server.rest}/${search}${option("-H")} \\\n  -H "Content-Type: application/json" \\\n  -d '{"query": "…"}'`,
  }};
  if (!url) return rest;
  const code = {name: "stackroom", type: "http", url, ...headers};
  return {
    "Claude Code": {how: t`Run this once, for all your projects.`, text: `claude mcp add --scope user --transport http stackroom \\\n  ${url}${option("--header")}`},
    "Cursor": {
      how: t`In ${"~/.cursor/mcp.json"}:`, text: written({mcpServers: {stackroom: {url, ...headers}}}),
      install: {label: t`Add to ${"Cursor"}`, href: `cursor://anysphere.cursor-deeplink/mcp/install?name=stackroom&config=${encodeURIComponent(btoa(JSON.stringify({url, ...headers})))}`},
    },
    "VS Code": {
      how: t`In ${".vscode/mcp.json"}:`, text: written({servers: {stackroom: {type: "http", url, ...headers}}}),
      install: {label: t`Add to ${"VS Code"}`, href: `vscode:mcp/install?${encodeURIComponent(JSON.stringify(code))}`},
    },
    [t`Other`]: {how: t`Most clients accept a configuration like this:`, text: written({mcpServers: {stackroom: {type: "streamable-http", url, ...headers}}})},
    ...rest,
  };
}

function isSearch({name, inputSchema}) {
  return /search|query/iu.test(name) && inputSchema.required?.length === 1 && inputSchema.required[0] === "query";
}
