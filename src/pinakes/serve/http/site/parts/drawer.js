import {html, useEffect, useId, useRef} from "../core/html.js";
import {useKeys} from "../core/keys.js";
import {Icon} from "./icon.js";

// A panel at the side that leaves the view usable; it takes the focus, and gives it back.
export function Drawer({title, onClose, children, label, actions, className = "", takesFocus = true}) {
  const element = useRef(), heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    if (takesFocus) element.current.focus();
    return () => before?.isConnected && before.focus?.();
  }, []);
  useKeys("Drawer", {Escape: ["close the drawer", onClose]});
  return html`<aside ref=${element} class=${`drawer ${className}`} tabindex="-1" aria-labelledby=${label ? undefined : heading} aria-label=${label}>
    <header class="drawer-head">
      <h2 id=${heading}>${title}</h2>
      ${actions}
      <button type="button" class="quiet-button" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button>
    </header>
    <div class="drawer-body">${children}</div>
  </aside>`;
}
