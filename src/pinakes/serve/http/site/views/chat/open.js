// Open the chat from any part of the page, with a text in its box.
import {showDock} from "../../core/docks.js";
import {createStore} from "../../core/store.js";

export const draft = createStore("");

export function openChat(text = "") {
  if (text) draft.set(text);
  showDock("chat");
}
