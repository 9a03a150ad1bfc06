// Who may do what: users, roles, who sees which catalogue, and everybody's sessions and tokens.
import {html, useState} from "../../core/html.js";
import {day, plural} from "../../core/format.js";
import {ask, callTool} from "../../core/server.js";
import {CodeBlock, Notice} from "../../parts/basics.js";
import {Boxes, Field} from "../../parts/form.js";
import {confirm, Dialog} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {describe} from "../account.js";
import {attempt, hasTool, listAll, Loaded, Pages, State, useLoad} from "./run.js";

const SIZE = 50;
const PERMISSIONS = ["AccessCatalog", "EditCatalog", "ManagePermissions", "ViewAnalytics", "RequestContent", "ServerAdmin"];
const USER_COLUMNS = (open) => [
  {name: "name", label: "Name", show: (user) => html`<button type="button" class="link" onClick=${() => open(user)}>${user.name}</button>`},
  {name: "roles", label: "Roles", show: (user) => user.roles.join(", ") || "none"},
  {name: "granted", label: "Granted besides"},
  {name: "state", label: "State", show: (user) => html`<${State} good=${!user.disabled && user.has_password} bad=${user.disabled}>${stateOf(user)}<//>`},
  {name: "created_at", label: "Since", tight: true, show: (user) => day(user.created_at)},
];

export function Users() {
  const [offset, setOffset] = useState(0), [open, setOpen] = useState(null), [secret, setSecret] = useState(null);
  const roles = useLoad(() => listAll("users.query", {query_type: "roles"}, "roles"));
  const state = useLoad((signal) => callTool("users.query", {query_type: "list", limit: SIZE, offset}, {signal}), [offset]);
  const names = (roles.value ?? []).map((role) => role.name);
  const after = (changed) => {
    if (changed?.one_time_password) setSecret(changed);
    state.reload();
  };
  return html`
    ${secret && html`<${Notice} mood="good"><p>${secret.name} logs in once with this password, and then chooses their own. It is shown this once.</p>
      <${CodeBlock} text=${secret.one_time_password} what="the one-time password" /><//>`}
    <${Loaded} state=${state}>${({users, total}) => html`<section class="card"><p class="quiet" role="status">${plural(total, "user")}</p>
      <${DataTable} label="Users" columns=${USER_COLUMNS(setOpen)} rows=${users} keyOf=${(user) => user.name} />
      <${Pages} offset=${offset} shown=${users.length} total=${total} size=${SIZE} onMove=${setOffset} /></section>`}<//>
    <${NewUser} roles=${names} onDone=${after} />
    ${open && html`<${EditUser} user=${open} roles=${names} onDone=${after} onClose=${() => setOpen(null)} />`}`;
}

function stateOf(user) {
  if (user.disabled) return "disabled";
  if (user.external) return "logs in elsewhere";
  return user.has_password ? "active" : user.has_one_time_password ? "has a one-time password" : "no password";
}

function NewUser({roles, onDone}) {
  const [name, setName] = useState(""), [chosen, setChosen] = useState(["user"]), [error, setError] = useState("");
  const send = async (event) => {
    event.preventDefault();
    try {
      onDone(await callTool("users.mutate", {action: "create", name, role: chosen.length ? chosen : "none"}));
      setName("");
      setError("");
    } catch (failure) {
      setError(failure.message);
    }
  };
  return html`<section class="card"><h2>New user</h2><form class="stack" onSubmit=${send}>
    <${Field} label="Name" error=${error} required>${(tied) => html`<input ...${tied} value=${name} required maxlength="256" autocomplete="off" autocapitalize="none" onInput=${(event) => setName(event.target.value)} />`}<//>
    <${Boxes} legend="Roles" options=${roles} chosen=${chosen} onChange=${setChosen} />
    <div><button type="submit">Make an account</button></div>
    <p class="hint">A one-time password is made, which you hand to them.</p></form></section>`;
}

function EditUser({user, roles, onDone, onClose}) {
  const [chosen, setChosen] = useState(user.roles), [granted, setGranted] = useState(user.granted);
  const act = async (args, done) => {
    const changed = await attempt(() => callTool("users.mutate", {name: user.name, ...args}), done);
    if (changed) onDone(changed);
    return changed;
  };
  const save = async () => {
    const changes = [];
    if (String(chosen) !== String(user.roles)) changes.push({action: "set_role", role: chosen.length ? chosen : "none"});
    for (const permission of PERMISSIONS) {
      if (granted.includes(permission) !== user.granted.includes(permission)) changes.push({action: granted.includes(permission) ? "grant" : "revoke", permission});
    }
    for (const change of changes) if (!await act(change)) return;
    onClose();
  };
  const once = async (args, done) => { if (await act(args, done)) onClose(); };
  const remove = async () => {
    if (await confirm(`The account, its tokens and what belongs to ${user.name} are gone.`, {title: `Delete ${user.name}?`, yes: "Delete", no: "Keep", danger: true})) once({action: "delete"}, `${user.name} is deleted`);
  };
  return html`<${Dialog} title=${user.name} onClose=${onClose}>
    <p class="quiet">May do: ${user.permissions.join(", ") || "nothing"}</p>
    <${Boxes} legend="Roles" options=${roles} chosen=${chosen} onChange=${setChosen} />
    <${Boxes} legend="Granted besides" options=${PERMISSIONS} chosen=${granted} onChange=${setGranted} />
    <div class="row"><button type="button" onClick=${save}>Save</button></div>
    <hr />
    <div class="row">
      <button type="button" class="plain small" onClick=${() => once({action: "reset_password"})}>New one-time password</button>
      <button type="button" class="plain small" onClick=${() => once({action: "end_sessions"}, `${user.name} is logged out everywhere`)}>End sessions</button>
      <button type="button" class="plain small" onClick=${() => once({action: user.disabled ? "enable" : "disable"}, `${user.name} is ${user.disabled ? "enabled" : "disabled"}`)}>${user.disabled ? "Enable" : "Disable"}</button>
      <button type="button" class="plain small danger" onClick=${remove}>Delete</button>
    </div><//>`;
}

