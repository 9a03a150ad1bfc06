// Every tool that one may call: a form from its schema, and its answer as things.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {change} from "../../core/address.js";
import {inWords, plural} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {useStyle} from "../../core/store.js";
import {Empty, Problem} from "../../parts/basics.js";
import {Call} from "../../parts/code.js";
import {SchemaForm} from "../../parts/form.js";
import {confirm} from "../../parts/layers.js";
import {Result} from "../../parts/result.js";
import {Files} from "../explore/take.js";

export const title = t`Tools`;

export default function Tools({address, session}) {
  useStyle("views/run/run.css");
  const {name} = address.params;
  if (!name) return html`<${ToolList} tools=${session.tools} />`;
  const tool = session.tool(name);
  if (!tool) return html`<${Empty} title=${t`There is no tool “${name}”, or you may not use it`}><p><a href="/tools">All tools</a></p><//>`;
  return html`<${Tool} key=${name} tool=${tool} given=${argumentsOf(address.query, tool.inputSchema.properties)} />`;
}

function ToolList({tools}) {
  const [words, setWords] = useState("");
  const wanted = words.toLowerCase().split(/\s+/u).filter(Boolean);
  const shown = tools.filter((tool) => wanted.every((word) => `${tool.name} ${tool.title ?? ""} ${tool.description}`.toLowerCase().includes(word)));
  return html`<div class="stack">
    <header class="row"><h1 class="grow">Tools</h1>
      <label class="find"><span class="unseen">Find a tool</span><input type="search" placeholder="Find a tool" value=${words} onInput=${(event) => setWords(event.target.value)} /></label></header>
    <p class="quiet" role="status">${plural(shown.length, "tool")} that you and your assistant can call.</p>
    <ul class="grid">${shown.map((tool) => html`<li key=${tool.name} class="card tool">
      <h2><a href=${`/tools/${encodeURIComponent(tool.name)}`}>${tool.title || inWords(tool.name)}</a></h2>
      <p class="quiet"><code>${tool.name}</code>${isWriting(tool) && html` <span class="chip">makes changes</span>`}</p>
      <p>${tool.description}</p></li>`)}</ul>
  </div>`;
}

function Tool({tool, given}) {
  const [outcome, setOutcome] = useState(null), place = useRef();
  const run = async (args) => {
    if (isWriting(tool) && !args.preview && !await confirm(t`“${inWords(tool.name)}” makes changes on the server.`, {title: t`Run it?`, yes: t`Run it`, no: t`Cancel`})) return;
    const started = performance.now();
    const answer = await callTool(tool.name, args);
    // Another page may be shown by now.
    if (!place.current) return;
    setOutcome({answer, args, ms: Math.max(1, Math.round(performance.now() - started))});
    change({a: Object.keys(args).length ? JSON.stringify(args) : null}, {replace: true});
    place.current.focus();
  };
  const show = (args) => run(args).catch((error) => setOutcome({error}));
  const next = outcome?.answer && nextOf(outcome);
  // An address with arguments shows their answer, unless the tool changes something.
  useEffect(() => { if (Object.keys(given).length && !isWriting(tool)) show(given); }, []);
  return html`<div class="stack">
    <header><p class="quiet"><a href="/tools">Tools</a></p><h1>${tool.title || inWords(tool.name)}</h1>
      <p class="quiet"><code>${tool.name}</code>${isWriting(tool) && html` <span class="chip">makes changes</span>`}</p><p>${tool.description}</p></header>
    <div class="halves wide-right">
      <section class="card"><h2 class="unseen">Arguments</h2><${SchemaForm} schema=${tool.inputSchema} initial=${given} onSubmit=${run} /></section>
      <section ref=${place} tabindex="-1" class="card" aria-label="Answer">
        ${!outcome ? html`<p class="quiet">The answer appears here.</p>` : outcome.error ? html`<${Problem} error=${outcome.error} />` : html`
          <p class="quiet" role="status">Answered in ${outcome.ms} ms.</p>
          <${Result} answer=${outcome.answer} />
          ${tool.name === "browse" && (outcome.args.by || outcome.args.of) && html`<h3>Export all groups</h3><${Files} given=${{browse: JSON.stringify(outcome.args)}} />`}
          ${next && html`<p><button type="button" class="plain" onClick=${() => show(next)}>Next page</button></p>`}
          <${Call} name=${tool.name} arguments=${outcome.args} />`}
      </section>
    </div>
  </div>`;
}

function isWriting(tool) {
  return tool.annotations?.readOnlyHint !== true;
}

// The arguments in an address: as JSON, or each by its name, as in ?query=space&limit=5.
function argumentsOf(query, properties = {}) {
  const named = Object.fromEntries([...query].filter(([name]) => name in properties).map(([name, text]) => [name, valueOf(text, properties[name])]));
  const given = parsed(query.get("a") ?? "{}");
  return {...named, ...given && typeof given === "object" && !Array.isArray(given) && given};
}

function valueOf(text, {type}) {
  return type === "string" ? text : parsed(text) ?? text;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// The arguments of the next page: the cursor of the answer, or an offset that is so much further.
function nextOf({answer, args}) {
  if (!answer.has_more && !answer.cursor) return null;
  if (answer.cursor) return {...args, cursor: answer.cursor};
  const rows = Object.values(answer).find(Array.isArray);
  return rows?.length ? {...args, offset: (args.offset ?? 0) + rows.length} : null;
}
