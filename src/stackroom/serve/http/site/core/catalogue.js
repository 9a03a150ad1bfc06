// What is asked of catalogues: the tools that assistants call, over REST, with the parts that a page draws.
import {callTool} from "./server.js";

// The arguments of a search by the parameters of an address.
export function searchOf(catalogue, params, more = {}) {
  const filters = {}, exclude = {};
  for (const [name, value] of params) {
    const field = name.slice(2), [min, max = min] = value.split("..");
    if (!value) continue;
    if (name.startsWith("f.")) (filters[field] ??= []).push(value);
    if (name.startsWith("x.")) (exclude[field] ??= []).push(value);
    if (name.startsWith("r.")) filters[field] = {...(min && {min}), ...(max && {max})};
  }
  if (filters.adult?.length === 1 && filters.adult[0] === "true") filters.adult = true;
  const area = params.get("area");
  return {query: params.get("q")?.trim() || "*", catalogue, filters, exclude, sort: params.get("sort") ?? "", read_conditions: true, as_words: params.getAll("u"), ...(area && {area}), ...more};
}

// The call by which an assistant finds the same as a search that was understood.
export function callOf({query, filters, exclude}, catalogue, limit = 24) {
  const chosen = {...(Object.keys(filters).length && {filters}), ...(Object.keys(exclude).length && {exclude})};
  return {name: "search", arguments: {query: query || "*", catalogue, ...chosen, limit}};
}

export const CATALOGUES = {include: ["fields"], limit: 200};

export const searchAll = (query) => ({query, limit: 24, include: ["tiles", "counts"]});

// A catalogue as pages show it, of what `browse` answers; its records are those that a list without filters has.
export function overviewOf({name, title, overview}) {
  return {name, title, ...overview, records: overview.listed, has_map: overview.has_vectors};
}

export async function listCatalogues(options) {
  return (await callTool("browse", CATALOGUES, options)).catalogues.map(overviewOf);
}
