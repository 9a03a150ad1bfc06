import {html} from "../core/html.js";
import {CodeBlock} from "./copy.js";

// The call that an assistant would make for what is shown.
export function Call({name, arguments: given, label = "As your assistant asks it"}) {
  const text = JSON.stringify({name, arguments: given}, null, 2);
  return html`<details class="call">
    <summary>${label}: <code>${name}</code></summary>
    <${CodeBlock} text=${text} what="the call" />
  </details>`;
}
