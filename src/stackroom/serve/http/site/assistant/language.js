// The language of the view: the assistant's where it names one that the document has texts of, else the browser's.
import {useLanguage} from "../core/language.js";
import {translator} from "../core/translate.js";

const texts = JSON.parse(document.getElementById("languages").textContent);

export function speak({locale} = {}) {
  const wanted = [locale, ...navigator.languages].map((one) => String(one).slice(0, 2)), name = wanted.find((one) => one === "en" || one in texts) ?? "en";
  useLanguage(name, texts[name], texts[name] && translator(texts[name]));
}
