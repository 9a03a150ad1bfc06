"use strict";
// Whatever comes from the server is put in as text, by textContent alone.

const TOKEN_PLACE = "YOUR_TOKEN";
const HEALTH_EVERY_MS = 10000;
const TITLES = ["title", "name", "id"];
const TEXTS = ["text", "content", "snippet", "passage", "synopsis", "abstract", "summary", "description", "bio"];
const LEFT_OUT = ["id", "url", "title", "score", "first_line", "last_line"];
const LABELS = ["catalogue", "relevance"];
const MAY_SEE_METRICS = ["ViewAnalytics", "ServerAdmin"];
const STATUS = {ok: "All is well", degraded: "Degraded", starting: "Starting…", ending: "Ending", away: "Not reachable"};
const state = {server: null, me: null, secret: null, client: "Claude Code", search_tool: "search"};

const at = (id) => document.getElementById(id);
const show = (id, is_shown) => { at(id).hidden = !is_shown; };

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children) element.append(child);
  return element;
}

function say(form, text, mood = "bad") {
  const place = form.parentElement.querySelector(".said");
  place.textContent = text;
  place.className = `said ${mood}`;
}

class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function ask(method, path, body) {
  const options = {method, headers: {Accept: "application/json"}, credentials: "same-origin", cache: "no-store"};
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    throw new Refused(0, "The server cannot be reached.");
  }
  if (reply.status === 204) return null;
  const answer = await reply.json().catch(() => null);
  if (reply.ok || path === "/health") return answer;
  throw new Refused(reply.status, answer?.error?.message ?? `The server answered ${reply.status}.`);
}

// A form is sent once at a time, and says what became of it.
function on_submit(id, work) {
  const form = at(id);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    say(form, "");
    try {
      await work(form, Object.fromEntries(new FormData(form)));
    } catch (error) {
      say(form, error.message);
      if (error.status === 401 && state.me) await look_who();
    } finally {
      button.disabled = false;
    }
  });
}

// Health

async function look_at_health() {
  let health;
  try {
    health = await ask("GET", "/health");
  } catch {
    health = null;
  }
  const status = health?.status ?? "away";
  at("status").dataset.status = status;
  at("status-text").textContent = STATUS[status] ?? status;
  const parts = (health?.degraded ?? []).map((one) => make("li", {}, `${one.part}: ${one.reason}`));
  at("degraded").replaceChildren(...parts);
  show("degraded", parts.length > 0);
}

function keep_looking_at_health() {
  look_at_health();
  setInterval(() => { if (!document.hidden) look_at_health(); }, HEALTH_EVERY_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look_at_health(); });
}

// Connecting

function copy_button(text, what) {
  const button = make("button", {type: "button", class: "copy", "aria-label": `Copy ${what}`}, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text)) ? "Copied" : "Select it";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers keep the clipboard from pages without TLS; this is the older way.
    const area = make("textarea", {readonly: "", class: "unseen"});
    area.value = text;
    document.body.append(area);
    area.select();
    const is_done = document.execCommand("copy");
    area.remove();
    return is_done;
  }
}

function bearer() { return `Bearer ${state.secret ?? TOKEN_PLACE}`; }

function http_entry(url, more = {}) {
  return state.server.accounts ? {...more, url, headers: {Authorization: bearer()}} : {...more, url};
}

function header_option(option) { return state.server.accounts ? ` \\\n  ${option} "Authorization: ${bearer()}"` : ""; }

function clients() {
  const mcp = state.server.mcp, rest = state.server.rest;
  const curl = {
    "REST": ["With curl, or any program; /openapi.json describes every tool.",
      `curl ${rest}/${state.search_tool}${header_option("-H")} \\\n  -H "Content-Type: application/json" \\\n  -d '{"query": "…"}'`],
  };
  if (!mcp) return curl;
  const url = mcp.streamable_http;
  return {
    "Claude Code": ["Run once, for all your projects.", `claude mcp add --scope user --transport http pinakes \\\n  ${url}${header_option("--header")}`],
    "Cursor": ["In ~/.cursor/mcp.json:", JSON.stringify({mcpServers: {pinakes: http_entry(url)}}, null, 2)],
    "VS Code": ["In .vscode/mcp.json:", JSON.stringify({servers: {pinakes: http_entry(url, {type: "http"})}}, null, 2)],
    "Other": ["Most clients take a configuration like this one:",
      JSON.stringify({mcpServers: {pinakes: http_entry(url, {type: "streamable-http"})}}, null, 2)],
    ...curl,
  };
}

function draw_connect() {
  const {mcp, rest, accounts} = state.server;
  const addresses = mcp
    ? {"Streamable HTTP": mcp.streamable_http, "SSE": mcp.sse, "WebSocket": mcp.websocket, "REST": rest}
    : {"REST": rest};
  at("addresses").replaceChildren(...Object.entries(addresses).map(([name, url]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, make("code", {}, url)), copy_button(url, `the address of ${name}`))));
  at("connect-how").textContent = accounts
    ? (state.me ? "Your assistant needs an address and a token of its own." : "Your assistant needs an address and a token; log in to make one.")
    : "No accounts here: whoever reaches this server may use it, without a token.";
  draw_clients();
}

