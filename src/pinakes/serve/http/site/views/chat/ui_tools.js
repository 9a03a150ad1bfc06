// Tools that act on the page itself. A tool whose part is not there is not offered.
import {go, link} from "../../core/address.js";
import {ask} from "../../core/server.js";
import {addressOf} from "./explore_address.js";
import {localTool} from "./tools.js";

const VIEWS = ["list", "table", "map", "queue"];
const PAGES = {home: "/", search: "/search", music: "/music", run: "/run", tools: "/tools", add: "/add", connect: "/connect", account: "/account"};
const TEXT = {type: "string"};
const KEY = {type: "string", description: "CATALOGUE/ID, as in results of search"};
const KEYS = {type: "array", items: TEXT, description: "Ids of records"};

export async function pageTools(cards) {
  return [navigate(cards), search(), openOne(), taste(cards), ...(await musicTools(cards))];
}

function navigate(cards) {
  return localTool({
    name: "ui.navigate",
    description: "Show a catalogue on the page: query, filters, sort and view (list, table, map, queue); or another page. Gives what is then shown.",
    properties: {
      catalogue: {type: "string", enum: cards.map((card) => card.name)},
      query: {type: "string", description: "What to find, by meaning and words; leave out to show all"},
      filters: {type: "object", description: "field: [values], or field: {min, max} of numbers, as in search"},
      exclude: {type: "object", description: "Values to leave out, by field"},
      sort: {type: "string", description: "A field; -field for the greatest first"},
      view: {type: "string", enum: VIEWS},
      page: {type: "string", enum: Object.keys(PAGES), description: "Instead of a catalogue"},
    },
    async run(args, {signal}) {
      if (!args.catalogue) return visit(PAGES[args.page] ?? "/");
      const card = cards.find(({name}) => name === args.catalogue);
      if (!card) throw new Error(`there is no catalogue "${args.catalogue}"; there are: ${cards.map(({name}) => name).join(", ")}`);
      if (args.view && !VIEWS.includes(args.view)) throw new Error(`there is no view "${args.view}"; there are: ${VIEWS.join(", ")}`);
      if (args.view === "map" && card.has_map === false) throw new Error(`${args.catalogue} has no map yet; use list or table`);
      if (args.view === "queue" && !card.has_audio) throw new Error(`${args.catalogue} has nothing to play; use list, table or map`);
      const address = addressOf(args);
      const shown = await ask("GET", `${address}${address.includes("?") ? "&" : "?"}parts=hits&limit=5`, undefined, {signal});
      return {...visit(address), answer: shown.total, listed: shown.listed, evidence: shown.evidence, first: (shown.hits ?? []).map((hit) => hit.title)};
    },
  });
}

function visit(address) {
  go(address);
  return {shown: address};
}

function search() {
  return localTool({
    name: "ui.search",
    description: "Show the results of a search over all catalogues on the page.",
    properties: {query: TEXT},
    required: ["query"],
    run: ({query}) => visit(`/search?${new URLSearchParams({q: query})}`),
  });
}

function openOne() {
  return localTool({
    name: "ui.open",
    description: "Open one record beside the page.",
    properties: {id: KEY},
    required: ["id"],
    async run({id}) {
      await ask("GET", pathOf(id));
      const {openRecord} = await import("../record/open.js");
      openRecord(id);
      return {opened: id};
    },
  });
}

function pathOf(key) {
  const slash = key.indexOf("/");
  if (slash < 1) throw new Error(`"${key}" is not the key of a record; one is CATALOGUE/ID, as in results of search`);
  return `/c/${encodeURIComponent(key.slice(0, slash))}/${encodeURIComponent(key.slice(slash + 1))}`;
}

// The tray of the taste page is an address, too.
function taste(cards) {
  return localTool({
    name: "ui.taste",
    description: "Show what fits a taste: liked and disliked records of a catalogue, and a sentence.",
    properties: {catalogue: {type: "string", enum: cards.map((card) => card.name)}, likes: KEYS, dislikes: KEYS, sentence: TEXT},
    required: ["catalogue"],
    run({catalogue, likes = [], dislikes = [], sentence}) {
      const bare = (key) => (key.startsWith(`${catalogue}/`) ? key.slice(catalogue.length + 1) : key);
      return visit(link(`/taste/${encodeURIComponent(catalogue)}`, {like: likes.map(bare), dislike: dislikes.map(bare), q: sentence}));
    },
  });
}

async function musicTools(cards) {
  const part = cards.some((card) => card.has_audio) && (await import("./music_tools.js").catch(() => null));
  return part ? part.musicTools(cards).map(localTool) : [];
}
