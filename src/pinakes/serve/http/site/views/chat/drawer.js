// The chat beside the page.
import {html, useEffect, useRef, useState} from "../../core/html.js";
import {number} from "../../core/format.js";
import {useKeys} from "../../core/keys.js";
import {hideDock, useStore, useStyle} from "../../core/store.js";
import {Icon, Notice} from "../../parts/basics.js";
import {chosen, config, findProblem} from "./config.js";
import {usageOf} from "./loop.js";
import {draft} from "./open.js";
import {Settings} from "./settings.js";
import {chat} from "./state.js";
import {Turn} from "./turn.js";

const close = () => hideDock("chat");

export default function ChatDrawer() {
  const isStyled = useStyle("views/chat/chat.css");
  const {turns, busy} = useStore(chat.store), settings = chosen(useStore(config));
  const [isSetting, setSetting] = useState(() => findProblem(settings) !== null);
  const panel = useRef();
  useEffect(() => {
    const before = document.activeElement;
    return () => before?.isConnected && before.focus?.();
  }, []);
  useKeys("Chat", {Escape: ["close the chat, or stop the answer", () => (busy ? chat.stop() : panel.current?.contains(document.activeElement) ? close() : false)]});
  if (!isStyled) return null;
  return html`<aside ref=${panel} class="chat" aria-labelledby="chat-title">
    <header class="chat-head">
      <h2 id="chat-title">Chat</h2>
      <span class="chat-model">${!isSetting && settings.model}</span>
      ${turns.length > 0 && !busy && html`<button type="button" class="quiet-button" title="New chat" aria-label="New chat" onClick=${chat.clear}><${Icon} name="plus" /></button>`}
      <button type="button" class="quiet-button" aria-label="Settings of the chat" aria-pressed=${isSetting} onClick=${() => setSetting(!isSetting)}><${Icon} name="settings" /></button>
      <button type="button" class="quiet-button" aria-label="Close the chat" onClick=${close}><${Icon} name="close" /></button>
    </header>
    ${!window.isSecureContext ? html`<div class="chat-body"><${Notice} mood="bad"><p>The chat keeps a key of a provider in the browser, so it works on https and on localhost only. This page came over plain http.</p><//></div>`
      : isSetting ? html`<div class="chat-body"><${Settings} onDone=${() => setSetting(false)} /></div>`
      : html`<${Conversation} turns=${turns} busy=${busy} openSettings=${() => setSetting(true)} />`}
  </aside>`;
}

function Conversation({turns, busy, openSettings}) {
  const body = useRef(), follows = useRef(true);
  useEffect(() => { if (follows.current && body.current) body.current.scrollTop = body.current.scrollHeight; });
  const onScroll = ({target}) => { follows.current = target.scrollHeight - target.scrollTop - target.clientHeight < 60; };
  return html`
    <div ref=${body} class="chat-body" tabindex="0" role="log" aria-label="Conversation" onScroll=${onScroll}>
      ${!turns.length && html`<${Welcome} />`}
      ${turns.map((turn, place) => html`<${Turn} key=${place} turn=${turn} place=${place} isLast=${place === turns.length - 1} busy=${busy} openSettings=${openSettings} />`)}
    </div>
    <${Usage} turns=${turns} />
    <${Box} busy=${busy} onSend=${(text) => { follows.current = true; chat.send(text); }} />`;
}

const SAMPLES = ["What is in this library?", "Find something sad but hopeful, and say why it fits", "Show what is newest as a table"];

function Welcome() {
  return html`<div class="welcome"><p>Ask about the catalogues. The model searches with this server’s tools and can change what the page shows; before it changes any record, it asks you.</p>
    <ul class="samples">${SAMPLES.map((text) => html`<li><button type="button" class="plain small" onClick=${() => chat.send(text)}>${text}</button></li>`)}</ul></div>`;
}

function Usage({turns}) {
  const {input, output, rounds} = usageOf(turns);
  return rounds > 0 && html`<p class="chat-usage">Tokens: ${number(input)} read, ${number(output)} written, in ${rounds === 1 ? "1 request" : `${rounds} requests`}</p>`;
}

function Box({busy, onSend}) {
  const text = useStore(draft), area = useRef();
  useEffect(() => { area.current?.focus(); }, []);
  useEffect(() => {
    area.current.style.height = "auto";
    area.current.style.height = `${Math.min(area.current.scrollHeight + 2, 180)}px`;
  }, [text]);
  const send = (event) => {
    event.preventDefault();
    if (busy || !text.trim()) return;
    draft.set("");
    onSend(text.trim());
  };
  const onKeyDown = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event); };
  return html`<form class="chat-box" onSubmit=${send}>
    <label class="unseen" for="chat-text">Your message</label>
    <textarea ref=${area} id="chat-text" rows="1" placeholder="Ask, or say what to show" value=${text} onInput=${(event) => draft.set(event.target.value)} onKeyDown=${onKeyDown}></textarea>
    ${busy ? html`<button type="button" aria-label="Stop" onClick=${chat.stop}><${Icon} name="stop" /></button>`
      : html`<button type="submit" aria-label="Send" disabled=${!text.trim()}><${Icon} name="send" /></button>`}
  </form>`;
}
