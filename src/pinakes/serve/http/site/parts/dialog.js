import {html, render, useEffect, useId, useRef} from "../core/html.js";
import {Icon} from "./icon.js";

export function Dialog({title, onClose, children, wide = false}) {
  const element = useRef(), label = useId();
  useEffect(() => {
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
  const onClick = (event) => event.target === element.current && onClose();
  return html`<dialog ref=${element} class=${wide ? "wide-dialog" : ""} aria-labelledby=${label} onCancel=${close} onClick=${onClick}>
    <div class="dialog-body">
      <header><h2 id=${label}>${title}</h2><button type="button" class="quiet-button" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}

// Ask a question with two answers; resolves to whether it was confirmed.
export function confirm(question, {title = "Are you sure?", yes = "Yes", no = "No", danger = false} = {}) {
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
