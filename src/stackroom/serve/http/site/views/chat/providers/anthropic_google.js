// Anthropic's Messages and Google's streamGenerateContent. Answers come in parts, which go back unchanged, with their signatures.
import {t} from "../../../core/language.js";
import {ProviderError, cutOff, explain, getJson, jsonEvents, messages, outputOf, parseArguments, post} from "./wire.js";

const ANTHROPIC = "Anthropic";
const MAX_TOKENS = 8192;
const STOPS = {max_tokens: "length", model_context_window_exceeded: "context", refusal: "refused", pause_turn: "paused", tool_use: "tools"};

const headersOf = (config) => ({
  "x-api-key": config.key,
  "anthropic-version": "2026-10-21",
  "anthropic-dangerous-direct-browser-access": "true",
});

export const anthropic = {
  async models(config, signal) {
    const {data} = await getJson(ANTHROPIC, `${config.address}/v1/models?limit=1000`, headersOf(config), signal);
    return data.map(({id, display_name}) => ({id, title: display_name ?? id}));
  },
  async round(config, {system, tools, ...asked}, {signal, on}) {
    const body = {
      model: config.model,
      max_tokens: MAX_TOKENS,
      stream: true,
      system,
      messages: joined([...messages(asked)].flatMap(asMessages)),
      tools: tools.map(({name, description, schema}) => ({name, description, input_schema: schema})),
    };
    if (!tools.length) delete body.tools;
    const response = await post(ANTHROPIC, `${config.address}/v1/messages`, headersOf(config), body, signal);
    return read(response, signal, on);
  },
};

async function read(response, signal, on) {
  const blocks = [], pieces = [], calls = [], usage = {input: 0, output: 0};
  let stop = null;
  for await (const event of jsonEvents(response, signal)) {
    if (event?.type === "message_start") addUsage(usage, event.message.usage);
    else if (event?.type === "content_block_start") {
      blocks[event.index] = event.content_block;
      pieces[event.index] = "";
    } else if (event?.type === "content_block_delta") take(blocks[event.index], event, pieces, on);
    else if (event?.type === "content_block_stop") finish(blocks[event.index], pieces[event.index], calls);
    else if (event?.type === "message_delta") {
      stop = event.delta.stop_reason ?? stop;
      addUsage(usage, event.usage);
    } else if (event?.type === "error") throw explain(ANTHROPIC, {code: event.error.type, said: event.error.message});
    else if (event?.type === "message_stop") return {native: blocks, calls, usage, stop: STOPS[stop] ?? "end"};
  }
  throw cutOff(ANTHROPIC);
}

function take(block, {index, delta}, pieces, on) {
  if (delta.type === "text_delta") {
    block.text += delta.text;
    on({kind: "text", text: delta.text});
  } else if (delta.type === "input_json_delta") pieces[index] += delta.partial_json;
  else if (delta.type === "thinking_delta") {
    block.thinking += delta.thinking;
    on({kind: "thought", text: delta.thinking});
  } else if (delta.type === "signature_delta") block.signature = (block.signature ?? "") + delta.signature;
}

function finish(block, text, calls) {
  if (block?.type !== "tool_use") return;
  const {args, problem} = parseArguments(text);
  block.input = args;
  calls.push({id: block.id, name: block.name, args, problem});
}

function addUsage(usage, given = {}) {
  if (given.input_tokens) usage.input = given.input_tokens + (given.cache_read_input_tokens ?? 0) + (given.cache_creation_input_tokens ?? 0);
  if (given.output_tokens) usage.output = given.output_tokens;
}

function asMessages({role, text, native, calls}) {
  if (role !== "native") return [{role, content: [{type: "text", text}]}];
  const results = calls.map((call) => {
    const {text: content, isError} = outputOf(call);
    return {type: "tool_result", tool_use_id: call.id, content, ...(isError && {is_error: true})};
  });
  const said = native.filter((block) => block.type !== "text" || block.text);
  return [...(said.length ? [{role: "assistant", content: said}] : []), ...(results.length ? [{role: "user", content: results}] : [])];
}

