// MCP over the page's own WebSocket: one JSON-RPC message a frame. Connects when first asked, and again when cut.

const PROTOCOL = "2025-11-25";
const LONGEST_WAIT_MS = 15_000;
const MOST_TRIES = 4;
const NO_LONGER_VALID = 1008;

export class McpError extends Error {
  constructor(message, {code = null, lost = false} = {}) {
    super(message);
    Object.assign(this, {code, lost});
  }
}

export function createMcp({
  address = () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/mcp`,
  wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
} = {}) {
  const listeners = new Set();
  const waiting = new Map(); // id → {resolve, reject, onProgress}
  let socket = null, opening = null, lastId = 0, failures = 0, state = "closed", introduction = {}, tools = null;

  function become(next) {
    state = next;
    for (const listener of listeners) listener(state);
  }

  function open() {
    opening ??= connect().catch((error) => { opening = null; throw error; });
    return opening;
  }

  async function connect() {
    become(failures ? "again" : "opening");
    if (failures) await wait(Math.min(LONGEST_WAIT_MS, 250 * 2 ** (failures - 1)));
    const opened = new WebSocket(address(), "mcp");
    await new Promise((resolve, reject) => {
      opened.onopen = resolve;
      opened.onclose = () => reject(new McpError("this server did not accept a connection at /v1/mcp; log in again, or try in a moment", {lost: true}));
    }).catch((error) => { failures += 1; become("closed"); throw error; });
    opened.onmessage = (event) => receive(event.data);
    opened.onclose = (event) => lose(opened, event);
    socket = opened;
    introduction = await send("initialize", {protocolVersion: PROTOCOL, capabilities: {}, clientInfo: {name: "pinakes-page", version: "1"}});
    socket.send(JSON.stringify({jsonrpc: "2.0", method: "notifications/initialized"}));
    failures = 0;
    become("open");
  }

  function lose(closed, {code, reason}) {
    if (closed !== socket) return;
    socket = opening = tools = null;
    failures += 1;
    const why = code === NO_LONGER_VALID ? `the session ended (${reason || "log in again"})` : "the connection to the server was lost";
    for (const {reject} of waiting.values()) reject(new McpError(why, {lost: true}));
    waiting.clear();
    become("closed");
    if (code !== NO_LONGER_VALID && listeners.size) open().catch(() => {});
  }

  function receive(text) {
    const message = JSON.parse(text);
    if (message.method === "notifications/progress") return waiting.get(message.params.progressToken)?.onProgress?.(message.params);
    if (message.method === "notifications/tools/list_changed") { tools = null; return become(state); }
    if (message.method && message.id !== undefined) return answer(message);
    const asked = waiting.get(message.id);
    if (!asked) return undefined;
    waiting.delete(message.id);
    return message.error ? asked.reject(new McpError(message.error.message, {code: message.error.code})) : asked.resolve(message.result);
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
        await open();
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
    // {content, structuredContent, isError}. A call that may write is never sent twice.
    callTool(name, args, options = {}) {
      return request("tools/call", {name, arguments: args}, options);
    },
    async instructions() {
      await open();
      return introduction.instructions ?? "";
    },
    get state() { return state; },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      const closed = socket;
      socket = opening = null;
      closed?.close();
      become("closed");
    },
  };
}

let shared = null;
export const mcp = () => (shared ??= createMcp());
