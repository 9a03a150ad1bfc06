// OpenAI's Responses, streamed; for other servers of OpenAI's kind, Chat Completions.
import {complete, errorMarked} from "./chat_completions.js";
import {messages, parseArguments} from "./history.js";
import {cutOff, explain, getJson, jsonEvents, post} from "./wire.js";

const NAME = "OpenAI";
const OTHER_KINDS = /embedding|whisper|tts|dall-e|moderation|image|audio|realtime|transcribe|search|davinci|babbage|sora/;

const bearer = (config) => (config.key ? {authorization: `Bearer ${config.key}`} : {});

export async function models(config, signal) {
  const {data} = await getJson(NAME, `${config.address}/models`, bearer(config), signal);
  return data.map(({id}) => ({id, title: id})).filter(({id}) => !OTHER_KINDS.test(id)).sort((a, b) => a.id.localeCompare(b.id));
}

export async function round(config, asked, options) {
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
}

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
  const whole = incomplete ? output.filter((item) => item.status !== "incomplete") : output;
  const calls = whole.filter((item) => item.type === "function_call").map((item) => ({id: item.call_id, name: item.name, ...parseArguments(item.arguments ?? "")}));
  const stop = incomplete ? (incomplete.reason === "content_filter" ? "refused" : "length") : calls.length ? "tools" : "end";
  return {native: whole, calls, usage: {input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0}, stop};
}

function asItems({role, text, native, calls}) {
  if (role !== "native") return [{role, content: text}];
  return [...native, ...calls.map((call) => ({type: "function_call_output", call_id: call.id, output: errorMarked(call)}))];
}
