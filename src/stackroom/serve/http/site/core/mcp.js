// MCP over the page's own WebSocket: one JSON-RPC message a frame. Connects when first asked, and again when cut.

import {t} from "./language.js";

const PROTOCOL = "2025-11-25";
const LONGEST_WAIT_MS = 15_000;
const MOST_TRIES = 4;
const NO_LONGER_VALID = 1008;

const lost = (message) => Object.assign(new Error(message), {lost: true});

// What a promise gives, unless the signal comes first; others may go on waiting for it.
export function unlessStopped(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    promise.then(resolve, reject);
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), {once: true});
  });
}

export function createMcp({
  address = () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/mcp`,
  longestOpeningMs = LONGEST_WAIT_MS,
} = {}) {
  const waiting = new Map(); // id → {resolve, reject, onProgress}
  let socket = null, opening = null, lastId = 0, failures = 0, introduction = {}, tools = null;

  function open() {
    opening ??= connect().catch((error) => { opening = null; throw error; });
    return opening;
  }

  async function connect() {
    if (failures) await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_WAIT_MS, 250 * 2 ** (failures - 1))));
    const opened = new WebSocket(address(), "mcp");
    let timer;
    const broken = new Promise((_resolve, reject) => {
      opened.onclose = () => reject(lost(t`The server did not accept the connection. Log in again, or try again in a moment.`));
      timer = setTimeout(() => reject(new Error(t`The server did not answer in time.`)), longestOpeningMs);
    });
    try {
      introduction = await Promise.race([broken, introduce(opened)]);
    } catch (error) {
      socket = null;
      failures += 1;
      waiting.clear();
      opened.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    opened.onclose = lose;
    socket.send(JSON.stringify({jsonrpc: "2.0", method: "notifications/initialized"}));
    failures = 0;
  }

  async function introduce(opened) {
    await new Promise((resolve) => { opened.onopen = resolve; });
    opened.onmessage = (event) => receive(event.data);
    socket = opened;
    return send("initialize", {protocolVersion: PROTOCOL, capabilities: {}, clientInfo: {name: "stackroom-page", version: "1"}});
  }

  function lose({code, reason}) {
    socket = opening = tools = null;
    failures += 1;
    const why = code === NO_LONGER_VALID ? t`Your session has ended (${reason || t`log in again`}).` : t`The connection to the server was lost.`;
    for (const {reject} of waiting.values()) reject(lost(why));
    waiting.clear();
  }

  function receive(text) {
    const message = JSON.parse(text);
    if (message.method === "notifications/progress") return waiting.get(message.params.progressToken)?.onProgress?.(message.params);
    if (message.method === "notifications/tools/list_changed") { tools = null; return undefined; }
    if (message.method && message.id !== undefined) return answer(message);
    const asked = waiting.get(message.id);
    if (!asked) return undefined;
    waiting.delete(message.id);
    return message.error ? asked.reject(new Error(message.error.message)) : asked.resolve(message.result);
  }

  function answer({id, method}) {
    const reply = method === "ping" ? {result: {}} : {error: {code: -32601, message: `this page does not answer ${method}`}};
    socket.send(JSON.stringify({jsonrpc: "2.0", id, ...reply}));
  }

  function send(method, params, {signal, onProgress} = {}) {
    const id = (lastId += 1);
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const cancel = () => {
        if (!waiting.delete(id)) return;
        socket?.send(JSON.stringify({jsonrpc: "2.0", method: "notifications/cancelled", params: {requestId: id, reason: "stopped by the user"}}));
        reject(signal.reason);
      };
      signal?.addEventListener("abort", cancel, {once: true});
      waiting.set(id, {resolve, reject, onProgress});
      socket.send(JSON.stringify({jsonrpc: "2.0", id, method, params: onProgress ? {...params, _meta: {progressToken: id}} : params}));
    });
  }

  async function request(method, params, {mayRepeat = true, ...options} = {}) {
    for (let attempt = 1; ; attempt += 1) {
      let isSent = false;
      try {
        await unlessStopped(open(), options.signal);
        isSent = true;
        return await send(method, params, options);
      } catch (error) {
        const mayTry = error.lost && attempt < MOST_TRIES && (mayRepeat || !isSent) && !options.signal?.aborted;
        if (!mayTry) throw error;
      }
    }
  }

  return {
    request,
    // A list of {name, description, inputSchema, annotations}; kept until the server says that it changed.
    async listTools() {
      return (tools ??= (await request("tools/list", {})).tools);
    },
    // {content, structuredContent, isError}. A call that was sent is sent again after a cut only where it may be repeated.
    callTool(name, args, options = {}) {
      return request("tools/call", {name, arguments: args}, {mayRepeat: false, ...options});
    },
    async instructions() {
      await open();
      return introduction.instructions ?? "";
    },
  };
}

let shared = null;
export const mcp = () => (shared ??= createMcp());
