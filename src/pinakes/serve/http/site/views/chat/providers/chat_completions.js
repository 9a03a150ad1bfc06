// Chat Completions, streamed: what OpenRouter and most other servers speak. Calls are gathered by their index.
import {messages, outputOf, parseArguments} from "./history.js";
import {cutOff, explain, jsonEvents, post} from "./wire.js";

const STOPS = {length: "length", content_filter: "refused", tool_calls: "tools"};

export async function complete(name, config, {system, tools, ...asked}, {signal, on, headers = {}}) {
  const body = {
    model: config.model,
    messages: [{role: "system", content: system}, ...[...messages(asked)].flatMap(asMessages)],
    stream: true,
    stream_options: {include_usage: true},
    tools: tools.map(({name, description, schema}) => ({type: "function", function: {name, description, parameters: schema}})),
  };
  if (!tools.length) delete body.tools;
  const bearer = config.key ? {authorization: `Bearer ${config.key}`} : {};
  const response = await post(name, `${config.address}/chat/completions`, {...bearer, ...headers}, body, signal);
  return read(name, response, signal, on);
}

async function read(name, response, signal, on) {
  const native = {role: "assistant", content: "", tool_calls: []}, usage = {input: 0, output: 0};
  let stop = null, done = false;
  for await (const chunk of jsonEvents(response, signal)) {
    if (chunk === null) { done = true; continue; }
    if (chunk.error) throw explain(name, {status: Number(chunk.error.code) || null, code: chunk.error.code ?? chunk.error.type, said: chunk.error.message});
    if (chunk.usage) Object.assign(usage, {input: chunk.usage.prompt_tokens ?? 0, output: chunk.usage.completion_tokens ?? 0});
    for (const choice of chunk.choices ?? []) {
      take(choice.delta ?? {}, native, on);
      stop = choice.finish_reason ?? stop;
    }
  }
  if (!done && !stop) throw cutOff(name);
  return {native: compact(native), calls: native.tool_calls.filter(Boolean).map(asCall), usage, stop: STOPS[stop] ?? "end"};
}

function take(delta, native, on) {
  const text = delta.content ?? delta.refusal;
  if (text) {
    native.content += text;
    on({kind: "text", text});
  }
  const thought = delta.reasoning ?? delta.reasoning_content;
  if (thought) on({kind: "thought", text: thought});
  if (delta.reasoning_details) addDetails(native, delta.reasoning_details);
  for (const piece of delta.tool_calls ?? []) {
    const call = (native.tool_calls[piece.index ?? 0] ??= {id: "", type: "function", function: {name: "", arguments: ""}});
    if (piece.id) call.id = piece.id;
    if (piece.function?.name) call.function.name = piece.function.name;
    call.function.arguments += piece.function?.arguments ?? "";
  }
}

function addDetails(native, details) { // pieces of one detail have the same index and kind; they go back as one
  native.reasoning_details ??= [];
  for (const detail of details) {
    const last = native.reasoning_details.at(-1);
    const joins = last && last.type === detail.type && last.index === detail.index && detail.type !== "reasoning.encrypted";
    if (!joins) native.reasoning_details.push({...detail});
    else for (const [name, value] of Object.entries(detail)) {
      const adds = (name === "text" || name === "summary") && typeof value === "string";
      last[name] = adds ? (last[name] ?? "") + value : value ?? last[name];
    }
  }
}

function compact(native) {
  const {tool_calls, ...rest} = native;
  return tool_calls.length ? {...rest, content: rest.content || null, tool_calls: tool_calls.filter(Boolean)} : rest;
}

const asCall = ({id, function: {name, arguments: text}}) => ({id, name, ...parseArguments(text)});

function asMessages({role, text, native, calls}) {
  if (role !== "native") return [{role, content: text}];
  return [native, ...calls.map((call) => ({role: "tool", tool_call_id: call.id, content: errorMarked(call)}))];
}

export function errorMarked(call) {
  const {text, isError} = outputOf(call);
  return isError ? `Error: ${text}` : text;
}
