// Texts to copy, and calls as assistants make them.
import {html, useState, t} from "../core/html.js";
import {useStyle} from "../core/store.js";

export function CopyButton({text, what, label = t`Copy`}) {
  const [said, setSaid] = useState(label);
  const copy = async () => {
    setSaid((await copied(text)) ? t`Copied` : t`Copy failed`);
    setTimeout(() => setSaid(label), 1500);
  };
  return html`<button type="button" class="plain small copy" aria-label=${t`Copy ${what}`} onClick=${copy}>${said}</button>`;
}

export function CodeBlock({text, what}) {
  useStyle("parts/layers.css");
  return html`<div class="block"><pre tabindex="0" aria-label=${what}>${text}</pre><${CopyButton} text=${text} what=${what} /></div>`;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers keep the clipboard from pages without TLS; this is the older way.
    const area = Object.assign(document.createElement("textarea"), {value: text, readOnly: true, className: "unseen"});
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

// The call that an assistant would make for what is shown.
export function Call({name, arguments: given}) {
  const text = JSON.stringify({name, arguments: given}, null, 2);
  return html`<details class="call">
    <summary>As your assistant asks it: <code>${name}</code></summary>
    <${CodeBlock} text=${text} what="the call" />
  </details>`;
}
