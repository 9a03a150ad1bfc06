// The fields of the result set: values with counts to choose from, and the distribution of numbers with two handles.
import {html, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {number} from "../../core/format.js";
import {useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {Histogram} from "./histogram.js";
import {useAnswer} from "./shared.js";

const FEW = 6, LOOKED_FOR_AFTER_MS = 150;

export function Facets({facets, path, params}) {
  const isStyled = useStyle("views/explore/facets.css");
  if (!isStyled) return null;
  if (!facets.length) return html`<p class="quiet">Nothing to filter by.</p>`;
  return facets.map((facet) => html`<fieldset key=${facet.field} class="facet">
    <legend>${facet.label}</legend>
    ${facet.bars ? html`<${Histogram} facet=${facet} />` : html`<${Values} facet=${facet} path=${path} params=${params} />`}
  </fieldset>`);
}

function Values({facet, path, params}) {
  const [isOpen, setOpen] = useState(false), [like, setLike] = useState("");
  const ask = like && `${path}?${params}&parts=facets&facet=${encodeURIComponent(facet.field)}&like=${encodeURIComponent(like)}`;
  const found = useAnswer(ask || null, LOOKED_FOR_AFTER_MS);
  const {values, total} = (like && found.answer?.facets[0]) || facet;
  const shown = isOpen || like ? values : values.filter((one, place) => place < FEW || one.chosen || one.excluded);
  const most = Math.max(1, ...values.map(({count}) => count));
  return html`
    ${isOpen && total > values.length && html`<input type="search" class="like" aria-label=${`Find a value of ${facet.label}`} placeholder=${`Find in ${number(facet.total)}`}
      value=${like} onInput=${({target}) => setLike(target.value.trim())} />`}
    <ul>${shown.map((one) => html`<${Value} key=${one.value} one=${one} field=${facet.field} share=${one.count / most} params=${params} />`)}</ul>
    ${!shown.length && html`<p class="quiet">${like ? "None like this." : "None."}</p>`}
    ${total > FEW && html`<button type="button" class="link" aria-expanded=${isOpen} onClick=${() => { setOpen(!isOpen); setLike(""); }}>
      ${isOpen ? "Fewer" : `More of ${number(total)}`}</button>`}`;
}

function Value({one: {value, count, chosen, excluded}, field, share, params}) {
  const toggle = (kind, isOn) => {
    const name = `${kind}.${field}`, others = params.getAll(name).filter((one) => one.toLowerCase() !== value.toLowerCase());
    const opposite = `${kind === "f" ? "x" : "f"}.${field}`;
    change({[name]: isOn ? others : [...others, value], [opposite]: params.getAll(opposite).filter((one) => one !== value)});
  };
  return html`<li class=${`value ${excluded ? "out" : ""}`} style=${{"--share": share.toFixed(2)}}>
    <label class="inline"><input type="checkbox" checked=${chosen} onChange=${() => toggle("f", chosen)} />
      <span class="value-name">${value}</span><span class="value-count">${number(count)}</span></label>
    <button type="button" class="quiet-button" aria-pressed=${excluded} aria-label=${`Leave out ${value}`} title="Leave out"
      onClick=${() => toggle("x", excluded)}><${Icon} name="close" /></button>
  </li>`;
}
