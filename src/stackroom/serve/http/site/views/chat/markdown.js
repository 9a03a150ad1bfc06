// Markdown of an answer as nodes: the part of it that models write. HTML in it stays text, pictures become links.
import {html, useMemo} from "../../core/html.js";
import {CodeBlock} from "../../parts/code.js";

export function Markdown({text}) {
  const nodes = useMemo(() => blocks(text.replace(/\r\n?/gu, "\n").split("\n")), [text]);
  return html`<div class="prose">${nodes}</div>`;
}

const FENCE = /^ {0,3}(```+|~~~+)/u, HEADING = /^ {0,3}#{1,6}\s+(\S.*)$/su, RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/u;
const QUOTE = /^ {0,3}> ?/u, ITEM = /^(\s*)([-*+]|(\d{1,9})[.)])\s+(.*)$/su, DIVIDER = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/u;
const DEEPEST = 20; // quotes and lists within each other; what is deeper is a paragraph
const KINDS = [
  [(line) => !line.trim(), () => [1, null]],
  [(line) => FENCE.test(line), code],
  [(line) => HEADING.test(line), ([line]) => [1, html`<p class="heading">${inline(HEADING.exec(line)[1].trimEnd().replace(/(^|\s)#+$/u, ""))}</p>`]],
  [(line) => RULE.test(line), () => [1, html`<hr />`]],
  [(line) => QUOTE.test(line), quote],
  [(line) => ITEM.test(line), list],
  [(line, next = "") => line.includes("|") && next.includes("|") && DIVIDER.test(next.trim()), table],
];

const kindOf = (lines, at) => KINDS.find(([begins]) => begins(lines[at], lines[at + 1]))?.[1];

function blocks(lines, depth = 0) {
  const out = [];
  for (let at = 0; at < lines.length;) {
    const [used, node] = ((depth < DEEPEST && kindOf(lines, at)) || paragraph)(lines.slice(at), depth);
    out.push(node);
    at += used;
  }
  return out;
}

const countWhile = (lines, holds) => {
  const end = lines.findIndex((line, place) => !holds(line, place));
  return end < 0 ? lines.length : end;
};

function paragraph(lines) {
  const used = countWhile(lines, (_line, place) => place === 0 || !kindOf(lines, place));
  return [used, html`<p>${inline(lines.slice(0, used).map((line) => line.trim()).join("\n"))}</p>`];
}

function code([first, ...rest]) {
  const mark = FENCE.exec(first)[1];
  const used = countWhile(rest, (line) => !line.trim().startsWith(mark));
  return [Math.min(rest.length, used) + 2, html`<${CodeBlock} text=${rest.slice(0, used).join("\n")} what="the code" />`];
}

function quote(lines, depth) {
  const used = countWhile(lines, (line) => QUOTE.test(line));
  return [used, html`<blockquote>${blocks(lines.slice(0, used).map((line) => line.replace(QUOTE, "")), depth + 1)}</blockquote>`];
}

// An item goes on with lines that are further in than its mark, and with lines that begin nothing.
function list(lines, depth) {
  const [, margin, , start] = ITEM.exec(lines[0]), items = [];
  let at = 0;
  for (let found; at < lines.length && (found = ITEM.exec(lines[at])) && found[1].length <= margin.length + 1 && Boolean(found[3]) === Boolean(start);) {
    const inner = found[0].length - found[4].length, after = lines.slice(at + 1);
    const used = countWhile(after, (line, place) => (line.trim() ? indent(line) > margin.length + 1 || !kindOf(after, place) && after[place - 1]?.trim() !== "" : indent(after[place + 1] ?? "") > margin.length + 1));
    items.push([found[4], ...after.slice(0, used).map((line) => line.slice(Math.min(inner, indent(line))))]);
    at += used + 1;
    if (lines[at]?.trim() === "" && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  const nodes = items.map((item) => html`<li>${item.length > 1 ? blocks(item, depth + 1) : inline(item[0])}</li>`);
  return [at, start ? html`<ol start=${start}>${nodes}</ol>` : html`<ul>${nodes}</ul>`];
}

const indent = (line) => (line.trim() ? line.search(/\S/u) : 0);

const cells = (line) => line.trim().replace(/^\||\|$/gu, "").split(/(?<!\\)\|/u).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));

function table(lines) {
  const used = countWhile(lines, (line) => line.includes("|"));
  return [used, html`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="data">
    <thead><tr>${cells(lines[0]).map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
    <tbody>${lines.slice(2, used).map((line) => html`<tr>${cells(line).map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`];
}

// Spans have a longest length, so that a mark that is never closed costs little.
const SPANS = [
  [/\\([!-/:-@[-`{-~])/gu, ([, mark]) => mark],
  [/(`+)([^`]|[^`][\s\S]{0,2000}?[^`])\1(?!`)/gu, ([, , text]) => html`<code>${text.trim()}</code>`],
  [/!?\[((?:\\.|[^\]\\]|\][^(]){0,500})\]\(\s*<?((?:[^\s()<>]|\([^\s()]*\))*)>?(?:\s+"[^"]*")?\s*\)/gu, ([, text, href]) => link(href, text ? inline(text) : href)],
  [/<?(https?:\/\/[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*[^\s<>().,;:!?'"*_~])>?/gu, ([, href]) => link(href, href)],
  [/(\*\*|__|~~)(?=\S)([\s\S]{0,1000}?\S)\1(?![*_])/gu, ([, mark, text]) => html`<${mark === "~~" ? "del" : "strong"}>${inline(text)}<//>`],
  [/(?<![\w*])([*_])(?=[^\s*_])([\s\S]{0,1000}?[^\s*_])\1(?![\w*])/gu, ([, , text]) => html`<em>${inline(text)}</em>`],
  [/\n/gu, () => html`<br />`],
];

// Each pattern is asked for its next place only when the place that it gave is passed.
function inline(text) {
  const out = [], spans = SPANS.map(([pattern, make]) => ({pattern, make, index: -1}));
  for (let at = 0; at < text.length;) {
    for (const span of spans.filter(({index}) => index < at)) {
      span.pattern.lastIndex = at;
      span.found = span.pattern.exec(text);
      span.index = span.found?.index ?? Infinity;
    }
    const {found, index, make} = spans.reduce((first, one) => (one.index < first.index ? one : first));
    out.push(text.slice(at, index));
    if (!found) break;
    out.push(make(found));
    at = index + found[0].length;
  }
  return out;
}

// Links lead to the web, or to a page here; anything else stays its text.
function link(href, label) {
  if (/^\/(?![/\\])/u.test(href)) return html`<a href=${href}>${label}</a>`;
  if (!/^https?:\/\//iu.test(href)) return label;
  return html`<a href=${href} target="_blank" rel="noreferrer noopener">${label}</a>`;
}
