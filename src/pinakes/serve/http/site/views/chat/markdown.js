// Markdown of an answer as nodes. Tokens come from marked's lexer; HTML in them stays text, pictures become links.
import {Fragment, html} from "../../core/html.js";
import {lexer} from "../../vendor/marked.js";

export function Markdown({text}) {
  return html`<div class="prose">${nodes(lexer(text, {gfm: true, breaks: true}))}</div>`;
}

const nodes = (tokens = []) => tokens.map((token, place) => html`<${Fragment} key=${place}>${node(token)}<//>`);

const BLOCKS = {
  space: () => null,
  def: () => null,
  hr: () => html`<hr />`,
  br: () => html`<br />`,
  heading: ({tokens}) => html`<p class="heading">${nodes(tokens)}</p>`,
  paragraph: ({tokens}) => html`<p>${nodes(tokens)}</p>`,
  blockquote: ({tokens}) => html`<blockquote>${nodes(tokens)}</blockquote>`,
  code: ({text}) => html`<pre tabindex="0">${text}</pre>`,
  list: ({ordered, start, items}) => (ordered ? html`<ol start=${start}>${nodes(items)}</ol>` : html`<ul>${nodes(items)}</ul>`),
  list_item: ({tokens}) => html`<li>${nodes(tokens)}</li>`,
  checkbox: ({checked}) => (checked ? "☑ " : "☐ "),
  table: ({header, rows}) => html`<div class="scroll" tabindex="0"><table class="data">
    <thead><tr>${header.map((cell) => html`<th scope="col">${nodes(cell.tokens)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${nodes(cell.tokens)}</td>`)}</tr>`)}</tbody>
  </table></div>`,
  strong: ({tokens}) => html`<strong>${nodes(tokens)}</strong>`,
  em: ({tokens}) => html`<em>${nodes(tokens)}</em>`,
  del: ({tokens}) => html`<del>${nodes(tokens)}</del>`,
  codespan: ({text}) => html`<code>${text}</code>`,
  escape: ({text}) => text,
  text: ({tokens, text}) => (tokens ? nodes(tokens) : text),
  html: ({raw}) => raw,
  link: ({href, tokens}) => link(href, nodes(tokens)),
  image: ({href, text}) => link(href, text || "picture"),
};

function node(token) {
  return (BLOCKS[token.type] ?? (({raw}) => raw))(token);
}

// Links lead to the web, or to a page here; anything else stays its text.
function link(href, label) {
  if (/^\/(?![/\\])/u.test(href)) return html`<a href=${href}>${label}</a>`;
  if (!/^https?:\/\//iu.test(href)) return label;
  return html`<a href=${href} target="_blank" rel="noreferrer noopener">${label}</a>`;
}
