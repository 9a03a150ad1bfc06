// What home and the views of a catalogue share: the box, answers that follow what is typed, and the list of hits.
import {html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState} from "../../core/html.js";
import {changed} from "../../core/address.js";
import {plural} from "../../core/format.js";
import {ask} from "../../core/server.js";
import {Icon, toast} from "../../parts/basics.js";
import {HitList} from "../../parts/hit.js";

const TYPED_MS = 25, FAST_MS = 60;

// It tells what was typed at once, and while keys follow each other fast, after a moment. The text is the element's own: nothing that is
// drawn late can take a letter back.
export function SearchBox({value, onSearch, label, placeholder, autoFocus}) {
  const timer = useRef(), told = useRef(null), input = useRef(), typedAt = useRef(0);
  useLayoutEffect(() => {
    if (value !== told.current) input.current.value = told.current = value;
  }, [value]);
  useEffect(() => {
    if (autoFocus && matchMedia("(hover: hover)").matches && !document.activeElement.closest(".drawer")) input.current.focus({preventScroll: true});
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

// The answer to a path that changes: the latest alone counts, and the former is shown until it is there.
export function useAnswer(path, wait = 0) {
  const [state, setState] = useState({path: null, answer: null, error: null}), [tries, setTries] = useState(0);
  // Before the next frame is drawn, so that no time is lost.
  useLayoutEffect(() => {
    if (!path) return undefined;
    const stop = new AbortController();
    const load = () => ask("GET", path, undefined, {signal: stop.signal}).then(
      (answer) => setState({path, answer, error: null}),
      (error) => error.name !== "AbortError" && setState((before) => ({...before, path, error})),
    );
    const timer = wait ? setTimeout(load, wait) : void load();
    window.addEventListener("recordchange", load);
    return () => {
      window.removeEventListener("recordchange", load);
      clearTimeout(timer);
      stop.abort();
    };
  }, [path, tries]);
  return {...state, isCurrent: state.path === path, retry: () => setTries(tries + 1)};
}

// A page of hits and those that were asked for after it.
export function useHits(path) {
  const first = useAnswer(path), [more, setMore] = useState({path: null, hits: [], cursor: null}), latest = useRef();
  latest.current = first.path;
  const isMore = more.path === first.path;
  const cursor = isMore ? more.cursor : first.answer?.cursor;
  const loadMore = useCallback(async () => {
    const answer = await ask("GET", `${first.path}&cursor=${cursor}`);
    if (latest.current !== first.path) return;
    setMore((before) => ({
      path: first.path, cursor: answer.cursor, hits: [...(before.path === first.path ? before.hits : []), ...answer.hits],
    }));
  }, [first.path, cursor]);
  const hits = useMemo(() => [...(first.answer?.hits ?? []), ...(isMore ? more.hits : [])], [first.answer, isMore && more.hits]);
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
  const last = query ? hits.findLastIndex((hit) => hit.evidence !== "none") : hits.length - 1;
  const near = hits.slice(last + 1), more = loadMore && html`<${More} load=${loadMore} />`;
  const list = (some, label) => html`<${HitList} hits=${some} label=${label} chosen=${open}
    hrefOf=${(hit) => changed({open: hit.key})} actions=${actions} />`;
  return html`
    ${last >= 0 && list(hits.slice(0, last + 1), "Results")}
    ${near.length > 0 ? html`<details class="near">
      <summary>${last < 0 ? `The ${plural(near.length, "nearest record", "nearest records")}, which do not answer it`
        : `${plural(near.length, "further record")} ${near.length === 1 ? "is" : "are"} near, but no good match`}</summary>
      ${list(near, "Near")}${more}
    </details>` : more}`;
}

export function More({load}) {
  const [isBusy, setBusy] = useState(false);
  const press = () => {
    setBusy(true);
    load().catch((error) => toast(error.message, {mood: "bad"})).finally(() => setBusy(false));
  };
  return html`<p class="more"><button type="button" class="plain" disabled=${isBusy} onClick=${press}>Show more</button></p>`;
}