function joined(list) { // results of tools and what the user said next are one message, results first
  const out = [];
  for (const {role, content} of list) {
    if (out.at(-1)?.role === role) out.at(-1).content.push(...content);
    else out.push({role, content: [...content]});
  }
  return out;
}

const GOOGLE = "Google";
const REFUSED = new Set(["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "LANGUAGE"]);

const googleHeaders = (config) => ({"x-goog-api-key": config.key});

export const google = {
  async models(config, signal) {
    const {models: list} = await getJson(GOOGLE, `${config.address}/models?pageSize=1000`, googleHeaders(config), signal);
    return list
      .filter((model) => !model.supportedGenerationMethods || model.supportedGenerationMethods.includes("generateContent"))
      .map((model) => ({id: model.name.replace(/^models\//, ""), title: model.displayName ?? model.name}));
  },
  async round(config, {system, tools, ...asked}, {signal, on}) {
    const declared = tools.map(({name, description, schema}) => ({name, description, parametersJsonSchema: schema}));
    const body = {
      contents: [...messages(asked)].flatMap(asContents),
      systemInstruction: {parts: [{text: system}]},
      ...(declared.length && {tools: [{functionDeclarations: declared}]}),
    };
    const url = `${config.address}/models/${encodeURIComponent(config.model)}:streamGenerateContent?alt=sse`;
    return readChunks(await post(GOOGLE, url, googleHeaders(config), body, signal), signal, on);
  },
};

async function readChunks(response, signal, on) {
  const parts = [], usage = {input: 0, output: 0};
  let finish = null;
  for await (const chunk of jsonEvents(response, signal)) {
    if (chunk === null) continue;
    if (chunk.error) throw explain(GOOGLE, {status: chunk.error.code, code: chunk.error.status, said: chunk.error.message});
    if (chunk.promptFeedback?.blockReason) throw new ProviderError("refused", t`Google does not answer this (${chunk.promptFeedback.blockReason}).`);
    const [candidate] = chunk.candidates ?? [];
    for (const part of candidate?.content?.parts ?? []) takePart(part, parts, on);
    finish = candidate?.finishReason ?? finish;
    const counts = chunk.usageMetadata;
    if (counts) Object.assign(usage, {input: counts.promptTokenCount ?? 0, output: (counts.candidatesTokenCount ?? 0) + (counts.thoughtsTokenCount ?? 0)});
  }
  if (!finish) throw cutOff(GOOGLE);
  const calls = parts.filter((part) => part.functionCall).map(asCall);
  return {native: parts, calls, usage, stop: stopOf(finish, calls)};
}

function stopOf(finish, calls) {
  if (calls.length) return "tools";
  if (finish === "MAX_TOKENS") return "length";
  if (REFUSED.has(finish)) return "refused";
  if (finish === "STOP") return "end";
  throw explain(GOOGLE, {said: `the model ended with ${finish}`});
}

function takePart(part, parts, on) {
  if (part.text && !part.functionCall) on({kind: part.thought ? "thought" : "text", text: part.text});
  if (part.text === "" && !part.thoughtSignature) return;
  const last = parts.at(-1);
  const joins = last && isPlain(last) && isPlain(part) && Boolean(last.thought) === Boolean(part.thought);
  if (joins) last.text += part.text;
  else parts.push({...part});
}

const isPlain = (part) => typeof part.text === "string" && !part.thoughtSignature;

const asCall = ({functionCall: {id, name, args}}, index) => ({id: id ?? `call-${index}`, ownId: id, name, args: args ?? {}});

function asContents({role, text, native, calls}) {
  if (role !== "native") return [{role: role === "assistant" ? "model" : "user", parts: [{text}]}];
  const answers = calls.map((call) => {
    const {text: result, isError} = outputOf(call);
    return {functionResponse: {...(call.ownId && {id: call.ownId}), name: call.wireName, response: isError ? {error: result} : {result}}};
  });
  return [...(native.length ? [{role: "model", parts: native}] : []), ...(answers.length ? [{role: "user", parts: answers}] : [])];
}
