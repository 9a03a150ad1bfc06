"""The parts of `scale.py`, each run in a process of its own, so that its memory and CPU time are
its own.

    build       writes the records as any catalogue is written, and builds the index
    join        a second server opens the catalogue, until its first answer
    search      every arm under every scope, recall, and the answers
    throughput  one, two and three processes search at once
    edits       single edits on one server, until another shows them

Each returns its figures.
"""

import hashlib
import json
import pickle
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from copies import BATCH, NOISE, iter_batches
from real_anime import Query, RealAnime, draw_queries, load_real_anime
from scale_engines import Engine, Used

from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE, AnyOf, Range, Scope
from stackroom.model.vectors import Vector
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.settings import Settings
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import create_shelf, open_shelf
from stackroom.shelf.port import Embedding, Put
from stackroom.shelf.postgres.move import move_to_database, move_to_folder
from stackroom.shelf.store_place import StorePlace
from stackroom.text.analyser import TextQuery, analyse_query

WARM_UP = 20
TOP = 10
LATEST_YEAR = 2012
BLOCK_ROWS = 65_536
LOOK_S = 0.2
SHOWN_EVERY = 50
PROCESSES = (1, 2, 3)
SEARCHING_S = 5.0
EDITS = 40
SERVERS = 2
VECTORS_FILE = "vectors.npy"

Figures = dict[str, Any]
View = Any
"""A snapshot of either kind of shelf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A query as the arms take it."""

    query: Query
    terms: TextQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeTruth:
    """A scope, how many records are in it, and the keys of the ten nearest to each query."""

    scope: Scope
    in_scope: int
    nearest: np.ndarray
    originals: float
    """How many originals those ten are copies of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What every engine is asked, and the exact answers."""

    spec: CatalogueSpec
    warm_up: Sequence[Prepared]
    queries: Sequence[Prepared]
    scopes: dict[str, ScopeTruth]


