// What can be changed: users, roles, access, everybody's tokens; jobs, downloads, and the changes of catalogues.
import {html, useState, t} from "../../core/html.js";
import {change} from "../../core/address.js";
import {inWords, number, shown} from "../../core/format.js";
import {bytes, day} from "../../core/units.js";
import {ask, callTool} from "../../core/server.js";
import {Empty, Icon, Notice} from "../../parts/basics.js";
import {CodeBlock} from "../../parts/code.js";
import {Boxes, partOf, SchemaForm} from "../../parts/form.js";
import {Dialog} from "../../parts/layers.js";
import {describe, inPermissions, PERMISSIONS} from "../account.js";
import {attempt, findTool, Listing, Loaded, Pages, queueTool, readResource, Small, State, sure, Table, Tiles, undoTools, useForm, useLoad, useTool, When} from "./shared.js";

const USERS_SHOWN = 50;
const mutate = (args) => callTool("users.mutate", args);
const useRoles = () => useTool("users.query", {query_type: "roles", limit: 200});
const schemaOf = (session, name) => findTool(session, name).inputSchema;
const rolesOf = (values) => ({title: t`Roles`, values, optional: true});
const onlyOf = (values) => ({title: t`Sees only`, description: t`Choose none for all catalogues, also those that come later`, values, optional: true});
const listed = (catalogues) => (catalogues.length ? catalogues : ["all"]);
const useCatalogues = () => (useLoad((signal) => ask("GET", "/v1/access", undefined, {signal})).value?.catalogues ?? []).map((one) => one.catalogue);
const CALLS = {title: t`Requests per minute`, description: t`Leave empty for the server’s own limits`, optional: true};
const namesOf = (state, list) => (state.value?.[list] ?? []).map((one) => one.name);

function Opener({name, onOpen}) {
  return html`<button type="button" class="link" onClick=${onOpen}>${name}</button>`;
}

export function Users({session}) {
  const schema = schemaOf(session, "users.mutate");
  const [offset, setOffset] = useState(0), [open, setOpen] = useState(null), [secret, setSecret] = useState(null);
  const known = useRoles(), roles = namesOf(known, "roles"), state = useTool("users.query", {query_type: "list", limit: USERS_SHOWN, offset});
  const after = (changed) => {
    if (changed.one_time_password) setSecret(changed);
    state.reload();
  };
  const columns = {
    [t`Name`]: (user) => html`<${Opener} name=${user.name} onOpen=${() => setOpen(user)} />`, [t`Roles`]: "roles", [t`Extra permissions`]: (user) => inPermissions(user.granted),
    [t`State`]: (user) => html`<${State} good=${!user.disabled && user.has_password} bad=${user.disabled}>${stateOf(user)}<//>`, [t`Created`]: (user) => day(user.created_at),
  };
  return html`
    ${secret && html`<${Notice} mood="good"><p>${t`${secret.name} can log in once with this password, and then chooses a new one. It is shown only once.`}</p>
      <${CodeBlock} text=${secret.one_time_password} what="the one-time password" /><//>`}
    <section class="card"><${Loaded} state=${state}>${({users, total}) => html`<${Table} label="Users" columns=${columns} rows=${users} />
      <${Pages} offset=${offset} shown=${users.length} total=${total} size=${USERS_SHOWN} onMove=${setOffset} />`}<//></section>
    ${known.value && html`<${NewUser} schema=${schema} roles=${roles} onDone=${after} />`}
    ${open && html`<${EditUser} schema=${schema} user=${open} roles=${roles} onDone=${after} onClose=${() => setOpen(null)} />`}`;
}

function stateOf(user) {
  if (user.disabled) return t`disabled`;
  return user.has_password ? t`active` : user.has_one_time_password ? t`one-time password` : t`no password`;
}

function NewUser({schema, roles, onDone}) {
  const [count, setCount] = useState(0);
  const make = async ({role = "none", ...args}) => {
    onDone(await mutate({action: "create", role, ...args}));
    setCount(count + 1);
  };
  return html`<section class="card"><h2>New user</h2><${SchemaForm} key=${count} schema=${partOf(schema, {name: {}, role: rolesOf(roles)})}
    initial=${{role: ["user"]}} submit="Create account" onSubmit=${make} /></section>`;
}

function EditUser({schema, user, roles, onDone, onClose}) {
  const act = async (args, done) => {
    const changed = await attempt(() => mutate({name: user.name, ...args}), done);
    if (changed) onDone(changed);
    return changed;
  };
  const catalogues = useCatalogues(), own = user.catalogues ?? [];
  const save = async ({role = [], permissions = [], catalogues = []}) => {
    const changes = [];
    if (String(catalogues) !== String(own)) changes.push({action: "set_catalogues", catalogues: listed(catalogues)});
    if (String(role) !== String(user.roles)) changes.push({action: "set_role", role: role.length ? role : "none"});
    for (const permission of permissions) if (!user.granted.includes(permission)) changes.push({action: "grant", permission});
    for (const permission of user.granted) if (!permissions.includes(permission)) changes.push({action: "revoke", permission});
    for (const change of changes) onDone(await mutate({name: user.name, ...change}));
    onClose();
  };
  const Act = ({action, done, children, ...given}) => html`<${Small} ...${given} onClick=${async () => {
    if (given.danger && !await sure(t`The account, its tokens and everything that belongs to it will be deleted.`, t`Delete ${user.name}?`, t`Delete`)) return;
    if (await act({action}, done)) onClose();
  }}>${children}<//>`;
  return html`<${Dialog} title=${user.name} onClose=${onClose}>
    <p class="quiet">Permissions: ${inPermissions(user.permissions) || t`none`}</p>
    <${SchemaForm} schema=${partOf(schema, {role: rolesOf(roles), permissions: {title: t`Extra permissions`, labels: PERMISSIONS, optional: true}, catalogues: onlyOf([...new Set([...own, ...catalogues])])})}
      initial=${{role: user.roles, permissions: user.granted, catalogues: own}} submit="Save" onSubmit=${save} /><hr />
    <div class="row"><${Act} action="reset_password">New one-time password<//><${Act} action="end_sessions" done=${t`Logged out everywhere`}>Log out everywhere<//>
      <${Act} action=${user.disabled ? "enable" : "disable"}>${user.disabled ? t`Enable` : t`Disable`}<//><${Act} action="delete" danger>Delete<//></div><//>`;
}

