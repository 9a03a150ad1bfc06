// The language first, so that every module is evaluated with it; then the page.
import {LANGUAGES, readLanguage, useLanguage} from "./core/language.js";

const wanted = [readLanguage(), ...navigator.languages.map((one) => one.slice(0, 2))].find((one) => one in LANGUAGES) ?? "en";
if (wanted !== "en") {
  const texts = fetch(new URL(`languages/${wanted}.json`, import.meta.url)).then((reply) => reply.json());
  // Where it cannot be loaded, the page is in English.
  await Promise.all([import("./core/translate.js"), texts]).then(([{translator}, found]) => useLanguage(wanted, found, translator(found)), () => {});
}
await import("./app.js");
