// The fields of the result set: values with counts to choose from, and the distribution of numbers with two handles.
import {html, useState} from "../../core/html.js";
import {change} from "../../core/address.js";
import {number} from "../../core/format.js";
import {useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {Histogram} from "./histogram.js";
import {useAnswer} from "./shared.js";

const FEW = 6, LOOKED_FOR_AFTER_MS = 150;

export function Facets({facets, path, params, isCurrent}) {
  const isStyled = useStyle("views/explore/facets.css");
  if (!isStyled) return null;
  if (!facets.length) return html`<p class="quiet">Nothing to filter by.</p>`;
  return facets.map((facet) => html`<fieldset key=${facet.field} class="facet">
    <legend>${facet.label}</legend>
    ${facet.bars ? html`<${Histogram} facet=${facet} />` : html`<${Values} facet=${facet} path=${path} params=${params} isCurrent=${isCurrent} />`}
  </fieldset>`);
}

function Values({facet, path, params, isCurrent}) {
  const [isOpen, setOpen] = useState(false), [like, setLike] = useState("");
  const ask = like && `${path}?${params}&parts=facets&facet=${encodeURIComponent(facet.field)}&like=${encodeURIComponent(like)}`;
  const found = useAnswer(ask || null, LOOKED_FOR_AFTER_MS);
  const {values, total} = (like && found.answer?.facets[0]) || facet;
  const shown = isOpen || like ? values : values.filter((one, place) => place < FEW || one.chosen || one.excluded);
  const most = Math.max(1, ...values.map(({count}) => count));
  return html`
    ${isOpen && total > values.length && html`<input type="search" class="like" aria-label=${`Find a value of ${facet.label}`} placeholder=${`Find in ${number(facet.total)}`}
      value=${like} onInput=${({target}) => setLike(target.value.trim())} />`}
    <ul>${shown.map((one) => html`<${Value} key=${one.value} one=${one} field=${facet.field} share=${one.count / most} params=${params} isCurrent=${isCurrent} />`)}</ul>
    ${!shown.length && html`<p class="quiet">${like ? "None like this." : "None."}</p>`}
    ${total > FEW && html`<button type="button" class="link" aria-expanded=${isOpen} onClick=${() => { setOpen(!isOpen); setLike(""); }}>
      ${isOpen ? "Fewer" : `More of ${number(total)}`}</button>`}`;
}

// What was chosen by hand is shown at once; what the query says is known by the answer, and changed in the query.
function Value({one: {value, count, chosen, excluded}, field, share, params, isCurrent}) {
  const is = (one) => one.toLowerCase() === value.toLowerCase(), others = (name) => params.getAll(name).filter((one) => !is(one));
  const wanted = `f.${field}`, leftOut = `x.${field}`, isWanted = params.getAll(wanted).some(is), isOut = params.getAll(leftOut).some(is);
  const isSaid = isCurrent && (chosen && !isWanted || excluded && !isOut);
  const toggle = (name, isOn) => change({[wanted]: others(wanted), [leftOut]: others(leftOut), ...(!isOn && {[name]: [...others(name), value]})});
  const isGone = isOut || isSaid && excluded;
  return html`<li class=${`value ${isGone ? "out" : ""}`} style=${{"--share": share.toFixed(2)}}>
    <label class="inline"><input type="checkbox" checked=${isWanted || isSaid && chosen} disabled=${isSaid} onChange=${() => toggle(wanted, isWanted)} />
      <span class="value-name">${value}</span><span class="value-count">${number(count)}</span></label>
    <button type="button" class="quiet-button" aria-pressed=${isGone} disabled=${isSaid} aria-label=${`Leave out ${value}`} title="Leave out"
      onClick=${() => toggle(leftOut, isOut)}><${Icon} name="close" /></button>
  </li>`;
}