const COSTS = {read: "Reads a minute", write: "Writes a minute", sql: "SQL statements a minute"};
const NEW_ROLE = {name: "", permissions: ["AccessCatalog"], quotas: null};

export function Roles({session}) {
  const [open, setOpen] = useState(null), state = useLoad(() => listAll("users.query", {query_type: "roles"}, "roles"));
  const columns = [
    {name: "name", label: "Role", show: (role) => html`<button type="button" class="link" onClick=${() => setOpen(role)}>${role.name}</button>${role.builtin && html` <span class="chip">comes with the server</span>`}`},
    {name: "permissions", label: "May do", show: (role) => role.permissions.join(", ") || "nothing"},
    {name: "quotas", label: "Calls a minute", show: ({quotas}) => (quotas ? Object.entries(quotas).map(([cost, count]) => `${count} ${cost}`).join(", ") : "as configured")},
  ];
  return html`<p class="quiet">A role is a named set of permissions. Nobody gives more than they have.</p>
    <section class="card"><${Loaded} state=${state}>${(roles) => html`<${DataTable} label="Roles" columns=${columns} rows=${roles} keyOf=${(role) => role.name} />`}<//></section>
    <div><button type="button" onClick=${() => setOpen(NEW_ROLE)}>New role</button></div>
    ${open && html`<${EditRole} usual=${session.me.quotas} role=${open} onDone=${state.reload} onClose=${() => setOpen(null)} />`}`;
}

function EditRole({usual, role, onDone, onClose}) {
  const isNew = role === NEW_ROLE;
  const [name, setName] = useState(role.name), [permissions, setPermissions] = useState(role.permissions), [quotas, setQuotas] = useState(role.quotas ?? {}), [error, setError] = useState("");
  const send = async (event) => {
    event.preventDefault();
    const isLimited = Object.values(quotas).some((count) => count !== "");
    const counts = isLimited ? Object.fromEntries(Object.keys(COSTS).map((cost) => [cost, Number(quotas[cost] || usual?.[cost] || 0)])) : {};
    const isSet = isLimited || role.quotas;
    try {
      await callTool("users.mutate", {action: isNew ? "create_role" : "update_role", name, permissions, ...(isSet ? {quotas: counts} : {})});
      onDone();
      onClose();
    } catch (failure) {
      setError(failure.message);
    }
  };
  const remove = async () => {
    if (!await confirm("Users lose what this role gave them.", {title: `Delete the role ${role.name}?`, yes: "Delete", no: "Keep", danger: true})) return;
    if (await attempt(() => callTool("users.mutate", {action: "delete_role", name: role.name}), `The role ${role.name} is deleted`)) {
      onDone();
      onClose();
    }
  };
  return html`<${Dialog} title=${isNew ? "New role" : role.name} onClose=${onClose}><form class="stack" onSubmit=${send}>
    ${isNew && html`<${Field} label="Name" required>${(tied) => html`<input ...${tied} value=${name} required maxlength="64" autocomplete="off" onInput=${(event) => setName(event.target.value)} />`}<//>`}
    <${Boxes} legend="May do" options=${PERMISSIONS} chosen=${permissions} onChange=${setPermissions} />
    <div class="row">${Object.entries(COSTS).map(([cost, label]) => html`<label key=${cost} class="grow">${label}
      <input inputMode="numeric" pattern="[0-9]*" placeholder="as configured" value=${quotas[cost] ?? ""} onInput=${(event) => setQuotas({...quotas, [cost]: event.target.value})} /></label>`)}</div>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div class="row"><button type="submit">Save</button>${!isNew && !role.builtin && html`<button type="button" class="plain danger" onClick=${remove}>Delete</button>`}</div>
  </form><//>`;
}

