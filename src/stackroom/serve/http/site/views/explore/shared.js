// What home and the views of a catalogue share: the box, answers that follow what is typed, and the list of hits.
import {html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, t} from "../../core/html.js";
import {changed} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {takeFocus} from "../../core/keys.js";
import {callTool} from "../../core/server.js";
import {Icon} from "../../parts/basics.js";
import {HitList, tileOf} from "../../parts/hit.js";

const TYPED_MS = 120, FAST_MS = 250, AGAIN_MS = 2000, LAST_AGAIN_MS = 32000;

// It tells what was typed at once, and while keys follow each other fast, after a moment. The text is the element's own: nothing that is
// drawn late can take a letter back.
export function SearchBox({value, onSearch, label, placeholder, autoFocus}) {
  const timer = useRef(), told = useRef(null), input = useRef(), typedAt = useRef(0);
  useLayoutEffect(() => {
    if (value !== told.current) input.current.value = told.current = value;
  }, [value]);
  useEffect(() => {
    if (autoFocus && matchMedia("(hover: hover)").matches && !document.activeElement.closest(".drawer")) takeFocus(input.current);
    return () => clearTimeout(timer.current);
  }, []);
  const tell = () => {
    clearTimeout(timer.current);
    const typed = input.current.value.trim();
    if (typed !== told.current) onSearch(told.current = typed);
  };
  const type = () => {
    clearTimeout(timer.current);
    const isFast = performance.now() - typedAt.current < FAST_MS;
    typedAt.current = performance.now();
    if (!isFast) return tell();
    timer.current = setTimeout(tell, TYPED_MS);
  };
  const press = (event) => {
    if (event.key === "ArrowDown" && moveHit(1)) event.preventDefault();
  };
  const submit = (event) => {
    event.preventDefault();
    tell();
  };
  return html`<form class="box" role="search" onSubmit=${submit}>
    <${Icon} name="search" />
    <input ref=${input} type="search" aria-label=${label} placeholder=${placeholder} onInput=${type} onKeyDown=${press}
      autocomplete="off" autocapitalize="none" spellcheck=${false} enterkeyhint="search" maxlength="2000" />
  </form>`;
}

// Move the focus among the titles of the hits.
export function moveHit(step) {
  const titles = [...document.querySelectorAll("[data-key]")].filter((one) => one.checkVisibility());
  const place = titles.indexOf(document.activeElement);
  const next = titles[place < 0 ? 0 : Math.min(titles.length - 1, Math.max(0, place + step))];
  next?.focus();
  return Boolean(next);
}

// The answer of a tool to arguments that change: the latest alone counts, and the former is shown until it is there.
export function useAnswer(tool, given, wait = 0) {
  const [state, setState] = useState({asked: null, answer: null, error: null}), [tries, setTries] = useState(0);
  const asked = given && JSON.stringify(given);
  // Before the next frame is drawn, so that no time is lost.
  useLayoutEffect(() => {
    if (!asked) return undefined;
    const stop = new AbortController();
    let timer, pause = AGAIN_MS;
    const load = () => callTool(tool, given, {signal: stop.signal}).then(
      (answer) => setState({asked, answer, error: null}),
      (error) => {
        if (error.name === "AbortError") return;
        // Who types fast for long waits for the limit of calls, and need not do anything.
        if (error.status === 429) timer = setTimeout(load, 1000 * Math.max(1, error.waitS));
        else setState((before) => ({...before, asked, error}));
        // A server that is away is asked again, each time later; after a minute only by the button.
        if (error.status === 0 && pause <= LAST_AGAIN_MS) timer = setTimeout(load, pause);
        if (error.status === 0) pause *= 2;
      },
    );
    if (wait) timer = setTimeout(load, wait);
    else load();
    window.addEventListener("recordchange", load);
    return () => {
      window.removeEventListener("recordchange", load);
      clearTimeout(timer);
      stop.abort();
    };
  }, [tool, asked, tries]);
  return {...state, isCurrent: state.asked === asked, retry: () => setTries(tries + 1)};
}

// A page of hits and those that were asked for after it.
export function useHits(given) {
  const first = useAnswer("search", given), [more, setMore] = useState({asked: null, results: [], cursor: null}), latest = useRef();
  latest.current = first.asked;
  const isMore = more.asked === first.asked;
  const cursor = isMore ? more.cursor : first.answer?.cursor;
  const loadMore = useCallback(async () => {
    const answer = await callTool("search", {...JSON.parse(first.asked), cursor});
    if (latest.current !== first.asked) return;
    setMore((before) => ({
      asked: first.asked, cursor: answer.cursor, results: [...(before.asked === first.asked ? before.results : []), ...answer.results],
    }));
  }, [first.asked, cursor]);
  const hits = useMemo(() => [...(first.answer?.results ?? []), ...(isMore ? more.results : [])].map(tileOf), [first.answer, isMore && more.results]);
  return {...first, hits, loadMore: cursor ? loadMore : null};
}

// A module of the page that is loaded when it is first needed.
export function useModule(load) {
  const [{module, error}, setState] = useState({});
  useEffect(() => {
    let isHere = true;
    setState({});
    load?.().then((found) => isHere && setState({module: found}), (failure) => isHere && setState({error: failure}));
    return () => { isHere = false; };
  }, [load]);
  // The frame of the view tells it.
  if (error) throw error;
  return module;
}

// Those that answer, and below them, folded, those that are only near.
export function Hits({hits, query, loadMore, open, actions}) {
  const last = query ? hits.findLastIndex((hit) => hit.relevance !== null) : hits.length - 1;
  const near = hits.slice(last + 1), more = loadMore && html`<${More} load=${loadMore} />`;
  // Without words there is nothing to match.
  const list = (some, label, isNear) => html`<${HitList} hits=${query ? some : some.map((hit) => ({...hit, relevance: null}))} label=${label} chosen=${open} isNear=${isNear}
    hrefOf=${(hit) => changed({open: hit.key})} actions=${actions} />`;
  return html`
    ${last >= 0 && list(hits.slice(0, last + 1), t`Results`)}
    ${near.length > 0 ? html`<details class="near">
      <summary>${last < 0 ? t`The ${plural(near.length, "nearest record", "nearest records")}, no good match`
        : t`${plural(near.length, "further record")} nearby, but no good match`}</summary>
      ${list(near, t`Nearby`, true)}${more}
    </details>` : more}`;
}

export function More({load}) {
  const [isBusy, setBusy] = useState(false);
  const press = () => {
    setBusy(true);
    load().finally(() => setBusy(false));
  };
  return html`<p class="more"><button type="button" class="plain" disabled=${isBusy} onClick=${press}>Show more</button></p>`;
}
