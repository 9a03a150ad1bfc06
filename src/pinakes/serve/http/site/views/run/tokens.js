import {html, useState} from "../../core/html.js";
import {day, plural} from "../../core/format.js";
import {ask} from "../../core/server.js";
import {confirm} from "../../parts/layers.js";
import {DataTable} from "../../parts/result.js";
import {attempt, Loaded, useLoad} from "./load.js";
import {describe} from "../tokens.js";

export default function AllTokens() {
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
