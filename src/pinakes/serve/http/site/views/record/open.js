// The record that the drawer shows is a part of the address.
import {change, changed} from "../../core/address.js";

export function openRecord(key) {
  change({open: key});
}

export function recordLink(key) {
  return changed({open: key});
}

export function closeRecord() {
  change({open: null});
}

// The record at CATALOGUE/ID; an id may have slashes.
export function pathOf(key) {
  return `/c/${key.split("/").map(encodeURIComponent).join("/")}`;
}
