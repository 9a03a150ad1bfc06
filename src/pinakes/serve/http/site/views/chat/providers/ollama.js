// Ollama's /api/chat: one JSON object a line, arguments as objects, no ids of calls promised.
import {bearer, errorMarked} from "./openai.js";
import {cutOff, explain, getJson, jsonLines, messages, post} from "./wire.js";

const NAME = "Ollama";
const CONTEXT_TOKENS = 32768; // the default of Ollama is smaller than a list of tools

export async function models(config, signal) {
  const {models: list} = await getJson(NAME, `${config.address}/api/tags`, bearer(config), signal);
  return list.map(({name, details}) => ({id: name, title: details?.parameter_size ? `${name} (${details.parameter_size})` : name}));
}

export async function round(config, {system, tools, ...asked}, {signal, on}) {
  const body = {
    model: config.model,
    messages: [{role: "system", content: system}, ...[...messages(asked)].flatMap(asMessages)],
    tools: tools.map(({name, description, schema}) => ({type: "function", function: {name, description, parameters: schema}})),
    stream: true,
    options: {num_ctx: CONTEXT_TOKENS},
  };
  return read(await post(NAME, `${config.address}/api/chat`, bearer(config), body, signal), signal, on);
}

async function read(response, signal, on) {
  const native = {role: "assistant", content: ""};
  for await (const line of jsonLines(response, signal)) {
    if (line.error) throw explain(NAME, {said: line.error});
    take(line.message ?? {}, native, on);
    if (line.done) return outcome(native, line);
  }
  throw cutOff(NAME);
}

function take(message, native, on) {
  if (message.content) {
    native.content += message.content;
    on({kind: "text", text: message.content});
  }
  if (message.thinking) {
    native.thinking = (native.thinking ?? "") + message.thinking;
    on({kind: "thought", text: message.thinking});
  }
  if (message.tool_calls) native.tool_calls = [...(native.tool_calls ?? []), ...message.tool_calls];
}

function outcome(native, last) {
  const calls = (native.tool_calls ?? []).map((call, index) => ({
    id: call.id ?? `call-${index}`,
    name: call.function.name,
    args: call.function.arguments ?? {},
  }));
  const usage = {input: last.prompt_eval_count ?? 0, output: last.eval_count ?? 0};
  return {native, calls, usage, stop: calls.length ? "tools" : last.done_reason === "length" ? "length" : "end"};
}

function asMessages({role, text, native, calls}) {
  if (role !== "native") return [{role, content: text}];
  return [native, ...calls.map((call) => ({role: "tool", tool_name: call.wireName, content: errorMarked(call)}))];
}
