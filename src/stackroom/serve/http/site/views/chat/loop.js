// The conversation: ask the model, run the tools that it calls, ask again, until it has answered.
//
// turns: [{text, rounds, state: "working"|"done"|"stopped"|"failed"|"paused", error}]
// round: {source, parts, native, usage, stop}; part: {kind: "text"|"thought", text} or a call
// call: {kind: "call", id, name, wireName, args, state: "ready"|"asking"|"running"|"done"|"failed"|"declined", output, …}
// tool: {name, description, schema, canUndo?, isWrite(args), preview?(args, options), run(args, options)}, which give {text, value, isError}
import {unlessStopped} from "../../core/mcp.js";
import {createStore} from "../../core/store.js";

export const MOST_ROUNDS = 10;

export function createChat({openProvider, openTools, systemOf}) {
  const store = createStore({id: Date.now(), turns: [], busy: false});
  let stopper = null;

  // Pieces of a stream come faster than anybody reads: what changed is shown thirty times a second.
  let timer = null;
  const touch = () => { timer ??= setTimeout(() => { timer = null; store.set(({turns}) => ({turns: [...turns]})); }, 33); };

  function send(text) {
    return begin([...store.get().turns, newTurn(text)]);
  }

  function edit(index, text) {
    return begin([...store.get().turns.slice(0, index), newTurn(text)]);
  }

  // After an error only the round that failed is asked again; a complete answer is asked for anew.
  function retry() {
    const turns = store.get().turns;
    const last = turns.at(-1);
    if (!last) return undefined;
    const isWhole = last.state === "done";
    last.rounds = isWhole ? [] : last.rounds.filter((round) => round.native);
    return begin(turns);
  }

  function begin(turns) {
    if (store.get().busy) return undefined;
    const turn = turns.at(-1);
    Object.assign(turn, {state: "working", error: null, allowed: turn.rounds.length + MOST_ROUNDS});
    stopper = new AbortController();
    store.set({turns, busy: true});
    return work(turn, stopper.signal).finally(() => { store.set({busy: false}); touch(); });
  }

  async function work(turn, signal) {
    try {
      const [provider, tools] = await unlessStopped(Promise.all([openProvider(), openTools(turn.text)]), signal);
      const last = turn.rounds.at(-1);
      if (last?.native) await runCalls(last, tools, signal);
      while (!turn.rounds.at(-1)?.native || goesOn(turn.rounds.at(-1))) {
        if (turn.rounds.length >= turn.allowed) { turn.state = "paused"; return; }
        await ask(turn, provider, tools, signal);
        await runCalls(turn.rounds.at(-1), tools, signal);
      }
      turn.state = "done";
    } catch (error) {
      turn.state = signal.aborted ? "stopped" : "failed";
      if (!signal.aborted) turn.error = error;
      settle(turn);
    }
  }

  async function ask(turn, provider, tools, signal) {
    const round = {source: provider.source, parts: [], native: null, usage: null, stop: null};
    turn.rounds.push(round);
    const names = nameTable(tools.list.map((tool) => tool.name));
    const offered = tools.offered.map(({name, description, schema}) => ({name: names.toWire(name), description, schema}));
    const system = await unlessStopped(systemOf(), signal);
    const turns = store.get().turns.slice(0, -1).concat({...turn, rounds: turn.rounds.slice(0, -1)});
    const outcome = await provider.round({source: provider.source, system, turns, tools: offered}, {
      signal,
      on: (piece) => { add(round.parts, piece); touch(); },
    });
    for (const call of outcome.calls) round.parts.push({kind: "call", ...call, wireName: call.name, name: names.fromWire(call.name) ?? call.name, state: "ready"});
    Object.assign(round, {native: outcome.native, usage: outcome.usage, stop: outcome.stop});
    touch();
  }

  async function runCalls(round, tools, signal) {
    for (const call of round.parts.filter((part) => part.kind === "call" && part.output === undefined)) {
      signal.throwIfAborted();
      const change = (patch) => { Object.assign(call, patch); touch(); };
      if (call.problem) change({state: "failed", output: call.problem, isError: true});
      else await tools.run(call, change, signal);
    }
  }

  const open = (kept) => !store.get().busy && store.set(kept);

  return {store, send, edit, retry, open, touch, stop: () => stopper?.abort(new DOMException("stopped", "AbortError")), clear: () => open({id: Date.now(), turns: []})};
}

const newTurn = (text) => ({text, rounds: [], state: "working", error: null, allowed: MOST_ROUNDS});

const goesOn = (round) => round.stop === "paused" || round.parts.some((part) => part.kind === "call");

