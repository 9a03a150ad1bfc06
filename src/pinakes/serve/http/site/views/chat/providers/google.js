// Google's streamGenerateContent: parts come whole, and go back with their signatures unchanged.
import {ProviderError, cutOff, explain, getJson, jsonEvents, messages, outputOf, post} from "./wire.js";

const NAME = "Google";
const REFUSED = new Set(["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "LANGUAGE"]);

const headersOf = (config) => ({"x-goog-api-key": config.key});

export async function models(config, signal) {
  const {models: list} = await getJson(NAME, `${config.address}/models?pageSize=1000`, headersOf(config), signal);
  return list
    .filter((model) => !model.supportedGenerationMethods || model.supportedGenerationMethods.includes("generateContent"))
    .map((model) => ({id: model.name.replace(/^models\//, ""), title: model.displayName ?? model.name}));
}

export async function round(config, {system, tools, ...asked}, {signal, on}) {
  const declared = tools.map(({name, description, schema}) => ({name, description, parametersJsonSchema: schema}));
  const body = {
    contents: [...messages(asked)].flatMap(asContents),
    systemInstruction: {parts: [{text: system}]},
    ...(declared.length && {tools: [{functionDeclarations: declared}]}),
  };
  const url = `${config.address}/models/${encodeURIComponent(config.model)}:streamGenerateContent?alt=sse`;
  return read(await post(NAME, url, headersOf(config), body, signal), signal, on);
}

async function read(response, signal, on) {
  const parts = [], usage = {input: 0, output: 0};
  let finish = null;
  for await (const chunk of jsonEvents(response, signal)) {
    if (chunk === null) continue;
    if (chunk.error) throw explain(NAME, {status: chunk.error.code, code: chunk.error.status, said: chunk.error.message});
    if (chunk.promptFeedback?.blockReason) throw new ProviderError("refused", `Google does not answer this (${chunk.promptFeedback.blockReason}).`);
    const [candidate] = chunk.candidates ?? [];
    for (const part of candidate?.content?.parts ?? []) take(part, parts, on);
    finish = candidate?.finishReason ?? finish;
    const counts = chunk.usageMetadata;
    if (counts) Object.assign(usage, {input: counts.promptTokenCount ?? 0, output: (counts.candidatesTokenCount ?? 0) + (counts.thoughtsTokenCount ?? 0)});
  }
  if (!finish) throw cutOff(NAME);
  const calls = parts.filter((part) => part.functionCall).map(asCall);
  return {native: parts, calls, usage, stop: stopOf(finish, calls)};
}

function stopOf(finish, calls) {
  if (calls.length) return "tools";
  if (finish === "MAX_TOKENS") return "length";
  if (REFUSED.has(finish)) return "refused";
  if (finish === "STOP") return "end";
  throw explain(NAME, {said: `the model ended with ${finish}`});
}

function take(part, parts, on) {
  if (part.text && !part.functionCall) on({kind: part.thought ? "thought" : "text", text: part.text});
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
