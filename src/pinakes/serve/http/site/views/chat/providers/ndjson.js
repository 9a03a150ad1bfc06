// One JSON value a line; a last line that was cut is left out.
import {lines} from "./lines.js";

export async function* values(response, signal) {
  for await (const line of lines(response, signal)) {
    if (!line.trim()) continue;
    let value;
    try { value = JSON.parse(line); } catch { continue; }
    yield value;
  }
}
