// Why a record has its place for a query, or why it has none.
import {html, useEffect, useState} from "../../core/html.js";
import {changed, useAddress} from "../../core/address.js";
import {number} from "../../core/format.js";
import {ask} from "../../core/server.js";
import {Problem, Spinner} from "../../parts/notice.js";
import {Finder} from "./finder.js";
import {openRecord} from "./open.js";

export function Why({hit}) {
  const address = useAddress(), asked = address.query.get("q") ?? "";
  const [typed, setTyped] = useState(asked), [state, setState] = useState(null);
  const isHere = address.path === `/c/${hit.catalogue}`;
  const explain = async (query) => {
    setState({});
    try {
      setState({told: await ask("POST", "/v1/explain", {catalogue: hit.catalogue, id: hit.id, query, ...(await searched(query === asked && isHere))})});
    } catch (error) {
      setState({error});
    }
  };
  useEffect(() => { setState(null); setTyped(asked); }, [asked, hit.key]);
  const onSubmit = (event) => { event.preventDefault(); if (typed.trim()) explain(typed.trim()); };
  return html`<details class="record-group why" onToggle=${(event) => event.target.open && !state && asked && explain(asked)}>
    <summary><h3>${asked ? "Why this rank?" : "Where would it stand?"}</h3></summary>
    <form class="row" onSubmit=${onSubmit}>
      <label class="grow">For the query<input value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
      <button type="submit" class="plain">Explain</button>
    </form>
    <div aria-live="polite">${state?.error ? html`<${Problem} error=${state.error} />` : state?.told ? html`<${Told} told=${state.told} />` : state && html`<${Spinner} />`}</div>
    ${isHere && asked && html`<${Finder} catalogue=${hit.catalogue} label="Why not another? Its name" onChoose=${(other) => openRecord(other.key)} />`}
  </details>`;
}

// The very call that the results on the page came from, so that the explanation is of what is seen.
async function searched(isOfPage) {
  if (!isOfPage) return {};
  const {call} = await ask("GET", changed({open: null, view: null, parts: "hits", limit: 1}));
  const {query, catalogue, ...rest} = call.arguments;
  return {tool: call.name, arguments: {...rest, ...(catalogue ? {catalogue} : {})}};
}

function Told({told}) {
  const place = told.found ? `Number ${told.rank}, by ${told.tool}` : "Not among the results";
  const strongest = Math.max(...Object.values(told.strength).map(Math.abs), 0.0001);
  return html`<p><b>${place}</b> · evidence ${number(told.score)} of 1</p>
    <ul class="because">${told.because.map((one) => html`<li>${one}</li>`)}</ul>
    <table class="bars"><caption>What its evidence is made of</caption><tbody>${Object.entries(told.strength).map(([name, part]) => html`<tr key=${name}>
      <th scope="row">${name}</th><td><span class=${`bar-part ${part < 0 ? "minus" : ""}`} style=${{width: `${100 * Math.abs(part) / strongest}%`}}></span></td><td class="number">${part.toFixed(3)}</td></tr>`)}</tbody></table>
    <dl class="facts"><dt>By words</dt><dd>${rank(told.words)}</dd><dt>By meaning</dt><dd>${rank(told.meaning)}</dd></dl>
    ${Object.keys(told.terms).length > 0 && html`<ul class="chips" aria-label="Words of the query">${Object.entries(told.terms).map(([term, isThere]) => html`
      <li class=${`chip ${isThere ? "" : "missing"}`}>${isThere ? "has" : "lacks"} <b>${term}</b></li>`)}</ul>`}`;
}

function rank({rank: place, of}) {
  return place ? `number ${number(place)} of ${number(of)}` : "not ranked";
}
