// Sizes, times and days as people read them.
import {LOCALE, number} from "./format.js";

export function bytes(count) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const step = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  return `${number(Number((count / 1000 ** step).toPrecision(3)))} ${units[step]}`;
}

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, place) => (place ? String(part).padStart(2, "0") : part)).join(":");
}

export function moment(iso) {
  return new Date(iso).toLocaleString(LOCALE, {dateStyle: "medium", timeStyle: "short"});
}

export function day(iso) {
  return new Date(iso).toLocaleDateString(LOCALE, {dateStyle: "medium"});
}
