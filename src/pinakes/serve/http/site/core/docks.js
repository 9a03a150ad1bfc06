// The parts that stay while the view changes: the taste tray, the player and the chat.
import {persisted} from "./store.js";

export const docks = persisted("docks", {tray: false, player: false, chat: false});

export function showDock(name) {
  if (!docks.get()[name]) docks.set({[name]: true});
}

export function hideDock(name) {
  docks.set({[name]: false});
}
