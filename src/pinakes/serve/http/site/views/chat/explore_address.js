// Addresses of Explore for what a tool was asked.
import {hitOf, partsOf} from "../../parts/found.js";

// The address at which Explore shows what a call of a search asked for; null where there is none.
export function exploreAddress(call, catalogues) {
  const {query, catalogue, filters, exclude} = call.args ?? {};
  if (typeof query !== "string") return null;
  const of = new Set(partsOf(call.result).sections.flatMap(({items}) => items.map((item) => hitOf(item).catalogue)));
  const name = catalogue ?? (of.size === 1 ? [...of][0] : null);
  if (!name || !catalogues.includes(name)) return `/search?${new URLSearchParams({q: query})}`;
  return addressOf({catalogue: name, query, filters, exclude});
}

export function addressOf({catalogue, query, filters, exclude, sort, view, open}) {
  const params = new URLSearchParams();
  if (query) params.set("q", query);
  for (const [field, wanted] of Object.entries(filters ?? {})) addFilter(params, field, wanted);
  for (const [field, values] of Object.entries(exclude ?? {})) for (const value of [values].flat()) params.append(`x.${field}`, value);
  for (const [name, value] of Object.entries({sort, view, open})) if (value) params.set(name, value);
  const asked = params.toString();
  return `/c/${encodeURIComponent(catalogue)}${asked ? `?${asked}` : ""}`;
}

function addFilter(params, field, wanted) {
  if (wanted !== null && typeof wanted === "object" && !Array.isArray(wanted)) params.set(`r.${field}`, `${wanted.min ?? ""}..${wanted.max ?? ""}`);
  else for (const value of [wanted].flat()) params.append(`f.${field}`, value);
}
