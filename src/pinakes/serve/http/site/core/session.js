// The server and the person who is here: what it is, what they may do, and the tools that they may call.
import {ask} from "./server.js";
import {createStore, useStore} from "./store.js";

const session = createStore({loading: true, problem: null, server: null, me: null, tools: []});

export function useSession() {
  return describe(useStore(session));
}

export function currentSession() {
  return describe(session.get());
}

export async function reload() {
  try {
    let server = await ask("GET", "/");
    const [me, tools] = server.user === null ? [null, []] : await loadUser();
    if (me && server.audio === null) server = await ask("GET", "/"); // it was still loading its catalogues
    session.set({loading: false, problem: null, server, me, tools});
  } catch (error) {
    session.set({loading: false, problem: error});
  }
}

async function loadUser() {
  const me = ask("GET", "/v1/me");
  const tools = ask("GET", "/v1/tools").catch((error) => {
    if (error.status === 403) return {tools: []};
    throw error;
  });
  return [await me, (await tools).tools];
}

function describe(value) {
  return {
    ...value,
    reload,
    tool: (name) => value.tools.find((tool) => tool.name === name),
    may: (action) => value.me?.permissions.includes(action) ?? false,
  };
}
