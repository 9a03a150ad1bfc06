// Recommendations for a taste, live: likes, dislikes and a sentence, what was understood, and a slider for each signal.
import {html, useEffect, useRef, useState, t} from "../../core/html.js";
import {change, changed} from "../../core/address.js";
import {inWords, number, plural} from "../../core/format.js";
import {callTool} from "../../core/server.js";
import {hideDock, showDock, useStore, useStyle} from "../../core/store.js";
import {Empty, Icon, Notice, Problem, Spinner} from "../../parts/basics.js";
import {Call} from "../../parts/code.js";
import {Face} from "../../parts/face.js";
import {hitOf} from "../../parts/found.js";
import {Hit} from "../../parts/hit.js";
import {Finder} from "../record/open.js";
import {Moods} from "../record/record.js";
import {clear, fill, isEmpty, like, parametersOf, remove, taste} from "./store.js";

export const title = t`Taste`;
const WAIT_MS = 180, SHOWN = 12;

export default function Taste({address}) {
  const catalogue = address.params.catalogue, tray = useTray(address, catalogue);
  const {answer, error, isWaiting} = useAnswer(tray, catalogue);
  const isStyled = useStyle("views/records.css");
  useEffect(() => { hideDock("tray"); return () => { if (!isEmpty()) showDock("tray"); }; }, []);
  if (!isStyled) return null;
  const isAsked = tray.likes.length > 0 || tray.sentence.trim() !== "";
  return html`<h1>Taste <a class="quiet" href=${`/c/${encodeURIComponent(catalogue)}`}>${inWords(catalogue)}</a></h1>
    <div class="taste">
      <div class="stack">
        <${Sentence} tray=${tray} answer=${isAsked ? answer : null} />
        <section class="card stack" aria-label="Tray">
          <${Finder} catalogue=${catalogue} label="Something you like" onChoose=${like} />
          <${Kept} label="Likes" hits=${tray.likes} /><${Kept} label="Dislikes" hits=${tray.dislikes} />
          ${(isAsked || !isEmpty(tray)) && html`<button type="button" class="plain small" onClick=${clear}>Empty the tray</button>`}
        </section>
        ${answer && html`<${Signals} signals=${answer.signals} weights=${tray.weights} />`}
      </div>
      <section class="stack" aria-label="Recommendations">
        ${error && html`<${Problem} error=${error} />`}
        <p class="quiet" aria-live="polite">${!isAsked ? "" : isWaiting ? t`Searching …` : answer && plural(answer.hits.length, "recommendation")}</p>
        ${!isAsked ? html`<${Empty} title="What do you like?"><p>Like a record, or say in a sentence what you are in the mood for.</p><//>`
          : answer ? html`<${Found} answer=${answer} />` : !error && html`<${Spinner} />`}
      </section>
    </div>`;
}

function Found({answer}) {
  return html`${answer.notes.map((note) => html`<${Notice}>${note}<//>`)}
    ${answer.hits.length === 0 && html`<${Empty} title="Nothing fits"><p>Shorten the sentence, or like something else.</p><//>`}
    <ol class="hits" aria-label="Recommendations">${answer.hits.map((hit) => html`<li key=${hit.key} class="card">
      <${Hit} hit=${hit} href=${changed({open: hit.key})}><${Moods} hit=${hit} isBrief /><//>
      <${Parts} hit=${hit} signals=${answer.signals} />
    </li>`)}</ol>
    <${Call} name="recommend" arguments=${answer.asked} />`;
}

function Parts({hit, signals}) {
  const shown = signals.filter(({name, weight}) => weight > 0 && name in hit.signals);
  return html`<ul class="parts" aria-label="Why it fits">${shown.map(({name, label}) => html`<li key=${name}>
    <span class="meter" role="img" aria-label=${`${Math.round(100 * hit.signals[name])} %`}><span style=${{width: `${100 * hit.signals[name]}%`}}></span></span> ${label}</li>`)}</ul>`;
}

function Sentence({tray, answer}) {
  const without = (phrase) => tray.sentence.replace(phrase, "").split(/[,;]/u).map((part) => part.trim()).filter(Boolean).join(", ");
  return html`<section class="card stack" aria-label="Sentence">
    <label>In the mood for<textarea rows="2" placeholder="after 2010, darker, not too long" value=${tray.sentence}
      onInput=${(event) => taste.set({sentence: event.target.value})}></textarea></label>
    ${answer && (answer.understood.length > 0 || answer.not_understood.length > 0) && html`<ul class="chips" aria-label="Understood">
      ${answer.understood.map(({phrase, text}) => html`<li key=${phrase} class="chip" title=${text}><b>${phrase}</b> ${text.replace(/ \(.*\)$/u, "")}
        <button type="button" class="quiet-button" aria-label=${t`Forget ${phrase}`} onClick=${() => taste.set({sentence: without(phrase)})}><${Icon} name="close" /></button></li>`)}
      ${answer.not_understood.map((phrase) => html`<li key=${phrase} class="chip unknown">Not understood: ${phrase}</li>`)}
    </ul>`}
  </section>`;
}

function Kept({label, hits}) {
  return hits.length > 0 && html`<div><h2>${label}</h2><ul class="kept">${hits.map((hit) => html`<li key=${hit.key}>
    <a href=${changed({open: hit.key})}><${Face} ...${hit} />${hit.title ?? hit.id}</a>
    <button type="button" class="quiet-button" aria-label=${t`Remove ${hit.title ?? hit.id}`} onClick=${() => remove(hit.key)}><${Icon} name="close" /></button></li>`)}</ul></div>`;
}

function Signals({signals, weights}) {
  const weigh = (name) => (event) => taste.set({weights: {...weights, [name]: Number(event.target.value)}});
  return html`<section class="card stack signals" aria-labelledby="signals"><h2 id="signals">What counts</h2>
    ${signals.map(({name, label, weight}) => html`<label key=${name} class="slider"><span>${label}</span><span>${number(weights[name] ?? weight)}</span>
      <input type="range" min="0" max="1" step="0.05" value=${weights[name] ?? weight} onInput=${weigh(name)} /></label>`)}
    ${Object.keys(weights).length > 0 && html`<button type="button" class="plain small" onClick=${() => taste.set({weights: {}})}>Reset</button>`}
  </section>`;
}

// The tray and the address follow each other: whichever changed last is right.
function useTray(address, catalogue) {
  const tray = useStore(taste), seen = useRef({});
  useEffect(() => {
    const query = new URLSearchParams(location.search), own = taste.get();
    if (seen.current.here !== location.search && hasTray(query)) fill(trayOf(query, catalogue, own));
    else if (own.catalogue !== catalogue) fill({catalogue});
    else if (seen.current.kept !== kept(own)) change({...cleared(query), ...parametersOf(own)}, {replace: true});
    seen.current = {here: location.search, kept: kept(taste.get())};
  }, [address.url, tray]);
  return tray.catalogue === catalogue ? tray : {catalogue, likes: [], dislikes: [], sentence: "", weights: {}};
}

const kept = (tray) => JSON.stringify(parametersOf(tray));
const isOfTray = (name) => ["like", "dislike", "q"].includes(name) || name.startsWith("w.");
const hasTray = (query) => [...query.keys()].some(isOfTray);
const cleared = (query) => Object.fromEntries([...query.keys()].filter(isOfTray).map((name) => [name, null]));

// Records of a shared address are known by their ids until the answer has their titles.
function trayOf(query, catalogue, own) {
  const known = new Map([...own.likes, ...own.dislikes].map((one) => [one.key, one]));
  const hits = (name) => query.getAll(name).map((id) => known.get(`${catalogue}/${id}`) ?? {key: `${catalogue}/${id}`, id, catalogue});
  const weights = [...query].filter(([name]) => name.startsWith("w.")).map(([name, weight]) => [name.slice(2), Number(weight)]);
  return {catalogue, likes: hits("like"), dislikes: hits("dislike"), sentence: query.get("q") ?? "", weights: Object.fromEntries(weights)};
}

function useAnswer(tray, catalogue) {
  const [state, setState] = useState({});
  const {like: likes, dislike: dislikes, q} = parametersOf(tray), sentence = q.trim();
  const asked = JSON.stringify({catalogue, ...told({likes, dislikes}), ...(sentence && {wishes: sentence})}), weights = JSON.stringify(tray.weights);
  useEffect(() => {
    if (!likes.length && !sentence) return setState({});
    const stop = new AbortController();
    setState((before) => ({...before, isWaiting: true}));
    const timer = setTimeout(() => callTool("recommend", {...JSON.parse(asked), weights: JSON.parse(weights), limit: SHOWN, include: ["tiles"]}, stop).then(
      (found) => { const answer = {...drawn(found), asked: JSON.parse(asked)}; setState({answer}); named(answer); },
      (error) => error.name !== "AbortError" && setState({error}),
    ), WAIT_MS);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [asked, weights]);
  return state;
}

const told = (lists) => Object.fromEntries(Object.entries(lists).filter(([, ids]) => ids.length > 0));
const drawn = ({results, likes, dislikes, notes = [], ...rest}) => ({...rest, notes, hits: results.map(hitOf), likes: likes.map(hitOf), dislikes: dislikes.map(hitOf)});

function named({likes, dislikes}) {
  const now = taste.get();
  if ([...now.likes, ...now.dislikes].some((one) => !one.title)) taste.set({likes, dislikes});
}
