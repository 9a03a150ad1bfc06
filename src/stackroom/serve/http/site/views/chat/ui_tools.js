// Tools that act on the page itself. A tool whose part is not there is not offered.
import {go, link} from "../../core/address.js";
import {searchOf} from "../../core/catalogue.js";
import {callTool} from "../../core/server.js";
import {hitOf, partsOf} from "../../parts/found.js";
import {fetchRecord, openRecord} from "../record/open.js";
import {localTool} from "./loop.js";

const VIEWS = ["list", "table", "map", "queue"];
const PAGES = ["home", "search", "music", "run", "tools", "add", "connect", "account"];
const TEXT = {type: "string"};
const KEY = {type: "string", description: "CATALOGUE/ID, as in results of search"};
const KEYS = {type: "array", items: TEXT, description: "Ids of records"};
const IDS = {...KEYS, description: "Ids of tracks, albums or artists"};

export async function pageTools(cards) {
  return [navigate(cards), search(), openOne(), taste(cards), ...(await musicTools(namesOf(cards.filter((card) => card.has_audio))))];
}

const namesOf = (cards) => cards.map(({name}) => name);

// Providers refuse a list of allowed values without any.
const oneOf = (cards) => (cards.length ? {...TEXT, enum: namesOf(cards)} : TEXT);