function add(parts, {kind, text}) {
  const last = parts.at(-1);
  if (last?.kind === kind) last.text += text;
  else parts.push({kind, text});
}

export const answerOf = ({rounds}) => rounds.flatMap(({parts}) => parts).filter(({kind}) => kind === "text").map(({text}) => text).join("\n\n");

// After a stop or an error: text stays, calls that were not done are told as such.
export function settle(turn) {
  for (const part of turn.rounds.at(-1)?.parts ?? []) {
    if (part.kind === "call" && part.output === undefined) Object.assign(part, {state: "stopped", ask: null});
  }
}

export function usageOf(turns) {
  const rounds = turns.flatMap((turn) => turn.rounds).filter((round) => round.usage);
  return rounds.reduce((sum, {usage}) => ({input: sum.input + usage.input, output: sum.output + usage.output, rounds: sum.rounds + 1}), {input: 0, output: 0, rounds: 0});
}

// Names of tools as providers allow them (letters, digits, _ and -, at most 64), and a table for the way back.
const LONGEST = 64;

function nameTable(names) {
  const out = new Map(), back = new Map();
  for (const name of names) {
    const plain = name.replaceAll(".", "__").replace(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST);
    let wire = plain;
    for (let n = 2; back.has(wire); n += 1) wire = `${plain.slice(0, LONGEST - 1 - String(n).length)}_${n}`;
    out.set(name, wire);
    back.set(wire, name);
  }
  return {toWire: (name) => out.get(name), fromWire: (wire) => back.get(wire)};
}

const LONGEST_OUTPUT = 40_000;

export function serverTool(client, {name, description = "", inputSchema, annotations}) {
  const properties = inputSchema.properties ?? {};
  const isRead = annotations?.readOnlyHint === true;
  const call = async (args, options = {}) => asResult(await client.callTool(name, args, {...options, mayRepeat: isRead || args.preview === true}));
  return {
    name,
    description,
    schema: {...inputSchema, properties: without(without(properties, "max_tokens"), "explain")}, // which the chat does without
    canUndo: !isRead && JSON.stringify(properties.action ?? "").includes('"undo"'),
    isWrite: (args) => !isRead && !("preview" in properties && args.preview === true),
    preview: "preview" in properties ? (args, options) => call({...without(args, "plan"), preview: true}, options) : null,
    run: (args, options, preview) => call(preview?.value?.plan && "plan" in properties ? {...without(args, "preview"), plan: preview.value.plan} : args, options),
  };
}

const without = (args, name) => Object.fromEntries(Object.entries(args).filter(([key]) => key !== name));

function asResult({content = [], structuredContent, isError = false}) {
  const text = content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
  return {text: text || JSON.stringify(structuredContent ?? {}), value: structuredContent ?? null, isError};
}

export function localTool({name, description, properties = {}, required, isWrite = false, preview = null, run}) {
  const shaped = (value) => ({text: typeof value === "string" ? value : JSON.stringify(value), value: typeof value === "string" ? null : value, isError: false});
  return {
    name,
    description,
    schema: {type: "object", properties, required},
    isWrite: () => isWrite,
    preview: preview && (async (args) => shaped(await preview(args))),
    run: async (args, options) => shaped(await run(args, options)),
  };
}

export function createTools(list, offered = list) {
  return {
    list,
    offered,
    async run(call, change, signal) {
      const tool = list.find(({name}) => name === call.name);
      if (!tool) return change({state: "failed", output: `there is no tool named ${call.name}`, isError: true});
      const options = {signal, onProgress: (progress) => change({progress})};
      try {
        const asked = tool.isWrite(call.args) ? await askFirst(tool, call, change, options) : {};
        if (asked.done) return undefined;
        change({state: "running", ask: null});
        return finish(change, await tool.run(call.args, options, asked.preview));
      } catch (error) {
        if (signal.aborted) throw error;
        return finish(change, {text: error.message, value: null, isError: true});
      }
    },
  };
}

function finish(change, {text, value, isError}) {
  const output = text.length > LONGEST_OUTPUT ? `${text.slice(0, LONGEST_OUTPUT)}\n… cut: ask for less` : text;
  change({state: isError ? "failed" : "done", output, result: value, isError, progress: null});
}

async function askFirst(tool, call, change, {signal}) {
  change({state: "running"});
  const preview = tool.preview ? await tool.preview(call.args, {signal}) : null;
  if (preview?.isError) {
    finish(change, preview);
    return {done: true};
  }
  const allowed = await new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason), {once: true});
    change({state: "asking", preview, ask: resolve});
  });
  if (allowed) return {preview};
  change({state: "declined", ask: null, output: "The user declined this change. Nothing was changed.", isError: true});
  return {done: true};
}