export function Roles({session}) {
  const [open, setOpen] = useState(null), state = useRoles();
  const columns = {
    [t`Role`]: (role) => html`<${Opener} name=${role.name} onOpen=${() => setOpen(role)} />`, [t`Permissions`]: (role) => inPermissions(role.permissions) || t`none`,
    [t`Requests per minute`]: ({quotas}) => (quotas ? Object.entries(quotas).map(([cost, count]) => `${count} ${cost}`).join(", ") : t`default`),
  };
  return html`<${Listing} label="Roles" state=${state} rowsOf=${({roles}) => roles} columns=${columns} />
    <div><button type="button" onClick=${() => setOpen({permissions: []})}>New role</button></div>
    ${open && html`<${EditRole} schema=${schemaOf(session, "users.mutate")} role=${open} onClose=${() => { setOpen(null); state.reload(); }} />`}`;
}

function EditRole({schema, role, onClose}) {
  const catalogues = useCatalogues();
  const save = async ({permissions = [], quotas = {}, catalogues = [], ...args}) => {
    await mutate({action: role.name ? "update_role" : "create_role", ...role.name && {name: role.name}, permissions, quotas, catalogues: listed(catalogues), ...args});
    onClose();
  };
  const remove = async () => {
    if (await sure(t`Users lose the permissions that this role gave them.`, t`Delete the role ${role.name}?`, t`Delete`) && await attempt(() => mutate({action: "delete_role", name: role.name}))) onClose();
  };
  return html`<${Dialog} title=${role.name ?? t`New role`} onClose=${onClose}>
    <${SchemaForm} schema=${partOf(schema, {...!role.name && {name: {}}, permissions: {title: t`Permissions`, labels: PERMISSIONS, optional: true}, quotas: CALLS, catalogues: onlyOf([...new Set([...role.catalogues ?? [], ...catalogues])])})} initial=${role} submit="Save" onSubmit=${save}>
      ${role.name && !role.builtin && html`<${Small} danger onClick=${remove}>Delete<//>`}<//><//>`;
}

