// The tools of a conversation: the server's over MCP and the page's own, and how a call of one is run.
//
// A tool: {name, description, schema, isWrite, preview?(args, options), run(args, options)}; both give
// {text, value, isError}. A call that changes something is shown with its preview, and runs when the user allows it.

const LONGEST_OUTPUT = 40_000;

export function serverTool(client, {name, description = "", inputSchema, annotations}) {
  const properties = inputSchema.properties ?? {};
  const isRead = annotations?.readOnlyHint === true;
  const call = async (args, options = {}) => asResult(await client.callTool(name, args, {...options, mayRepeat: isRead || args.preview === true}));
  return {
    name,
    description,
    schema: inputSchema,
    isWrite: (args) => !isRead && !("preview" in properties && args.preview === true),
    preview: "preview" in properties ? (args, options) => call({...without(args, "plan"), preview: true}, options) : null,
    run: (args, options, preview) => call(preview?.value?.plan && "plan" in properties ? {...without(args, "preview"), plan: preview.value.plan} : args, options),
  };
}

const without = (args, name) => Object.fromEntries(Object.entries(args).filter(([key]) => key !== name));

function asResult({content = [], structuredContent, isError = false}) {
  const text = content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
  return {text: text || JSON.stringify(structuredContent ?? {}), value: structuredContent ?? null, isError};
}

export function localTool({name, description, properties = {}, required = [], isWrite = false, preview = null, run}) {
  const shaped = (value) => ({text: typeof value === "string" ? value : JSON.stringify(value), value: typeof value === "string" ? null : value, isError: false});
  return {
    name,
    description,
    schema: {type: "object", properties, required},
    isWrite: () => isWrite,
    preview: preview && (async (args) => shaped(await preview(args))),
    run: async (args, options) => shaped(await run(args, options)),
  };
}

export function createTools(list) {
  return {
    list,
    async run(call, change, signal) {
      const tool = list.find(({name}) => name === call.name);
      if (!tool) return change({state: "failed", output: `there is no tool named ${call.name}`, isError: true});
      const options = {signal, onProgress: (progress) => change({progress})};
      try {
        const asked = tool.isWrite(call.args) ? await askFirst(tool, call, change, options) : {};
        if (asked.done) return undefined;
        change({state: "running", ask: null});
        return finish(change, await tool.run(call.args, options, asked.preview));
      } catch (error) {
        if (signal.aborted) throw error;
        return finish(change, {text: error.message, value: null, isError: true});
      }
    },
  };
}

function finish(change, {text, value, isError}) {
  const output = text.length > LONGEST_OUTPUT ? `${text.slice(0, LONGEST_OUTPUT)}\n… cut: ask for less` : text;
  change({state: isError ? "failed" : "done", output, result: value, isError, progress: null});
}

async function askFirst(tool, call, change, {signal}) {
  change({state: "running"});
  const preview = tool.preview ? await tool.preview(call.args, {signal}) : null;
  if (preview?.isError) {
    finish(change, preview);
    return {done: true};
  }
  const allowed = await new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), {once: true});
    change({state: "asking", preview, ask: resolve});
  });
  if (allowed) return {preview};
  change({state: "declined", ask: null, output: "The user declined this change. Nothing was changed.", isError: true});
  return {done: true};
}
