import {html, useState} from "../../core/html.js";
import {day, plural} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {CodeBlock, Notice} from "../../parts/basics.js";
import {Boxes, Field} from "../../parts/form.js";
import {confirm, Dialog} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {attempt, listAll, Loaded, Pages, State, useLoad} from "./load.js";

const SIZE = 50;
export const PERMISSIONS = ["AccessCatalog", "EditCatalog", "ManagePermissions", "ViewAnalytics", "RequestContent", "ServerAdmin"];
const COLUMNS = (open) => [
  {name: "name", label: "Name", show: (user) => html`<button type="button" class="link" onClick=${() => open(user)}>${user.name}</button>`},
  {name: "roles", label: "Roles", show: (user) => user.roles.join(", ") || "none"},
  {name: "granted", label: "Granted besides"},
  {name: "state", label: "State", show: (user) => html`<${State} good=${!user.disabled && user.has_password} bad=${user.disabled}>${stateOf(user)}<//>`},
  {name: "created_at", label: "Since", tight: true, show: (user) => day(user.created_at)},
];

export default function Users() {
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
      <${DataTable} label="Users" columns=${COLUMNS(setOpen)} rows=${users} keyOf=${(user) => user.name} />
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