export function Access({session}) {
  const [open, setOpen] = useState(null), state = useLoad((signal) => ask("GET", "/v1/access", undefined, {signal}));
  const columns = {[t`Catalogue`]: (one) => html`<${Opener} name=${one.catalogue} onOpen=${() => setOpen(one)} />`, [t`Visible to`]: whoSees};
  return html`<p class="quiet">Nobody else can tell that a restricted catalogue exists. Administrators see all of them.</p>
    <${Listing} label="Access by catalogue" state=${state} rowsOf=${({catalogues}) => catalogues} columns=${columns} />
    ${open && html`<${findTool(session, "users.query") ? ChosenAccess : EditAccess} access=${open} onClose=${() => { setOpen(null); state.reload(); }} />`}`;
}

function whoSees({restricted, users, roles}) {
  if (!restricted) return t`everybody`;
  return [...users, ...roles.map((role) => t`everybody with the role ${role}`)].join(", ") || t`administrators only`;
}

function ChosenAccess(given) {
  const users = useTool("users.query", {query_type: "list", limit: 200});
  return html`<${EditAccess} ...${given} known=${{users: namesOf(users, "users"), roles: namesOf(useRoles(), "roles")}} />`;
}

function EditAccess({access, known = {users: [], roles: []}, onClose}) {
  const [isRestricted, setRestricted] = useState(access.restricted), [chosen, setChosen] = useState({users: access.users, roles: access.roles});
  const [send, problem] = useForm(async () => {
    const path = `/v1/access/${encodeURIComponent(access.catalogue)}`;
    if (isRestricted) await ask("PUT", path, chosen);
    else if (access.restricted) await ask("DELETE", path);
    onClose();
  });
  const choice = (value, text) => html`<label class="inline"><input type="radio" name="who" checked=${isRestricted === value} onChange=${() => setRestricted(value)} />${text}</label>`;
  const boxes = (name, legend) => html`<${Boxes} legend=${legend} options=${[...new Set([...access[name], ...known[name]])]} chosen=${chosen[name]} onChange=${(names) => setChosen({...chosen, [name]: names})} />`;
  return html`<${Dialog} title=${t`Who can see ${access.catalogue}`} onClose=${onClose}><form class="stack" onSubmit=${send}>
    <fieldset><legend class="unseen">Who can see it</legend>${choice(false, t`Everybody`)}${choice(true, t`Only these, and administrators`)}</fieldset>
    ${isRestricted && boxes("roles", t`Roles`)}${isRestricted && boxes("users", t`Users`)}
    ${problem}<div><button type="submit">Save</button></div></form><//>`;
}

export function Tokens() {
  const [words, setWords] = useState(""), state = useLoad((signal) => ask("GET", "/v1/tokens?sessions=true&limit=1000", undefined, {signal}));
  const revoke = async (one) => {
    if (await sure(t`“${one.name || t`session`}” of ${one.user} loses access immediately.`, t`Revoke it?`, t`Revoke`) && await attempt(() => ask("DELETE", `/v1/tokens/${encodeURIComponent(one.id)}`), t`Revoked`)) state.reload();
  };
  const columns = {
    [t`User`]: "user", [t`What`]: (one) => html`${one.kind} ${one.name}${one.is_this && html` <span class="chip">current</span>`}`, [t`State`]: describe, [t`Created`]: (one) => day(one.created_at),
    "": (one) => !one.is_this && html`<${Small} danger label=${t`Revoke ${one.name || t`session`} of ${one.user}`} onClick=${() => revoke(one)}>Revoke<//>`,
  };
  const rowsOf = ({tokens}) => tokens.filter((one) => `${one.user} ${one.name}`.toLowerCase().includes(words.toLowerCase()));
  return html`<label class="find"><span class="unseen">Find by user or name</span><input type="search" placeholder="Find by user or name" value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
    <${Listing} label="Sessions and tokens" state=${state} rowsOf=${rowsOf} columns=${columns} />`;
}

const BUSY_MS = 2000;
const isLive = (run) => ["queued", "running", "cancelling"].includes(run?.state);

