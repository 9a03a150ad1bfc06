import {html, useState} from "../core/html.js";
import {keyName, keys, useKeys} from "../core/keys.js";
import {useStore} from "../core/store.js";
import {Dialog} from "./dialog.js";

// "/" goes to the search box of the view, "?" lists the keys.
export function KeysHelp() {
  const [isOpen, setOpen] = useState(false), sections = useStore(keys);
  useKeys("Page", {
    "/": ["search", focusSearch],
    "?": ["list the keys", () => setOpen(true)],
  });
  return isOpen && html`<${Dialog} title="Keys" onClose=${() => setOpen(false)}>
    ${sections.map(({section, bindings}) => html`<h3>${section}</h3><dl class="keys">${Object.entries(bindings).map(([key, [what]]) => html`
      <dt><kbd>${keyName(key)}</kbd></dt><dd>${what}</dd>`)}</dl>`)}
  <//>`;
}

function focusSearch() {
  const box = document.querySelector("input[type=search]");
  box?.focus();
  box?.select();
  return box !== null;
}
