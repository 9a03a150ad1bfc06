import {html} from "../core/html.js";
import {keyName, keys} from "../core/keys.js";
import {useStore} from "../core/store.js";
import {Dialog} from "./dialog.js";

export function KeysList({onClose}) {
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    ${useStore(keys).map(({section, bindings}) => html`<h3>${section}</h3><dl class="keys">${Object.entries(bindings).map(([key, [what]]) => html`
      <dt><kbd>${keyName(key)}</kbd></dt><dd>${what}</dd>`)}</dl>`)}
  <//>`;
}
