// A preview of an edit: each record that would change, its fields before and after, word by word.
import {html} from "../../core/html.js";
import {inWords, plural} from "../../core/format.js";
import {Notice} from "../../parts/notice.js";
import {texts} from "./facts.js";

const OPS = {insert: "New", update: "Changed", delete: "Deleted"};
const MOST_WORDS = 600;

export function Changes({preview, record}) {
  return html`<h3>${preview.total ? `${plural(preview.total, "record")} would change` : "Nothing would change"}</h3>
    ${preview.notes.map((note) => html`<${Notice}>${note}<//>`)}
    <ul class="changes">${preview.changes.map((one) => html`<li key=${one.id}>
      <p><b>${OPS[one.op]}</b> ${one.id === record.id ? record.title : one.id} <span class="quiet">${one.kind}</span></p>
      <dl class="facts">${one.fields.map(({field, before, after}) => html`<dt key=${field}>${inWords(field)}</dt><dd><${Difference} before=${before} after=${after} /></dd>`)}</dl>
    </li>`)}</ul>
    ${preview.has_more && html`<p class="quiet">The first ${preview.changes.length} are shown.</p>`}`;
}

function Difference({before, after}) {
  const [old, fresh] = [before, after].map((value) => texts(value).join(", "));
  if (!old) return html`<ins>${fresh}</ins>`;
  if (!fresh) return html`<del>${old}</del>`;
  return differing(old.split(/(\s+)/u), fresh.split(/(\s+)/u)).map(([kind, text]) =>
    kind === "same" ? text : kind === "old" ? html`<del>${text}</del>` : html`<ins>${text}</ins>`);
}

// The longest common part of two lists of words; very long texts are shown as replaced.
export function differing(old, fresh) {
  if (old.length + fresh.length > MOST_WORDS) return [["old", old.join("")], ["fresh", fresh.join("")]];
  const lengths = Array.from({length: old.length + 1}, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = old[i] === fresh[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  const add = (kind, text) => (parts.at(-1)?.[0] === kind ? (parts.at(-1)[1] += text) : parts.push([kind, text]));
  for (let i = 0, j = 0; i < old.length || j < fresh.length;) {
    if (old[i] === fresh[j]) { add("same", old[i]); i += 1; j += 1; }
    else if (j >= fresh.length || (i < old.length && lengths[i + 1][j] >= lengths[i][j + 1])) add("old", old[i++]);
    else add("fresh", fresh[j++]);
  }
  return parts;
}
