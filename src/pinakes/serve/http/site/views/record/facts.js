import {html} from "../../core/html.js";
import {link} from "../../core/address.js";

const ORDER = ["people", "time", "place", "alternatives", null, "popularity", "picture", "link"];
const LABELS = {alternatives: "Also called"};
const MOST = 24;

// Title and body are shown apart; the others as their roles say how much they tell.
export function ordered(fields) {
  const rest = fields.filter(({role}) => role !== "title" && role !== "body");
  return rest.sort((one, other) => ORDER.indexOf(one.role) - ORDER.indexOf(other.role));
}

export function Facts({catalogue, fields}) {
  return fields.length > 0 && html`<dl class="facts">${fields.map((field) => html`
    <dt key=${field.field}>${LABELS[field.role] ?? field.label}</dt><dd><${Value} catalogue=${catalogue} field=${field} /></dd>`)}</dl>`;
}

function Value({catalogue, field}) {
  const {filter, type, value, text} = field;
  const all = texts(value), several = all.slice(0, MOST);
  if (type === "json") return html`<code>${JSON.stringify(value)}</code>`;
  if (several.some(isPage)) return html`<ul>${several.map((one) => html`<li><${Page} text=${one} /></li>`)}</ul>${more(all)}`;
  if (filter === "values") return html`<span class="chips">${several.map((one) => html`
    <a class="chip" href=${link(path(catalogue), {[`f.${field.field}`]: one})}>${one}</a>`)}</span>${more(all)}`;
  if (filter === "range") return html`<a href=${link(path(catalogue), {[`r.${field.field}`]: `${value}..${value}`})}>${text}</a>`;
  return Array.isArray(value) ? html`${several.join(" · ")}${more(all)}` : text;
}

function Page({text}) {
  if (!isPage(text)) return text;
  return html`<a href=${text} target="_blank" rel="noreferrer noopener">${text.replace(/^https?:\/\/(www\.)?/u, "")}</a>`;
}

export function texts(value) {
  return [value ?? []].flat().map((one) => (one && typeof one === "object" ? one.value ?? JSON.stringify(one) : String(one)));
}

const isPage = (text) => /^https?:\/\/\S+$/iu.test(text);
const path = (catalogue) => `/c/${encodeURIComponent(catalogue)}`;
const more = (all) => all.length > MOST && html` <span class="quiet">and ${all.length - MOST} more</span>`;
