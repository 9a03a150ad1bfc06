// Names of tools as providers allow them (letters, digits, _ and -, at most 64), and a table for the way back.

const LONGEST = 64;

export function nameTable(names) {
  const out = new Map(), back = new Map();
  for (const name of names) {
    const plain = name.replaceAll(".", "__").replace(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST);
    let wire = plain;
    for (let n = 2; back.has(wire); n += 1) wire = `${plain.slice(0, LONGEST - 1 - String(n).length)}_${n}`;
    out.set(name, wire);
    back.set(wire, name);
  }
  return {toWire: (name) => out.get(name), fromWire: (wire) => back.get(wire)};
}