function navigate(cards) {
  return localTool({
    name: "ui.navigate",
    description: "Show a catalogue on the page: query, filters, sort and view (list, table, map, queue); or another page. Gives what is then shown.",
    properties: {
      catalogue: oneOf(cards),
      query: {type: "string", description: "Leave out to show all"},
      filters: {type: "object", description: "field: [values], or field: {min, max} of numbers, as in search"},
      exclude: {type: "object", description: "Values to leave out, by field"},
      sort: {type: "string", description: "A field; -field for the greatest first"},
      view: {type: "string", enum: VIEWS},
      area: {type: "string", description: "Of the map, as in the address"},
      page: {type: "string", enum: PAGES, description: "Instead of a catalogue"},
    },
    async run(args, {signal}) {
      if (!args.catalogue) return visit(PAGES.indexOf(args.page) > 0 ? `/${args.page}` : "/");
      const card = cards.find(({name}) => name === args.catalogue);
      if (!card) throw new Error(`there is no catalogue "${args.catalogue}"; there are: ${namesOf(cards).join(", ")}`);
      if (args.view && !VIEWS.includes(args.view)) throw new Error(`there is no view "${args.view}"; there are: ${VIEWS.join(", ")}`);
      if (args.view === "map" && card.has_map === false) throw new Error(`${args.catalogue} has no map yet; use list or table`);
      if (args.view === "queue" && !card.has_audio) throw new Error(`${args.catalogue} has nothing to play; use list, table or map`);
      const address = addressOf(args);
      const asked = searchOf(args.catalogue, new URL(address, location.href).searchParams, {limit: 5, include: ["counts"]});
      const {total, listed, evidence, notes, results} = await callTool("search", asked, {signal});
      return {...visit(address), total, listed, evidence, notes, first: results.map((one) => one.title)};
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
    run: ({query}) => visit(link("/search", {q: query})),
  });
}

function openOne() {
  return localTool({
    name: "ui.open",
    description: "Open one record beside the page.",
    properties: {id: KEY},
    required: ["id"],
    async run({id}) {
      if (!/^[^/]+\/./u.test(id)) throw new Error(`"${id}" is not the key of a record; one is CATALOGUE/ID, as in results of search`);
      await callTool("fetch", {id});
      openRecord(id);
      return {opened: id};
    },
  });
}

// The tray of the taste page is an address, too.
function taste(cards) {
  return localTool({
    name: "ui.taste",
    description: "Show what fits a taste: liked and disliked records of a catalogue, and a sentence.",
    properties: {catalogue: oneOf(cards), likes: KEYS, dislikes: KEYS, sentence: TEXT},
    required: ["catalogue"],
    run({catalogue, likes = [], dislikes = [], sentence}) {
      const bare = (key) => (key.startsWith(`${catalogue}/`) ? key.slice(catalogue.length + 1) : key);
      return visit(link(`/taste/${encodeURIComponent(catalogue)}`, {like: likes.map(bare), dislike: dislikes.map(bare), q: sentence}));
    },
  });
}

// Offered where catalogues have audio; an id without one of them is of the first.
async function musicTools(catalogues) {
  if (!catalogues.length) return [];
  const {createPlaylist, current, enqueue, listMusic, next, pause, play, previous, queue, resume, setLike} = await import("../music/queue.js");
  const now = () => ({said: current() ? `Now: ${current().name}; in the queue: ${queue.get().tracks.length}` : "The queue is empty."});
  const after = (act) => async () => {
    await act();
    return now();
  };
  const placeOf = (id) => {
    const catalogue = catalogues.find((name) => id.startsWith(`${name}/`));
    return {catalogue: catalogue ?? catalogues[0], id: catalogue ? id.slice(catalogue.length + 1) : id, limit: 200};
  };
  const lists = (kind, id) => listMusic(kind, placeOf(id));
  const tracksOf = async (ids) => (await Promise.all(ids.slice(0, 50).map(tracksOfOne))).flat();
  const tracksOfOne = async (id) => {
    const place = placeOf(id), {tile: {kind}} = await fetchRecord(`${place.catalogue}/${place.id}`), found = await lists(kind, id);
    return found.tracks?.items ?? [found.item];
  };
  const itemOf = async (kind, id) => (await lists(kind, id)).item;
  return [
    {
      name: "ui.play",
      description: "Play tracks, albums or artists now; without ids go on with what was paused.",
      properties: {ids: IDS},
      async run({ids = []}) {
        if (!ids.length) return after(resume)();
        const tracks = await tracksOf(ids);
        if (!tracks.some((one) => one.playable)) throw new Error("none of these has a file to play");
        play(tracks);
        return now();
      },
    },
    {
      name: "ui.enqueue",
      description: "Add tracks, albums or artists to the end of the queue.",
      properties: {ids: IDS},
      required: ["ids"],
      async run({ids}) {
        enqueue(await tracksOf(ids));
        return now();
      },
    },
    {name: "ui.pause", description: "Pause the music.", run: after(pause)},
    {name: "ui.next", description: "Go on to the next track.", run: after(next)},
    {name: "ui.previous", description: "Go back to the track before.", run: after(previous)},
    {
      name: "ui.likeAlbum",
      description: "Like an album for the user, who is asked first.",
      properties: {id: TEXT},
      required: ["id"],
      isWrite: true,
      preview: async ({id}) => ({like: (await itemOf("album", id)).name}),
      async run({id}) {
        const album = await itemOf("album", id);
        await setLike(album.id, true);
        return {said: `Liked: ${album.name}`};
      },
    },
    {
      name: "ui.createPlaylist",
      description: "Make a playlist of tracks for the user, who is asked first.",
      properties: {name: TEXT, tracks: {...IDS, description: "Ids of tracks"}},
      required: ["name", "tracks"],
      isWrite: true,
      preview: async ({name, tracks}) => ({playlist: name, tracks: (await tracksOf(tracks)).map((one) => one.name)}),
      async run({name, tracks}) {
        const chosen = await tracksOf(tracks);
        await createPlaylist(name, {tracks: chosen.map((one) => one.id)});
        return {said: `Made the playlist ${name}: ${chosen.length} tracks`};
      },
    },
  ].map(localTool);
}

// The address at which Explore shows what a call of a search or of browse asked for, and what its export is given; null where there is none.
export function placesOf({name, args, result}, catalogues) {
  const {query, catalogue, filters, exclude, sort, by, of, field} = args ?? {}, isBrowse = name === "browse";
  if (typeof query !== "string" && !(isBrowse && catalogue)) return null;
  const found = new Set(catalogue ? [catalogue] : partsOf(result).sections.flatMap(({items}) => items.map((item) => hitOf(item).catalogue)));
  const [own] = found.size === 1 ? found : [];
  if (!catalogues.includes(own)) return {explore: link("/search", {q: query})};
  const asked = {query: query || "*", catalogue: own, filters, exclude, ...(!isBrowse && {sort})}, groups = by ?? (field && [field]);
  const given = isBrowse && (groups || of) ? {browse: JSON.stringify({...args, catalogue: own, by: groups, field: null, search: null})} : {search: JSON.stringify(asked)};
  return {explore: addressOf({...asked, query}), given: isBrowse || name === "search" ? given : null};
}

function addressOf({catalogue, query, filters, exclude, sort, view, area}) {
  const params = new URLSearchParams(query ? {q: query} : {});
  for (const [field, wanted] of Object.entries(filters ?? {})) addFilter(params, field, wanted);
  for (const [field, values] of Object.entries(exclude ?? {})) for (const value of [values].flat()) params.append(`x.${field}`, value);
  return link(`/c/${encodeURIComponent(catalogue)}`, {sort, view, area}, params);
}

function addFilter(params, field, wanted) {
  if (wanted !== null && typeof wanted === "object" && !Array.isArray(wanted)) params.set(`r.${field}`, `${wanted.min ?? ""}..${wanted.max ?? ""}`);
  else for (const value of [wanted].flat()) params.append(`f.${field}`, value);
}
