// Everything that the page knows comes from the server as JSON, through here.

export class Refused extends Error {
  constructor(status, message, code = "", retryAfter = null) {
    super(message);
    Object.assign(this, {status, code, retryAfter});
  }
}

export async function ask(method, path, body, {signal} = {}) {
  const options = {method, headers: {Accept: "application/json"}, credentials: "same-origin", signal};
  if (body !== undefined) {
    const isFile = body instanceof Blob;
    options.headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
    options.body = isFile ? body : JSON.stringify(body);
  }
  const reply = await reach(path, options);
  if (reply.status === 204) return null;
  const answer = await reply.json().catch(() => null);
  if (reply.ok) return answer;
  const {message, code} = answer?.error ?? {};
  throw new Refused(reply.status, message ?? `The server answered ${reply.status}.`, code, reply.headers.get("retry-after"));
}

export function callTool(name, given, options) {
  return ask("POST", `/v1/tools/${encodeURIComponent(name)}`, given, options);
}

// The server is not well when it says so with 503; that is an answer, too.
export async function askHealth() {
  const reply = await reach("/health", {headers: {Accept: "application/json"}});
  return reply.json();
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server cannot be reached.");
  }
}
