import {html, useState} from "../../core/html.js";
import {callTool} from "../../core/server.js";
import {Boxes, Field} from "../../parts/form.js";
import {confirm, Dialog} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {attempt, listAll, Loaded, useLoad} from "./load.js";
import {PERMISSIONS} from "./users.js";

const COSTS = {read: "Reads a minute", write: "Writes a minute", sql: "SQL statements a minute"};
const NEW = {name: "", permissions: ["AccessCatalog"], quotas: null};

export default function Roles({session}) {
  const [open, setOpen] = useState(null), state = useLoad(() => listAll("users.query", {query_type: "roles"}, "roles"));
  const columns = [
    {name: "name", label: "Role", show: (role) => html`<button type="button" class="link" onClick=${() => setOpen(role)}>${role.name}</button>${role.builtin && html` <span class="chip">comes with the server</span>`}`},
    {name: "permissions", label: "May do", show: (role) => role.permissions.join(", ") || "nothing"},
    {name: "quotas", label: "Calls a minute", show: ({quotas}) => (quotas ? Object.entries(quotas).map(([cost, count]) => `${count} ${cost}`).join(", ") : "as configured")},
  ];
  return html`<p class="quiet">A role is a named set of permissions. Nobody gives more than they have.</p>
    <section class="card"><${Loaded} state=${state}>${(roles) => html`<${DataTable} label="Roles" columns=${columns} rows=${roles} keyOf=${(role) => role.name} />`}<//></section>
    <div><button type="button" onClick=${() => setOpen(NEW)}>New role</button></div>
    ${open && html`<${EditRole} usual=${session.me.quotas} role=${open} onDone=${state.reload} onClose=${() => setOpen(null)} />`}`;
}

function EditRole({usual, role, onDone, onClose}) {
  const isNew = role === NEW;
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
