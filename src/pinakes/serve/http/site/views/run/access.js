import {html, useState} from "../../core/html.js";
import {ask} from "../../core/server.js";
import {Boxes} from "../../parts/form.js";
import {Dialog} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {hasTool, listAll, Loaded, useLoad} from "./load.js";

export default function Access({session}) {
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
