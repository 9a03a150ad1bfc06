// The language of the interface. English texts are the keys of all others, whose files are loaded only where they are chosen.
export const LANGUAGES = {en: "English", de: "Deutsch"};
const KEY = "language";

export let language = "en";
export let LOCALE = localeOf("en");
let texts = null, translate = null, rules = null;

export function useLanguage(name, found, translator) {
  [language, LOCALE, texts, translate, rules] = [name, localeOf(name), found, translator, new Intl.PluralRules(name)];
  document.documentElement.lang = name;
}

export function readLanguage() {
  try {
    return JSON.parse(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function chooseLanguage(name) {
  localStorage.setItem(KEY, JSON.stringify(name));
  location.reload();
}

// A text with values in it: t`${count} of ${total}` has the key "{} of {}". A language may have a form for each plural of the first number.
export const t = (strings, ...values) => textOf(strings.join("{}"), values);

export function textOf(english, values, key = english) {
  const said = texts?.[key] || english;
  const form = typeof said === "string" ? said : said[rules.select(values.find(Number.isFinite))] ?? said.other;
  let next = 0;
  return form.replace(/\{(\d?)\}/gu, (_hole, place) => written(values[place || next++]));
}

// A tag of templates whose texts are in the language.
export const inLanguage = (build) => (strings, ...values) => build(translate ? translate(strings) : strings, ...values);

export const written = (value) => (typeof value === "number" ? value.toLocaleString(LOCALE, {maximumFractionDigits: 2}) : value);

function localeOf(name) {
  return navigator.languages.find((one) => one.startsWith(name)) ?? name;
}