function draw_clients() {
  const known = clients();
  if (!(state.client in known)) state.client = Object.keys(known)[0];
  at("clients").replaceChildren(...Object.keys(known).map((name) => client_tab(name)));
  const [how, text] = known[state.client];
  at("client").replaceChildren(
    make("p", {class: "quiet"}, how),
    make("div", {class: "block"}, make("pre", {}, text), copy_button(text, "the configuration")));
}

function client_tab(name) {
  const is_chosen = name === state.client;
  const tab = make("button", {type: "button", role: "tab", "aria-selected": is_chosen, "aria-controls": "client", tabindex: is_chosen ? 0 : -1}, name);
  const choose = (chosen) => {
    state.client = chosen;
    draw_clients();
    at("clients").querySelector("[aria-selected=true]").focus();
  };
  tab.addEventListener("click", () => choose(name));
  tab.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const names = Object.keys(clients());
    choose(names[(names.indexOf(name) + step + names.length) % names.length]);
  });
  return tab;
}

// Who is here

async function look_who() {
  state.server = await ask("GET", "/");
  state.me = state.server.user === null ? null : await ask("GET", "/v1/me");
  at("version").textContent = state.server.version;
  const is_known = state.me !== null, has_accounts = state.server.accounts;
  show("intro", !is_known);
  show("log-in", has_accounts && !is_known);
  show("who", has_accounts && is_known);
  const must_choose = is_known && state.me.must_change_password;
  show("tokens", has_accounts && is_known && !must_choose);
  show("account", has_accounts && is_known);
  show("search", false);
  show("tools", false);
  show("first-password", must_choose);
  show("metrics-link", is_known && MAY_SEE_METRICS.some((one) => state.me.permissions.includes(one)));
  draw_connect();
  if (!is_known) return;
  draw_account();
  if (must_choose) return;
  await Promise.all([look_at_tools(), has_accounts ? look_at_tokens() : null]);
}

function draw_account() {
  const {name, roles, permissions, quotas, expires_at, must_change_password, credential} = state.me;
  at("who-name").textContent = name;
  at("account-name").textContent = name;
  const facts = {
    "Roles": roles.join(", ") || "none",
    "May do": permissions.join(", ") || (must_change_password ? "choose a password" : "nothing yet; ask an administrator"),
    "Calls a minute": quotas ? `${quotas.read} reads, ${quotas.write} writes` : "as much as you like",
    "Logged in until": expires_at ? moment(expires_at) : "you log out",
  };
  at("account-facts").replaceChildren(...Object.entries(facts).flatMap(([what, value]) =>
    [make("dt", {}, what), make("dd", {}, value)]));
  show("password-part", credential?.kind === "session" && !must_change_password);
  for (const field of document.querySelectorAll("input[name=username]")) field.value = name;
  at("scopes").replaceChildren(...permissions.map((permission) => {
    const box = make("input", {type: "checkbox", name: "scopes", value: permission, checked: ""});
    return make("label", {}, box, permission);
  }));
}

function moment(text) {
  return new Date(text).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "short"});
}

function day(text) { return new Date(text).toLocaleDateString(undefined, {dateStyle: "medium"}); }

on_submit("log-in-form", async (form, {name, password}) => {
  await ask("POST", "/v1/login", {name, password});
  form.reset();
  await look_who();
  look_at_health();
});

async function change_password(form, body) {
  await ask("POST", "/v1/me/password", body);
  form.reset();
  await look_who();
}

on_submit("first-password-form", (form, {password}) => change_password(form, {password}));
on_submit("password-form", async (form, {password, current_password}) => {
  await change_password(form, {password, current_password});
  say(form, "Your password is changed; you are logged out everywhere else.", "good");
});

at("log-out").addEventListener("click", async () => {
  try {
    await ask("POST", "/v1/logout");
  } catch (error) {
    if (error.status !== 401) return complain(error);
  }
  location.reload();
});

// Tokens

async function look_at_tokens() {
  const {tokens} = await ask("GET", "/v1/tokens");
  at("token-list").replaceChildren(...tokens.map(token_item));
}

function token_item(token) {
  const ends = token.expires_at ? `${new Date(token.expires_at) < new Date() ? "ended" : "ends"} ${day(token.expires_at)}` : "lasts until revoked";
  const used = token.last_used_at ? `used ${moment(token.last_used_at)}` : "not used yet";
  const may = token.scopes ? [token.scopes.join(", ")] : [];
  const revoke = make("button", {type: "button", class: "plain danger", "aria-label": `Revoke ${token.name}`}, "Revoke");
  revoke.addEventListener("click", () => revoke_token(token, revoke));
  return make("li", {},
    make("span", {}, make("span", {class: "name"}, token.name), make("span", {class: "more"}, [ends, used, ...may].join(" · "))), revoke);
}

async function revoke_token(token, button) {
  if (button.textContent === "Revoke") {
    button.textContent = "Really?";
    setTimeout(() => { button.textContent = "Revoke"; }, 4000);
    return;
  }
  try {
    await ask("DELETE", `/v1/tokens/${encodeURIComponent(token.id)}`);
    await look_at_tokens();
  } catch (error) {
    say(at("token-form"), error.message);
  }
}