export function Access({session}) {
  const [open, setOpen] = useState(null), state = useLoad((signal) => ask("GET", "/v1/access", undefined, {signal}));
  const columns = [
    {name: "catalogue", label: "Catalogue", show: (one) => html`<button type="button" class="link" onClick=${() => setOpen(one)}>${one.catalogue}</button>`},
    {name: "who", label: "Who sees it", show: whoSees},
  ];
  return html`<p class="quiet">Everybody sees a catalogue until it is restricted; for all others a restricted one does not exist. Those with ServerAdmin see every catalogue.</p>
    <section class="card"><${Loaded} state=${state}>${({catalogues}) => html`<${DataTable} label="Access by catalogue" columns=${columns} rows=${catalogues} keyOf=${(one) => one.catalogue} />`}<//></section>
    ${open && html`<${EditAccess} session=${session} access=${open} onDone=${state.reload} onClose=${() => setOpen(null)} />`}`;
}

function whoSees({restricted, users, roles}) {
  if (!restricted) return "everybody";
  const named = [...users, ...roles.map((role) => `those with the role ${role}`)];
  return named.join(", ") || "only those with ServerAdmin";
}

function EditAccess({session, access, onDone, onClose}) {
  const [isRestricted, setRestricted] = useState(access.restricted), [users, setUsers] = useState(access.users), [roles, setRoles] = useState(access.roles), [error, setError] = useState("");
  const known = useLoad(async () => {
    if (!hasTool(session, "users.query")) return {users: access.users, roles: access.roles};
    const [some, all] = await Promise.all([listAll("users.query", {query_type: "list"}, "users", 200), listAll("users.query", {query_type: "roles"}, "roles")]);
    return {users: [...new Set([...access.users, ...some.map((user) => user.name)])].sort(), roles: all.map((role) => role.name)};
  });
  const save = async (event) => {
    event.preventDefault();
    const path = `/v1/access/${encodeURIComponent(access.catalogue)}`;
    try {
      if (isRestricted) await ask("PUT", path, {users, roles});
      else if (access.restricted) await ask("DELETE", path);
      onDone();
      onClose();
    } catch (failure) {
      setError(failure.message);
    }
  };
  const choice = (value, text) => html`<label class="inline"><input type="radio" name="who" checked=${isRestricted === value} onChange=${() => setRestricted(value)} />${text}</label>`;
  return html`<${Dialog} title=${`Who sees ${access.catalogue}`} onClose=${onClose}><form class="stack" onSubmit=${save}>
    <fieldset><legend class="unseen">Who sees it</legend>${choice(false, "Everybody")}${choice(true, "Only these, and those with ServerAdmin")}</fieldset>
    ${isRestricted && html`<${Loaded} state=${known}>${(names) => html`
      <${Boxes} legend="Roles" options=${names.roles} chosen=${roles} onChange=${setRoles} />
      <${Boxes} legend="Users" options=${names.users} chosen=${users} onChange=${setUsers} />`}<//>`}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div><button type="submit">Save</button></div></form><//>`;
}

export function AllTokens() {
  const [words, setWords] = useState(""), state = useLoad((signal) => ask("GET", "/v1/credentials", undefined, {signal}));
  const revoke = async (one) => {
    const what = one.kind === "token" ? `the token “${one.name}”` : "a session";
    if (!await confirm(`This ends ${what} of ${one.user}.`, {title: "Revoke it?", yes: "Revoke", no: "Keep", danger: true})) return;
    if (await attempt(() => ask("DELETE", `/v1/tokens/${encodeURIComponent(one.id)}`), "Revoked")) state.reload();
  };
  const columns = [
    {name: "user", label: "User"},
    {name: "kind", label: "What", show: (one) => html`${one.kind === "token" ? `token “${one.name}”` : "session"}${one.is_this && html` <span class="chip">this one</span>`}`},
    {name: "more", label: "State", show: describe},
    {name: "created_at", label: "Made", tight: true, show: (one) => day(one.created_at)},
    {name: "revoke", label: "", show: (one) => !one.is_this && html`<button type="button" class="plain small danger" aria-label=${`Revoke ${one.name || "the session"} of ${one.user}`} onClick=${() => revoke(one)}>Revoke</button>`},
  ];
  return html`<${Loaded} state=${state}>${({credentials}) => {
    const shown = credentials.filter((one) => `${one.user} ${one.name}`.toLowerCase().includes(words.toLowerCase()));
    return html`<label class="find"><span class="unseen">Find by user or name</span><input type="search" placeholder="Find by user or name" value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
      <section class="card"><p class="quiet" role="status">${plural(shown.length, "valid session or token", "valid sessions and tokens")}</p>
        <${DataTable} label="Sessions and tokens" columns=${columns} rows=${shown} keyOf=${(one) => one.id} /></section>`;
  }}<//>`;
}
