import {html, render, useId, useLayoutEffect, useRef, t} from "../core/html.js";
import {keyName, keys, takeFocus, useKeys} from "../core/keys.js";
import {useStore, useStyle} from "../core/store.js";
import {addIcons, Icon} from "./basics.js";

addIcons({
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  undo: "M8 5 4 9l4 4M4 9h9a6 6 0 0 1 0 12h-3",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  check: "M5 13l4 4L19 7",
});

export function Dialog({title, onClose, children, wide = false}) {
  const element = useRef(), pressed = useRef();
  useStyle("parts/layers.css");
  useLayoutEffect(() => {
    const dialog = element.current, before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  const close = (event) => {
    event.preventDefault();
    onClose();
  };
  const isOutside = ({target}) => target === element.current;
  // Text that is selected with the mouse may end outside; only a press that begins there closes.
  const onPointerDown = (event) => { pressed.current = isOutside(event); };
  const onClick = (event) => pressed.current && isOutside(event) && onClose();
  return html`<dialog ref=${element} class=${wide ? "wide-dialog" : ""} aria-label=${title} onCancel=${close} onPointerDown=${onPointerDown} onClick=${onClick}>
    <div class="dialog-body">
      <header><h2>${title}</h2><button type="button" class="quiet-button" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}

// Ask a question with two answers; resolves to whether it was confirmed.
export function confirm(question, {title = t`Are you sure?`, yes = t`Yes`, no = t`No`, danger = false} = {}) {
  const place = document.body.appendChild(document.createElement("div"));
  return new Promise((resolve) => {
    const answer = (isYes) => {
      render(null, place);
      place.remove();
      resolve(isYes);
    };
    render(html`<${Dialog} title=${title} onClose=${() => answer(false)}>
      <div>${question}</div>
      <div class="row end">
        <button type="button" class="plain" onClick=${() => answer(false)}>${no}</button>
        <button type="button" class=${danger ? "danger" : ""} onClick=${() => answer(true)}>${yes}</button>
      </div>
    <//>`, place);
  });
}

// A panel at the side that leaves the view usable; it takes the focus, and gives it back.
export function Drawer({title, onClose, children, label, actions, className = ""}) {
  const element = useRef(), heading = useId();
  useStyle("parts/layers.css");
  useLayoutEffect(() => {
    const before = document.activeElement;
    takeFocus(element.current);
    return () => before?.isConnected && before.focus?.();
  }, []);
  useKeys(t`Drawer`, {Escape: [t`close the drawer`, onClose]});
  return html`<aside ref=${element} class=${`drawer ${className}`} tabindex="-1" aria-labelledby=${label ? undefined : heading} aria-label=${label}>
    <header class="drawer-head">
      <h2 id=${heading}>${title}</h2>
      ${actions}
      <button type="button" class="quiet-button" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button>
    </header>
    <div class="drawer-body">${children}</div>
  </aside>`;
}

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
    <div ref=${list} class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>${names.map((name, place) => html`
      <button key=${name} type="button" role="tab" id=${`${id}-${place}`} aria-selected=${name === chosen} aria-controls=${`${id}-panel`}
        tabindex=${name === chosen ? 0 : -1} onClick=${() => onChoose(name)}>${tabs[name]}</button>`)}</div>
    <div role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${names.indexOf(chosen)}`} tabindex="0">${children}</div>
  </div>`;
}

export function KeysList({onClose}) {
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    ${useStore(keys).map(({section, bindings}) => html`<h3>${section}</h3><dl class="keys">${Object.entries(bindings).map(([key, [what]]) => html`
      <dt><kbd>${keyName(key)}</kbd></dt><dd>${what}</dd>`)}</dl>`)}
  <//>`;
}
