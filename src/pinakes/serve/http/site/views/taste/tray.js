// The tray at the foot of every page but its own: what is liked and disliked, and the way to more like it.
import {html} from "../../core/html.js";
import {link} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {useStore, useStyle} from "../../core/store.js";
import {Icon} from "../../parts/basics.js";
import {clear, isEmpty, parametersOf, taste} from "./store.js";

export default function Tray({address}) {
  const tray = useStore(taste), isStyled = useStyle("views/record/record.css");
  if (!isStyled || isEmpty(tray) || address.path.startsWith("/taste/")) return null;
  const said = [plural(tray.likes.length, "like"), tray.dislikes.length > 0 && plural(tray.dislikes.length, "dislike")].filter(Boolean).join(", ");
  const names = tray.likes.map((one) => one.title).reverse();
  return html`<aside class="tray" aria-label="Taste">
    <${Icon} name="like" />
    <p><b>${said}</b> <span class="quiet">${names.slice(0, 3).join(", ")}</span></p>
    <a class="button small" href=${link(`/taste/${encodeURIComponent(tray.catalogue)}`, parametersOf(tray))}>Recommend</a>
    <button type="button" class="quiet-button" aria-label="Empty the tray" onClick=${clear}><${Icon} name="close" /></button>
  </aside>`;
}