export function Jobs({address, session}) {
  const chosen = address.query.get("job"), [isBusy, setBusy] = useState(false);
  const state = useLoad(async (signal) => {
    const {jobs} = await callTool("jobs.query", {query_type: "list", limit: 100}, {signal});
    setBusy(jobs.some((job) => isLive(job.last_run)));
    return jobs;
  }, [], isBusy ? BUSY_MS : 10000);
  const act = async ({job_id}, args, done) => { if (await attempt(() => callTool("jobs.action", {job_id, ...args}), done)) state.reload(); };
  const run = (job) => {
    change({job: job.job_id});
    act(job, {action: "trigger"}, t`Queued`);
  };
  const columns = {
    [t`Job`]: (job) => html`<button type="button" class="link" onClick=${() => change({job: job.job_id})}>${inWords(job.job_id)}</button><br /><span class="quiet">${job.description}</span>`,
    [t`Last run`]: ({last_run: last}) => (last ? html`<${RunState} run=${last} /> <${When} isAgo at=${last.ended_at ?? last.started_at ?? last.queued_at} />` : t`never`),
    [t`Next run`]: (job) => (job.next_run_at ? html`<${When} at=${job.next_run_at} />` : job.enabled ? t`on demand` : t`disabled`),
    "": (job) => (isLive(job.last_run) ? html`<${Small} label=${t`Cancel ${job.job_id}`} onClick=${() => act(job, {action: "cancel"}, t`It stops at its next checkpoint`)}>Cancel<//>`
      : html`<${Small} label=${t`Run ${job.job_id} now`} onClick=${() => run(job)}>Run now<//>`),
  };
  const job = state.value?.find((one) => one.job_id === chosen);
  return html`<${Listing} label="Jobs" state=${state} columns=${columns} />${job && html`<${Job} key=${chosen} schema=${schemaOf(session, "jobs.action")} job=${job} act=${act} reload=${state.reload} />`}`;
}

function RunState({run}) {
  return html`<${State} good=${run.state === "done"} bad=${run.state === "failed"}>${run.state}<//>`;
}

function Job({schema, job, act, reload}) {
  const [isScheduling, setScheduling] = useState(false), {job_id: name, last_run: last} = job, inputs = [last?.run_id, last?.state];
  const output = useLoad((signal) => readResource(`jobs://${encodeURIComponent(name)}/output`, {}, signal), inputs, isLive(last) ? BUSY_MS : 0);
  const history = useLoad((signal) => callTool("jobs.query", {query_type: "history", job_id: name, limit: 10}, {signal}), inputs);
  const columns = {
    [t`No.`]: "run_id", [t`State`]: (run) => html`<${RunState} run=${run} />`, [t`Started`]: (run) => run.started_at && html`<${When} at=${run.started_at} />`,
    [t`Took`]: (run) => run.ended_at && `${(new Date(run.ended_at) - new Date(run.started_at)) / 1000} s`, [t`By`]: "requested_by", [t`Error`]: "error",
  };
  return html`<section class="card stack" aria-label=${inWords(name)}>
    <header class="row"><h2 class="grow">${inWords(name)}</h2>
      <${Small} onClick=${() => setScheduling(true)}>Schedule: ${job.schedule}<//><${Small} onClick=${() => act(job, {action: job.enabled ? "disable" : "enable"})}>${job.enabled ? t`Disable` : t`Enable`}<//>
      <button type="button" class="quiet-button" aria-label="Close the job" onClick=${() => change({job: null})}><${Icon} name="close" /></button></header>
    <p role="status">${last?.progress}</p>
    <${Loaded} state=${output}>${(text) => html`<pre class="output" tabindex="0" aria-label="Output">${text}</pre>`}<//>
    <${Loaded} state=${history}>${({runs}) => html`<${Table} label="Runs" columns=${columns} rows=${runs} empty="It has not run yet." />`}<//>
    ${isScheduling && html`<${Schedule} schema=${schema} job=${job} onClose=${() => { setScheduling(false); reload(); }} />`}
  </section>`;
}

function Schedule({schema, job, onClose}) {
  const save = async (args) => {
    await callTool("jobs.action", {job_id: job.job_id, action: "schedule", ...args});
    onClose();
  };
  return html`<${Dialog} title="When it runs" onClose=${onClose}>
    <${SchemaForm} schema=${partOf(schema, {schedule: {description: t`An interval such as 6h, five cron fields in UTC such as 0 3 * * *, or manual`}})} initial=${job} submit="Save" onSubmit=${save} /><//>`;
}