def say(text: str) -> None:
    """Print how far a part is, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def truth_file(root: Path, arguments: Any) -> Path:
    return root / f"truth-{arguments.queries}.pickle"


def load_truth(engine: Engine, arguments: Any) -> Truth:
    truth: Truth = pickle.loads(truth_file(engine.root, arguments).read_bytes())
    return truth


def build(engine: Engine, arguments: Any) -> Figures:
    """Make the catalogue the way any is made: apply in batches while a second process indexes, then
    publish.
    """
    anime, count = load_real_anime(arguments.work), int(arguments.records)
    if engine.is_in_database:
        engine.remove()
        engine.create_tables()
    folder = engine.add_server(anime.folder)
    kept = KeptVectors(engine.root, count, anime.vectors.shape[1])
    shelf = create_shelf(folder, anime.spec, model=anime.embedder.model)
    batches, making_s, before = iter_batches(anime, count), 0.0, engine.used()
    with PeakMemory() as memory, shelf.exclusive():
        for start in range(0, count, BATCH):
            began = time.process_time()
            records, vectors = next(batches)
            kept.add(start, vectors)
            making_s += time.process_time() - began
            shelf.apply(
                [_put(record, vector) for record, vector in zip(records, vectors, strict=True)]
            )
            if start // BATCH % SHOWN_EVERY == SHOWN_EVERY - 1:
                _say_progress(engine, start + BATCH, count, engine.used_since(before).wall_s)
        applied = engine.used_since(before)
        say(
            f"{engine.name}: {count} records written, {applied.wall_s:.0f} s; the index is"
            " completed"
        )
        shelf.publish()
    shelf.close()
    kept.complete()
    used = engine.used_since(before)
    return {
        "noise": NOISE,
        "apply_s": applied.wall_s,
        "publish_s": used.wall_s - applied.wall_s,
        "cpu_s": used.cpu_s - making_s,
        "database_cpu_s": used.database_cpu_s,
        "making_cpu_s": making_s,
        "peak_mb": memory.peak_mb,
        "disk_mb": engine.sizes_mb(),
        "database_mb": engine.database_mb(),
    }


def _say_progress(engine: Engine, done: int, count: int, spent_s: float) -> None:
    left_s = spent_s / done * (count - done)
    say(
        f"{engine.name}: {done} records written, {spent_s:.0f} s, about {left_s:.0f} s more to"
        " write"
    )


class KeptVectors:
    """The vectors of the records in a file, which the exact answers are computed from; written by
    the first build.
    """

    def __init__(self, root: Path, count: int, dimension: int) -> None:
        self._path, self._fresh = root / VECTORS_FILE, root / f"{VECTORS_FILE}.new"
        self._rows: Any = None
        if not self._path.exists():
            shape = (count, dimension)
            self._rows = np.lib.format.open_memmap(
                self._fresh, mode="w+", dtype=np.float32, shape=shape
            )

    def add(self, start: int, vectors: Vector) -> None:
        if self._rows is not None:
            self._rows[start : start + len(vectors)] = vectors

    def complete(self) -> None:
        if self._rows is not None:
            self._rows.flush()
            self._fresh.rename(self._path)


class PeakMemory:
    """The greatest memory of this process and those it started together, looked at a few times a
    second (Linux).
    """

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_S):
            children = Path("/proc/self/task").glob("*/children")
            processes = ["self", *(pid for path in children for pid in path.read_text().split())]
            self.peak_mb = max(self.peak_mb, sum(map(_resident_mb, processes)))


def _resident_mb(process: str) -> float:
    try:
        pages = int(Path("/proc", process, "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * resource.getpagesize() / 1e6


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _put(record: Record, vector: Vector) -> Put:
    return Put(
        record=record,
        embedding=Embedding(digest=hashlib.sha256(record.id.encode()).digest(), vector=vector),
    )


def find_truth(engine: Engine, arguments: Any) -> Figures:
    """Draw the queries, choose the scopes, and compare every query with every vector in scope; for
    all engines.
    """
    anime, count = load_real_anime(arguments.work), int(arguments.records)
    drawn = [
        Prepared(query=query, terms=analyse_query(query.text, synonyms=anime.spec.synonyms))
        for query in draw_queries(anime, count=WARM_UP + arguments.queries)
    ]
    vectors = np.load(engine.root / VECTORS_FILE, mmap_mode="r")
    queries = drawn[WARM_UP:]
    asked = np.array([one.query.vector for one in queries])
    scopes = {}
    for name, (scope, mask) in _scopes(anime, count).items():
        rows = _exact_nearest(vectors, asked, np.flatnonzero(mask))
        originals = float(np.mean([len(set(row)) for row in (rows % len(anime.records)).tolist()]))
        scopes[name] = ScopeTruth(
            scope=scope, in_scope=int(mask.sum()), nearest=rows + 1, originals=originals
        )
    truth = Truth(spec=anime.spec, warm_up=drawn[:WARM_UP], queries=queries, scopes=scopes)
    truth_file(engine.root, arguments).write_bytes(pickle.dumps(truth))
    return {}


def _exact_nearest(vectors: Vector, queries: Vector, rows: np.ndarray) -> np.ndarray:
    """Return the rows of the ten nearest to each query by comparing with every vector of these
    rows.
    """
    best_rows = np.zeros((len(queries), 0), dtype=np.int64)
    best = np.zeros((len(queries), 0), dtype=np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS]
        cosines = np.concatenate((best, queries @ vectors[block].T), axis=1)
        all_rows = np.concatenate(
            (best_rows, np.broadcast_to(block, (len(queries), len(block)))), axis=1
        )
        places = np.argpartition(-cosines, TOP - 1, axis=1)[:, :TOP]
        best, best_rows = (
            np.take_along_axis(cosines, places, axis=1),
            np.take_along_axis(all_rows, places, axis=1),
        )
    return best_rows


def _scopes(anime: RealAnime, count: int) -> dict[str, tuple[Scope, np.ndarray]]:
    """Return the whole catalogue, a year range that keeps about 10 %, films of a year range that
    keep about 1 %.
    """
    # a copy has the year and the type of its original
    originals = np.arange(count) % len(anime.records)
    years = np.array([record.get("year") or 0 for record in anime.records])[originals]
    is_film = np.array([record.get("type") == "MOVIE" for record in anime.records])[originals]
    films = AnyOf("type", ("MOVIE",))

    def since(first: int) -> np.ndarray:
        return (years >= first) & (years <= LATEST_YEAR)

    tenth = min(range(1980, LATEST_YEAR), key=lambda first: abs(since(first).sum() - 0.10 * count))
    hundredth = min(
        range(1960, LATEST_YEAR),
        key=lambda first: abs((since(first) & is_film).sum() - 0.01 * count),
    )
    return {
        "all": (WHOLE, np.ones(count, dtype=bool)),
        "10 %": (_years(tenth), since(tenth)),
        "1 %": (_years(hundredth).narrowed(films), since(hundredth) & is_film),
    }


def _years(first: int) -> Scope:
    return WHOLE.narrowed(Range("year", first, LATEST_YEAR))


def join(engine: Engine, arguments: Any) -> Figures:
    """Let a second server open the catalogue, with nothing but its address, until it has
    answered.
    """
    truth = load_truth(engine, arguments)
    engine.add_server(engine.folder(), SERVERS)
    before = engine.used()
    with closing(open_shelf(engine.folder(SERVERS), truth.spec)) as shelf:
        _search(Searcher(spec=truth.spec), shelf.reader(), truth.queries[0], WHOLE)
        used = engine.used_since(before)
    return {**used._asdict(), "peak_mb": _peak_mb(), "disk_mb": engine.sizes_mb(SERVERS)}


def search(engine: Engine, arguments: Any) -> Figures:
    """Open the catalogue, and time every arm under every scope."""
    truth = load_truth(engine, arguments)
    before = engine.used()
    shelf = open_shelf(engine.folder(), truth.spec)
    view = shelf.reader()
    opened = engine.used_since(before)
    searcher = Searcher(spec=truth.spec)
    scopes = {}
    for name, known in truth.scopes.items():
        scopes[name] = _scope_figures(engine, searcher, shelf, truth, known)
        say(f"{engine.name}: searched in {name}, {engine.used_since(before).wall_s:.0f} s")
    answers = [_search(searcher, view, one, WHOLE) for one in truth.queries]
    return {
        "open_ms": opened.wall_s * 1e3,
        "peak_mb": _peak_mb(),
        "scopes": scopes,
        "answers": answers,
    }


def _search(searcher: Searcher, view: View, one: Prepared, scope: Scope) -> list[int]:
    meaning = QueryVector(vector=one.query.vector)
    ranked = searcher.rank(view, one.query.text, scope=scope, query_vector=meaning)
    found: list[int] = ranked.first(TOP).keys.tolist()
    view.fetch(ranked.first(TOP).keys.tolist(), scope=scope)
    return found


def _scope_figures(
    engine: Engine, searcher: Searcher, shelf: CatalogueShelf, truth: Truth, known: ScopeTruth
) -> Figures:
    depth, scope = searcher.spec.search.depth, known.scope
    arms: dict[str, Callable[[View, Prepared], object]] = {
        "lexical": lambda view, one: view.lexical(one.terms, scope=scope, limit=depth),
        "nearest": lambda view, one: view.nearest(
            one.query.vector[None, :], scope=scope, limit=depth
        ),
        "titles": lambda view, one: view.titles_like(one.query.text, scope=scope, limit=3),
        "hybrid": lambda view, one: _search(searcher, view, one, scope),
    }
    view = shelf.reader()
    if (counted := view.count(scope)) != known.in_scope:
        say(f"{engine.name}: {counted} records counted in scope, {known.in_scope} are")
    found = [
        view.nearest(one.query.vector[None, :], scope=scope, limit=TOP)[0].keys.tolist()
        for one in truth.queries
    ]
    shared = sum(
        len(set(some) & set(row)) for some, row in zip(found, known.nearest.tolist(), strict=True)
    )
    return {
        "in_scope": known.in_scope,
        "recall@10": shared / known.nearest.size,
        "originals_in_top_10": known.originals,
        "arms": {
            name: _timed(engine, _without_caches(shelf.reader()), arm, truth)
            for name, arm in arms.items()
        },
    }


def _without_caches(view: View) -> View:
    """Return a snapshot that remembers nothing of what it was asked."""
    caches = [field.name for field in fields(view) if isinstance(getattr(view, field.name), dict)]
    return replace(view, **{name: {} for name in caches})


def _timed(
    engine: Engine, view: View, arm: Callable[[View, Prepared], object], truth: Truth
) -> Figures:
    """Return the milliseconds of one call a query, after others: on the clock, and of CPU here and
    in the database.
    """
    for one in truth.warm_up:
        arm(view, one)
    spent = []
    for one in truth.queries:
        before = engine.used()
        arm(view, one)
        spent.append(engine.used_since(before))
    return {
        **_percentiles("", [one.wall_s for one in spent]),
        **_percentiles("cpu_", [one.cpu_s + one.database_cpu_s for one in spent]),
        **_percentiles("database_cpu_", [one.database_cpu_s for one in spent]),
    }


def _percentiles(prefix: str, seconds: Sequence[float]) -> dict[str, float]:
    return {
        f"{prefix}p{share}_ms": float(np.percentile(seconds, share)) * 1e3 for share in (50, 95)
    }


def measure_throughput(engine: Engine, arguments: Any) -> Figures:
    """Let several processes search at once, and return what they answered together."""
    return {str(processes): _throughput(engine, arguments, processes) for processes in PROCESSES}


def _throughput(engine: Engine, arguments: Any, processes: int) -> Figures:
    command = [
        sys.executable,
        str(arguments.script),
        "--part",
        "searching",
        "--engines",
        engine.name,
    ]
    command += [
        "--records",
        arguments.records,
        "--work",
        str(arguments.work),
        "--queries",
        str(arguments.queries),
    ]
    running = [
        subprocess.Popen(
            [*command, "--server", str(number % SERVERS + 1)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for one in running:
        if one.stdout is None or not one.stdout.readline():
            sys.exit("a process did not start")
    before = engine.used()
    for one in running:
        if one.stdin is not None:
            one.stdin.write("go\n")
            one.stdin.flush()
    answers = [json.loads(one.communicate()[0]) for one in running]
    calls, used = sum(answer["calls"] for answer in answers), engine.used_since(before)
    return {
        "searches_a_second": calls / SEARCHING_S,
        "cpu_ms": (sum(answer["cpu_s"] for answer in answers) + used.database_cpu_s) / calls * 1e3,
        "database_cpu_ms": used.database_cpu_s / calls * 1e3,
        "memory_mb": [answer["memory_mb"] for answer in answers],
    }


def search_until_told(engine: Engine, arguments: Any) -> Figures:
    """Search for some seconds, once told to begin, and return how often; one of the processes of
    `throughput`.
    """
    truth = load_truth(engine, arguments)
    shelf, searcher = (
        open_shelf(engine.folder(arguments.server), truth.spec),
        Searcher(spec=truth.spec),
    )
    for one in truth.warm_up:
        _search(searcher, shelf.reader(), one, WHOLE)
    print("ready", flush=True)
    sys.stdin.readline()
    until, cpu_before_s, calls = time.perf_counter() + SEARCHING_S, time.process_time(), 0
    while time.perf_counter() < until:
        _search(searcher, shelf.reader(), truth.queries[calls % len(truth.queries)], WHOLE)
        calls += 1
    return {"calls": calls, "cpu_s": time.process_time() - cpu_before_s, "memory_mb": _peak_mb()}


def edits(engine: Engine, arguments: Any) -> Figures:
    """Edit single records on one server, and time the commit, and until another one shows the
    edit.
    """
    truth = load_truth(engine, arguments)
    shelf, other = (open_shelf(engine.folder(server), truth.spec) for server in (1, SERVERS))
    total = other.reader().count(WHOLE)
    committed: list[float] = []
    spent: list[Used] = []
    for number, key in enumerate(np.random.default_rng(3).integers(1, total, EDITS).tolist()):
        view = other.reader()
        record, vector = view.fetch([Key(key)], scope=WHOLE)[Key(key)], view.vectors([Key(key)])[0]
        changed = Record(
            id=record.id, fields={**record.fields, "title": f"{record.get('title')} {number}"}
        )
        before = engine.used()
        shelf.apply([_put(changed, vector)])
        committed.append(time.perf_counter() - before.wall_s)
        shelf.publish()
        now = other.reader().fetch([Key(key)], scope=WHOLE)[Key(key)]
        spent.append(engine.used_since(before))
        if now.get("title") != changed.get("title"):
            sys.exit("an edit was not seen")
    return {
        **_percentiles("committed_", committed),
        **_percentiles("seen_", [one.wall_s for one in spent]),
        **_percentiles("cpu_", [one.cpu_s + one.database_cpu_s for one in spent]),
        **_percentiles("database_cpu_", [one.database_cpu_s for one in spent]),
    }


def answer(engine: Engine, arguments: Any) -> Figures:
    """Return the answers to every query, with scores."""
    truth = load_truth(engine, arguments)
    with closing(open_shelf(engine.folder(), truth.spec)) as shelf:
        view, searcher = shelf.reader(), Searcher(spec=truth.spec)
        answers = []
        for one in truth.queries:
            vector = QueryVector(vector=one.query.vector)
            ranked = searcher.rank(view, one.query.text, scope=WHOLE, query_vector=vector)
            first = ranked.first(TOP)
            ids = map(str, view.ids(first.keys.tolist()))
            answers.append(list(zip(ids, first.scores.tolist(), strict=True)))
    return {"answers": answers}


def rebuild(engine: Engine, arguments: Any) -> Figures:
    """Build the index anew, without the words that edits have left in it."""
    with closing(open_shelf(engine.folder(), load_truth(engine, arguments).spec)) as shelf:
        return {"records": shelf.rebuild()}


def move(engine: Engine, arguments: Any) -> Figures:
    """Move the catalogue to the database, or back, and print each step; may be killed, and is
    continued then.
    """
    workshop, name = Workshop(Settings(home=engine.home())), engine.folder().name

    def advance(step: str, count: int) -> None:
        print(f"{count} {step}", flush=True)

    if arguments.to == "here":
        report = move_to_folder(workshop, name, advance=advance)
    else:
        url, schema = arguments.to.rsplit(" ", 1)
        report = move_to_database(
            workshop, name, StorePlace(url=url, schema=schema), advance=advance
        )
    return {"rows": report.rows, "answers": report.answers, "equal_answers": report.equal_answers}


PARTS: dict[str, Callable[[Engine, Any], Figures]] = {
    "build": build,
    "truth": find_truth,
    "join": join,
    "search": search,
    "throughput": measure_throughput,
    "searching": search_until_told,
    "edits": edits,
    "answer": answer,
    "rebuild": rebuild,
    "move": move,
}