on_submit("token-form", async (form, {name, days}) => {
  const chosen = [...form.querySelectorAll("input[name=scopes]:checked")].map((box) => box.value);
  const body = {name};
  if (days) body.expires_in_days = Number(days);
  if (chosen.length < state.me.permissions.length) body.scopes = chosen;
  const made = await ask("POST", "/v1/tokens", body);
  form.reset();
  state.secret = made.token;
  at("new-token").replaceChildren(
    make("p", {}, `This is the token “${made.name}”. It is shown this once; the configuration under “Connect” has it now.`),
    make("div", {class: "block"}, make("pre", {}, made.token), copy_button(made.token, "the token")));
  show("new-token", true);
  draw_connect();
  await look_at_tokens();
});

// Tools and searching

async function look_at_tools() {
  const {tools} = await ask("GET", "/v1/tools");
  at("tool-count").textContent = tools.length;
  at("tool-list").replaceChildren(...tools.map((tool) => make("li", {},
    make("span", {class: "name"}, tool.name),
    make("span", {class: "more"}, tool.description || tool.title || ""))));
  show("tools", tools.length > 0);
  const searching = tools.filter(is_search);
  searching.sort((one, other) => (other.name === "search") - (one.name === "search"));
  at("search-tool").replaceChildren(...searching.map((tool) =>
    make("option", {value: tool.name}, tool.name === "search" ? "All catalogues" : tool.title || in_words(tool.name))));
  show("search-tool", searching.length > 1);
  state.search_tool = searching[0]?.name ?? state.search_tool;
  draw_clients();
  show("search", searching.length > 0);
}

function in_words(name) {
  const words = name.replace(/[._]+/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function is_search(tool) {
  const required = tool.inputSchema.required ?? [];
  return /search|query/i.test(tool.name) && required.length === 1 && required[0] === "query";
}

on_submit("search-form", async (form, {query, tool}) => {
  at("results").replaceChildren();
  show("raw", false);
  const said = at("search-said");
  said.className = "said quiet";
  said.textContent = "Searching…";
  const started = performance.now();
  const answer = await ask("POST", `/v1/tools/${encodeURIComponent(tool)}`, {query});
  const found = first_list(answer);
  const took = `${Math.max(1, Math.round(performance.now() - started))} ms`;
  const notes = [...(answer.notes ?? []), answer.hint ?? ""].filter(Boolean);
  const is_nearest = answer.evidence === "none" && found.length > 0;
  const count = found.length === 0 ? "Nothing found" : is_nearest ? `Nothing here answers this; the nearest ${found.length}` : `${found.length} shown`;
  said.textContent = [`${count} in ${took}`, ...notes].join(" · ");
  at("results").replaceChildren(...found.map(result_item));
  at("raw-text").textContent = JSON.stringify(answer, null, 2);
  show("raw", true);
});

function first_list(answer) {
  const lists = Object.values(answer).filter((value) => Array.isArray(value));
  return lists.find((list) => list.length > 0 && list.every((item) => item !== null && typeof item === "object")) ?? [];
}

function result_item(found) {
  const result = found.metadata && typeof found.metadata === "object" ? {...found.metadata, ...found} : found;
  const is_text = (key) => typeof result[key] === "string" && result[key] !== "";
  const title = TITLES.find(is_text), text = TEXTS.find((key) => is_text(key) && key !== title);
  const item = make("li", {}, make("h3", {}, title ? result[title] : "Untitled"));
  if (text) item.append(make("p", {}, shortened(result[text])));
  item.append(make("div", {class: "chips"}, ...chips(result, [...LEFT_OUT, title, text])));
  return item;
}

function shortened(text) {
  const plain = text.replace(/(^|\s)#{1,6}\s+/gu, "$1").trim();
  return plain.length > 300 ? `${plain.slice(0, 300).replace(/\s\S*$/u, "")} …` : plain;
}

function chips(result, left_out) {
  const is_short = (value) => ["string", "number"].includes(typeof value) && value !== "" && String(value).length <= 60;
  const shown = Object.entries(result).filter(([key, value]) => !left_out.includes(key) && is_short(value));
  const labels = shown.filter(([key]) => LABELS.includes(key)).map(([, value]) =>
    make("span", {class: "chip strong"}, String(value).toLowerCase()));
  const others = shown.filter(([key]) => !LABELS.includes(key)).slice(0, 5).map(([key, value]) =>
    make("span", {class: "chip"}, make("b", {}, spelt_out(key)), ` ${value}`));
  const id = result.id === undefined ? [] : [make("code", {class: "id"}, String(result.id))];
  return [...labels, ...others, ...id];
}

function spelt_out(key) { return key.replace(/_/gu, " ").replace(/([a-z])([A-Z])/gu, "$1 $2").toLowerCase(); }

// The beginning

function complain(error) {
  at("problem").textContent = error.message;
  show("problem", true);
}

keep_looking_at_health();
look_who().catch(complain);
