// OpenRouter: Chat Completions, with comments in the stream and errors as chunks.
import {complete} from "./chat_completions.js";
import {getJson} from "./wire.js";

const NAME = "OpenRouter";

export async function models(config, signal) {
  const {data} = await getJson(NAME, `${config.address}/models`, {}, signal);
  return data
    .filter((model) => !model.supported_parameters || model.supported_parameters.includes("tools"))
    .map(({id, name}) => ({id, title: name ?? id}));
}

export async function round(config, asked, options) {
  return complete(NAME, config, asked, {...options, headers: {"x-title": "Pinakes"}});
}
