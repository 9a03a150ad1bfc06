// Lines of a streamed body. A chunk may end anywhere, also within a character or between CR and LF.

export async function* lines(response, signal) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      rest += decoder.decode(value, {stream: true});
      const found = rest.split("\n");
      rest = found.pop();
      for (const line of found) yield line.endsWith("\r") ? line.slice(0, -1) : line;
    }
    if (rest) yield rest;
  } catch (error) {
    if (signal?.aborted) throw error; // any other failure is a cut: the reader of the stream misses its end
  } finally {
    reader.cancel().catch(() => {});
  }
}
