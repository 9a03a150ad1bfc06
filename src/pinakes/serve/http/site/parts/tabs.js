import {html, useId, useRef} from "../core/html.js";

// `tabs`: {name: label}; the panel is the caller's children. Arrow keys, Home and End move.
export function Tabs({tabs, chosen, onChoose, label, children}) {
  const id = useId(), list = useRef();
  const names = Object.keys(tabs);
  const move = (event) => {
    const place = names.indexOf(chosen), last = names.length - 1;
    const to = {ArrowRight: (place + 1) % names.length, ArrowLeft: (place + last) % names.length, Home: 0, End: last}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onChoose(names[to]);
    list.current.children[to].focus();
  };
  return html`<div>
    <div ref=${list} class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>${names.map((name) => html`
      <button key=${name} type="button" role="tab" id=${`${id}-${name}`} aria-selected=${name === chosen} aria-controls=${`${id}-panel`}
        tabindex=${name === chosen ? 0 : -1} onClick=${() => onChoose(name)}>${tabs[name]}</button>`)}</div>
    <div role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${chosen}`} tabindex="0">${children}</div>
  </div>`;
}
