import {html, useState} from "../core/html.js";
import {useKeys} from "../core/keys.js";

// "/" goes to the search box of the view, "?" lists the keys.
export function KeysHelp() {
  const [List, setList] = useState(null);
  useKeys("Page", {
    "/": ["search", focusSearch],
    "?": ["list the keys", () => void import("./keys_list.js").then((found) => setList(() => found.KeysList))],
  });
  return List && html`<${List} onClose=${() => setList(null)} />`;
}

function focusSearch() {
  const box = document.querySelector("input[type=search]");
  box?.focus();
  box?.select();
  return box !== null;
}