export function Downloads({address, session}) {
  const tools = queueTool(session), wanted = address.query.get("state") ?? "";
  const counted = useTool(tools.query, {query_type: "stats"}, 5000), state = useTool(tools.query, {query_type: "queue", limit: 50, ...(wanted && {state: wanted})}, 5000);
  const act = async (id, action) => { if (await attempt(() => callTool(tools.action, {action, id}))) state.reload(); };
  const columns = {
    [t`No.`]: "id", [t`What`]: (row) => [row.artist, row.album].filter(Boolean).join(": ") || row.url || row.folder,
    [t`State`]: (row) => html`<${State} good=${row.state === "done"} bad=${row.state === "failed"}>${row.state}<//> ${row.error_message}`,
    [t`Received`]: (row) => (row.total_bytes ? t`${bytes(row.received_bytes)} of ${bytes(row.total_bytes)}` : bytes(row.received_bytes)), [t`By`]: "user",
    "": (row) => {
      const again = ["failed", "cancelled"].includes(row.state), label = again ? t`Retry` : t`Cancel`;
      return tools.action && (again || ["queued", "running"].includes(row.state)) && html`<${Small} label=${`${label} (${row.id})`} onClick=${() => act(row.id, again ? "retry" : "cancel")}>${label}<//>`;
    },
  };
  return html`<${Loaded} state=${counted}>${({stats}) => html`<${Tiles} tiles=${{...Object.fromEntries(Object.entries(stats.by_state).map(([name, count]) => [inWords(name), count])), [t`Received`]: bytes(stats.received_bytes)}} />`}<//>
    <div class="row"><label>State <select onChange=${(event) => change({state: event.target.value}, {replace: true})}>
      ${["", ...tools.states].map((name) => html`<option key=${name} value=${name} selected=${name === wanted}>${name || t`open`}</option>`)}</select></label>
      ${tools.action && html`<a class="button plain" href=${`/tools/${encodeURIComponent(tools.action)}`}>New request</a>`}</div>
    <${Listing} label="Downloads" state=${state} rowsOf=${({downloads}) => downloads} columns=${columns} empty="Nothing is waiting." />`;
}

export function Changes({session}) {
  const [older, setOlder] = useState([]);
  const read = async (more, signal) => JSON.parse(await readResource("changelog://recent", {max_tokens: "6000", ...more}, signal));
  const state = useLoad((signal) => {
    setOlder([]);
    return read({}, signal);
  });
  const undo = async (entry) => {
    if (!await sure(t`Everything that the same call changed will be undone.`, t`Undo the change of ${entry.id}?`, t`Undo`)) return;
    if (await attempt(() => undoCall(session, entry.call_id), t`Undone. This can be undone, too.`)) state.reload();
  };
  return html`<${Loaded} state=${state}>${(first) => {
    const pages = [first, ...older], {cursor, has_more: hasMore} = pages.at(-1), entries = pages.flatMap((page) => page.changes);
    return html`${!entries.length && html`<${Empty} title="Nothing has changed yet" />`}
      <ol class="stack">${entries.map((entry) => html`<li key=${`${entry.catalogue}:${entry.change_no}`} class="card"><${Entry} entry=${entry} undo=${undo} /></li>`)}</ol>
      ${hasMore && html`<div><${Small} onClick=${() => attempt(async () => setOlder([...older, await read({cursor})]))}>Older changes<//></div>`}
      <p class="quiet">${first.not_listed}</p>`;
  }}<//>`;
}

// One of the tools knows the call; the others refuse it.
async function undoCall(session, id) {
  let refusal;
  for (const name of undoTools(session)) {
    try {
      return await callTool(name, {action: "undo", id});
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal;
}

function Entry({entry, undo}) {
  const {catalogue, op, id} = entry, who = html`<p class="quiet">${catalogue}, change ${number(entry.change_no)}, ${entry.principal}, <${When} isAgo at=${entry.at} /></p>`;
  if (op === "import") return html`<h2>Import</h2><p>${Object.entries(entry.kinds).map(([kind, count]) => `${kind}: ${number(count)}`).join(", ")}</p>${who}`;
  return html`<div class="row"><h2 class="grow"><a href=${`/c/${encodeURIComponent(catalogue)}?open=${encodeURIComponent(`${catalogue}/${id}`)}`}>${id}</a> <span class="quiet">${op} ${entry.kind}</span></h2>
    ${entry.call_id && html`<${Small} label=${t`Undo the change of ${id}`} onClick=${() => undo(entry)}>Undo<//>`}</div>
    <dl class="facts">${Object.entries(entry.fields).map(([field, value]) => html`<dt key=${field}>${field}</dt><dd>${op === "update"
      ? html`<del>${shown(value[0], field) || t`nothing`}</del> → <ins>${shown(value[1], field) || t`nothing`}</ins>` : shown(value, field)}</dd>`)}</dl>${who}`;
}
