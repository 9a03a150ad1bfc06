// Values as people read them, in the language of the interface, and in the reader's own form of it.
import {LOCALE, t, textOf, written} from "./language.js";

export {LOCALE};

export function inWords(name) {
  const words = String(name).replace(/[._-]+/gu, " ").replace(/([a-z])([A-Z])/gu, "$1 $2").toLowerCase().trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function number(value) {
  return String(written(value));
}

// A count and what is counted; in other languages "{} records" has the forms.
export function plural(count, one, many = `${one}s`) {
  return textOf(count === 1 ? `{} ${one}` : `{} ${many}`, [count], `{} ${many}`);
}

export function ago(iso) {
  const seconds = (new Date(iso) - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(LOCALE, {numeric: "auto"});
  const units = [["year", 31557600], ["month", 2629800], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return format.format(Math.round(seconds / size), unit);
}

export function shortened(text, most = 300) {
  return text.length > most ? `${text.slice(0, most).replace(/\s\S*$/u, "")} …` : text;
}

// A value of a record in one line: lists joined, tags by their value, numbers with separators but years without.
export function shown(value, field = "") {
  if (Array.isArray(value)) return value.map((one) => shown(one, field)).join(", ");
  if (value && typeof value === "object") return shown(value.value ?? value.name ?? value.title ?? JSON.stringify(value));
  if (typeof value === "number" && !/year/iu.test(field)) return number(value);
  if (typeof value === "boolean") return value ? t`yes` : t`no`;
  return String(value ?? "");
}
