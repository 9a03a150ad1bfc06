// The one conversation of the page: which model answers, and which tools it has.
import {address} from "../../core/address.js";
import {mcp} from "../../core/mcp.js";
import {ask} from "../../core/server.js";
import {createStore} from "../../core/store.js";
import {PROVIDERS, chosen, findProblem} from "./config.js";
import {createChat} from "./loop.js";
import {systemPrompt} from "./prompt.js";
import {createTools, serverTool} from "./tools.js";
import {pageTools} from "./ui_tools.js";

export const cards = createStore([]);

async function openProvider() {
  const settings = chosen();
  const problem = findProblem(settings);
  if (problem) throw problem;
  const {round} = await PROVIDERS[settings.provider].load();
  const source = [settings.provider, settings.protocol, settings.address, settings.model].join(" ");
  return {source, round: (asked, options) => round(settings, asked, options)};
}

const tools = createTools(async () => {
  const client = mcp();
  const [list, {catalogues}] = await Promise.all([client.listTools(), ask("GET", "/v1/catalogues")]);
  cards.set(catalogues);
  return [...(await pageTools(catalogues)), ...list.map((tool) => serverTool(client, tool))];
});

async function systemOf(list) {
  return systemPrompt({instructions: await mcp().instructions(), address: address().url, tools: list});
}

export const chat = createChat({openProvider, openTools: async () => tools, systemOf});
