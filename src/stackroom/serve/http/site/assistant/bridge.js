// JSON-RPC 2.0 with the assistant that shows a view, by messages between windows (MCP Apps, 2026-01-26).
import {t} from "../core/language.js";

const UNKNOWN_METHOD = -32601;
const ANSWERED = ["ping", "ui/resource-teardown"];

// `on` has what to do with each notification of the assistant, by its method.
export function createBridge(on) {
  const waiting = new Map();
  const send = (message) => parent.postMessage({jsonrpc: "2.0", ...message}, "*");

  function settle({id, result, error}) {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error) asked?.reject(new Error(error.message ?? t`The assistant refused this.`));
    else asked?.resolve(result ?? {});
  }

  function answer({id, method}) {
    if (ANSWERED.includes(method)) send({id, result: {}});
    else send({id, error: {code: UNKNOWN_METHOD, message: `This view has no ${method}.`}});
  }

  addEventListener("message", ({source, data}) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) settle(data);
    else if (data.id !== undefined) answer(data);
    else on[data.method]?.(data.params ?? {});
  });

  let last = 0;
  return {
    tell: (method, params = {}) => send({method, params}),
    ask: (method, params = {}) => new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, {resolve, reject});
      send({id: last, method, params});
    }),
  };
}
