// OpenAI's Responses, streamed; Chat Completions, which OpenRouter and most other servers speak; and Ollama, which speaks much like them.
import {cutOff, explain, getJson, jsonEvents, jsonLines, messages, outputOf, parseArguments, post} from "./wire.js";

const NAME = "OpenAI";
const OTHER_KINDS = /embedding|whisper|tts|dall-e|moderation|image|audio|realtime|transcribe|search|davinci|babbage|sora/;

const bearer = (config) => (config.key ? {authorization: `Bearer ${config.key}`} : {});

export const openai = {
  async models(config, signal) {
    const {data} = await getJson(NAME, `${config.address}/models`, bearer(config), signal);
    return data.map(({id}) => ({id, title: id})).filter(({id}) => !OTHER_KINDS.test(id)).sort((a, b) => a.id.localeCompare(b.id));
  },
  async round(config, asked, options) {
    if (config.protocol === "chat") return complete(NAME, config, asked, options);
    const {system, tools} = asked;
    const body = {
      model: config.model,
      instructions: system,
      input: [...messages(asked)].flatMap(asItems),
      tools: tools.map(({name, description, schema}) => ({type: "function", name, description, parameters: schema, strict: false})),
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
    };
    const response = await post(NAME, `${config.address}/responses`, bearer(config), body, options.signal);
    return read(response, options);
  },
};

async function read(response, {signal, on}) {
  for await (const event of jsonEvents(response, signal)) {
    if (event?.type === "response.output_text.delta" || event?.type === "response.refusal.delta") on({kind: "text", text: event.delta});
    else if (event?.type === "response.reasoning_summary_text.delta") on({kind: "thought", text: event.delta});
    else if (event?.type === "error") throw explain(NAME, {code: event.code ?? event.error?.code, said: event.message ?? event.error?.message});
    else if (event?.type === "response.failed") throw explain(NAME, {code: event.response.error?.code, said: event.response.error?.message});
    else if (event?.type === "response.completed" || event?.type === "response.incomplete") return outcome(event.response);
  }
  throw cutOff(NAME);
}

function outcome({output = [], usage, incomplete_details: incomplete}) {
  const whole = output.filter(({type, status, content}) => status !== "incomplete" || (type === "message" && content?.length));
  while (whole.at(-1)?.type === "reasoning") whole.pop(); // thoughts are refused without what followed them
  const calls = whole.filter((item) => item.type === "function_call").map((item) => ({id: item.call_id, name: item.name, ...parseArguments(item.arguments ?? "")}));
  const stop = incomplete ? (incomplete.reason === "content_filter" ? "refused" : "length") : calls.length ? "tools" : "end";
  return {native: whole, calls, usage: {input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0}, stop};
}

function asItems({role, text, native, calls}) {
  if (role !== "native") return [{role, content: text}];
  return [...native, ...calls.map((call) => ({type: "function_call_output", call_id: call.id, output: errorMarked(call)}))];
}

// Chat Completions. Calls are gathered by their index; where a server gives none, an id begins a call.
const STOPS = {length: "length", content_filter: "refused", tool_calls: "tools"};

async function complete(name, config, {system, tools, ...asked}, {signal, on, headers = {}}) {
  const body = {
    model: config.model,
    messages: spoken(system, asked, (call) => ({tool_call_id: call.id})),
    stream: true,
    stream_options: {include_usage: true},
    tools: functions(tools),
  };
  if (!tools.length) delete body.tools;
  const response = await post(name, `${config.address}/chat/completions`, {...bearer(config), ...headers}, body, signal);
  return readChunks(name, response, signal, on);
}

async function readChunks(name, response, signal, on) {
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
  const calls = native.tool_calls.filter(Boolean).map(({text, ...call}) => ({...call, ...parseArguments(text)}));
  return {native: compact(native, calls), calls, usage, stop: STOPS[stop] ?? "end"};
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
    const calls = native.tool_calls, isNew = !calls.length || (piece.id && piece.id !== calls.at(-1)?.id);
    const call = (calls[piece.index ?? calls.length - (isNew ? 0 : 1)] ??= {id: "", name: "", text: ""});
    call.id = piece.id || call.id;
    call.name = piece.function?.name || call.name;
    call.text += piece.function?.arguments ?? "";
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

// Arguments go back as an object, also those that came as nothing or broken: servers refuse a history without.
function compact({tool_calls, ...rest}, calls) {
  if (!calls.length) return rest;
  return {...rest, content: rest.content || null, tool_calls: calls.map(({id, name, args}) => ({id, type: "function", function: {name, arguments: JSON.stringify(args)}}))};
}

const functions = (tools) => tools.map(({name, description, schema}) => ({type: "function", function: {name, description, parameters: schema}}));

function spoken(system, asked, nameOf) {
  const said = [...messages(asked)].flatMap(({role, text, native, calls}) => (role === "native" ? [native, ...calls.map((call) => ({role: "tool", ...nameOf(call), content: errorMarked(call)}))] : [{role, content: text}]));
  return [{role: "system", content: system}, ...said];
}

function errorMarked(call) {
  const {text, isError} = outputOf(call);
  return isError ? `Error: ${text}` : text;
}

// OpenRouter lists its models by what they can do.
export const openrouter = {
  async models(config, signal) {
    const {data} = await getJson("OpenRouter", `${config.address}/models`, {}, signal);
    return data.filter((model) => model.supported_parameters?.includes("tools") ?? true).map(({id, name}) => ({id, title: name ?? id}));
  },
  round: (config, asked, options) => complete("OpenRouter", config, asked, {...options, headers: {"x-title": "Stackroom"}}),
};

// Ollama: one JSON object a line, arguments as objects, no ids of calls promised.
const OLLAMA = "Ollama";
const CONTEXT_TOKENS = 32768; // the default of Ollama is smaller than a list of tools

export const ollama = {
  async models(config, signal) {
    const {models: list} = await getJson(OLLAMA, `${config.address}/api/tags`, bearer(config), signal);
    return list.map(({name, details}) => ({id: name, title: details?.parameter_size ? `${name} (${details.parameter_size})` : name}));
  },
  async round(config, {system, tools, ...asked}, {signal, on}) {
    const body = {
      model: config.model,
      messages: spoken(system, asked, (call) => ({tool_name: call.wireName})),
      tools: functions(tools),
      stream: true,
      options: {num_ctx: CONTEXT_TOKENS},
    };
    return readLines(await post(OLLAMA, `${config.address}/api/chat`, bearer(config), body, signal), signal, on);
  },
};

async function readLines(response, signal, on) {
  const native = {role: "assistant", content: ""};
  for await (const line of jsonLines(response, signal)) {
    if (line.error) throw explain(OLLAMA, {said: line.error});
    takeLine(line.message ?? {}, native, on);
    if (line.done) return outcomeOf(native, line);
  }
  throw cutOff(OLLAMA);
}

function takeLine(message, native, on) {
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

function outcomeOf(native, last) {
  const calls = (native.tool_calls ?? []).map((call, index) => ({
    id: call.id ?? `call-${index}`,
    name: call.function.name,
    args: call.function.arguments ?? {},
  }));
  const usage = {input: last.prompt_eval_count ?? 0, output: last.eval_count ?? 0};
  return {native, calls, usage, stop: calls.length ? "tools" : last.done_reason === "length" ? "length" : "end"};
}
