// Templates in another language: each text between tags, and each attribute that people read, is replaced by its translation.
const HOLE = "\u0001";
const TEXT = /(^|>)([^<>]+)(?=<|$)/gu;
const ATTRIBUTE = /(\s(?:alt|aria-label|description|empty|heading|hint|label|legend|placeholder|submit|title|what)=")([^"\u0001]+)(?=")/gu;
// Without the spaces and holes at its ends.
const INNER = /^[\s\u0001]*(.*?)[\s\u0001]*$/su;

export function translator(texts) {
  const made = new WeakMap();
  const replaced = (all, before, text) => {
    const [, inner] = INNER.exec(text), said = texts[inner.replace(/\s+/gu, " ").replaceAll(HOLE, "{}")];
    return said ? before + text.replace(inner, () => said.replaceAll("{}", HOLE)) : all;
  };
  return (strings) => {
    if (!made.has(strings)) made.set(strings, strings.join(HOLE).replace(TEXT, replaced).replace(ATTRIBUTE, replaced).split(HOLE));
    return made.get(strings);
  };
}
