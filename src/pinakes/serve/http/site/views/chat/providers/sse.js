// Server-sent events of a response: {event, data}; comments are left out, an event without its blank line too.
import {lines} from "./lines.js";

export async function* events(response, signal) {
  let event = "", data = [];
  for await (const line of lines(response, signal)) {
    if (line === "") {
      if (data.length) yield {event, data: data.join("\n")};
      event = "";
      data = [];
    } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line.startsWith("event:")) event = line.slice(6).trim();
  }
}

export async function* jsonEvents(response, signal) {
  for await (const {data} of events(response, signal)) {
    if (data === "[DONE]") { yield null; continue; }
    let value;
    try { value = JSON.parse(data); } catch { continue; }
    yield value;
  }
}
