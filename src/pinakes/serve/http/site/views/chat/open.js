// Open the chat from any part of the page, with a text in its box.
import {createStore, showDock} from "../../core/store.js";

export const draft = createStore("");

export function openChat(text = "") {
  if (text) draft.set(text);
  showDock("chat");
}
