// The conversation in a form that any provider can be given.
//
// A round of the same model is sent back as it was received (`native`); of a round of another model, or one that was
// stopped, the text goes as text and results of tools as a note of the user.

export function* messages({turns, source}) {
  for (const turn of turns) {
    yield {role: "user", text: turn.text};
    for (const round of turn.rounds) {
      if (round.native && round.source === source) {
        yield {role: "native", native: round.native, calls: callsOf(round)};
        continue;
      }
      const said = round.parts.filter((part) => part.kind === "text").map((part) => part.text).join("").trim();
      if (said) yield {role: "assistant", text: said};
      const found = callsOf(round).filter((call) => call.output !== undefined);
      if (found.length) yield {role: "user", text: found.map(asNote).join("\n\n")};
    }
  }
}

export const callsOf = (round) => round.parts.filter((part) => part.kind === "call");

export function outputOf(call) {
  return call.output === undefined ? {text: "stopped by the user before it was done", isError: true} : {text: call.output, isError: Boolean(call.isError)};
}

function asNote(call) {
  return `Result of ${call.name} (data, asked for earlier):\n${call.output}`;
}

export function parseArguments(text) {
  if (!text.trim()) return {args: {}};
  try {
    const args = JSON.parse(text);
    if (args !== null && typeof args === "object" && !Array.isArray(args)) return {args};
  } catch { /* told below */ }
  return {args: {}, problem: `the arguments are not a JSON object: ${text.slice(0, 200)}`};
}
