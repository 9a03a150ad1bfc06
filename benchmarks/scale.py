"""How a catalogue grows: build, memory, sizes, opening, latency, recall, searches a second, edits, by its records.

`benchmarks/README.md` says what is controlled for.
"""

import argparse
import hashlib
import json
import pickle
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from copies import BATCH, NOISE, iter_batches
from real_anime import DEFAULT_WORK, Query, RealAnime, draw_queries, load_real_anime
from rich.console import Console
from rich.table import Table
from svg_chart import line_chart

from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE, AnyOf, Range, Scope
from stackroom.model.vectors import Vector
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.view import EmbeddedView
from stackroom.shelf.port import Embedding, Put
from stackroom.text.analyser import TextQuery, analyse_query

WARM_UP = 20
TOP = 10
LATEST_YEAR = 2012
BLOCK_ROWS = 65_536
LOOK_S = 0.2
BUILD_REPORT, REPORT = "build.json", "figures.json"
QUERIES = "queries.pickle"
PROCESSES = (1, 2, 3)
SEARCHING_S = 5.0
EDITS = 40
SCOPES = ("all", "10 %", "1 %")
CPU_TIMES = ("cpu_p50_ms", "cpu_p95_ms")

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A query as the arms take it."""

    query: Query
    terms: TextQuery


def main() -> None:
    arguments = _arguments()
    if arguments.stage == "search":
        search(_folder(arguments.work, int(arguments.records)))
        return
    if arguments.stage:
        folder, anime = _folder(arguments.work, int(arguments.records)), load_real_anime(arguments.work)
        STAGES[arguments.stage](anime, folder, arguments)
        return
    figures = []
    for count in map(int, arguments.records.split(",")):
        folder = _folder(arguments.work, count)
        if arguments.rebuild or not (folder / BUILD_REPORT).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            _run_stage("build", arguments, count)
        _run_stage("measure", arguments, count)
        figures.append(json.loads((folder / BUILD_REPORT).read_text()) | json.loads((folder / REPORT).read_text()))
        show(figures[-1])
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    if arguments.plots:
        draw(figures, arguments.plots)


def _run_stage(stage: str, arguments: argparse.Namespace, count: int) -> None:
    """Run a stage in a process of its own, so that its memory and CPU time are its own."""
    options = ["--stage", stage, "--records", str(count), "--queries", str(arguments.queries)]
    subprocess.run([sys.executable, __file__, *options, "--work", str(arguments.work)], check=True)


def _folder(work: Path, count: int) -> Path:
    return work / f"scale-{count}"


def build(anime: RealAnime, folder: Path, arguments: argparse.Namespace) -> None:
    """Make the library the way any library is made: apply in batches while a second process indexes, then publish."""
    shelf = EmbeddedShelf.create(folder, anime.spec, model=anime.embedder.model)
    count = int(arguments.records)
    batches, making_s, started, cpu_before_s = iter_batches(anime, count), 0.0, time.perf_counter(), _cpu_s()
    with PeakMemory() as memory, shelf.exclusive():
        for number in range(-(-count // BATCH)):
            before = time.process_time()
            records, vectors = next(batches)
            making_s += time.process_time() - before
            shelf.apply([_put(record, vector) for record, vector in zip(records, vectors, strict=True)])
            if number % 50 == 0:
                print(f"{number * BATCH} records written, {time.perf_counter() - started:.0f} s", file=sys.stderr)
        applied = time.perf_counter()
        shelf.publish()
        published = time.perf_counter()
    shelf.close()
    report = {
        "records": count,
        "noise": NOISE,
        "apply_s": applied - started,
        "publish_s": published - applied,
        "cpu_s": _cpu_s() - cpu_before_s - making_s,
        "making_cpu_s": making_s,
        "build_peak_mb": memory.peak_mb,
        "disk_mb": {name: size / 1e6 for name, size in _sizes(folder).items()},
    }
    (folder / BUILD_REPORT).write_text(json.dumps(report))


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class PeakMemory:
    """The greatest memory of this process and those it started together, looked at a few times a second (Linux)."""

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


def _put(record: Record, vector: Vector) -> Put:
    return Put(record=record, embedding=Embedding(digest=hashlib.sha256(record.id.encode()).digest(), vector=vector))


def measure(anime: RealAnime, folder: Path, arguments: argparse.Namespace) -> None:
    """Open the library, time every arm under every scope, then searches of several processes at once, then edits."""
    started = time.perf_counter()
    shelf = EmbeddedShelf.open(folder, anime.spec)
    view = shelf.reader()
    opened = time.perf_counter()
    queries = [
        Prepared(query=query, terms=analyse_query(query.text, synonyms=anime.spec.synonyms))
        for query in draw_queries(anime, count=arguments.queries)
    ]
    (folder / QUERIES).write_bytes(pickle.dumps((anime.spec, [one.query for one in queries])))
    searcher = Searcher(spec=anime.spec)
    figures = {name: _scope_figures(searcher, view, queries, scope) for name, scope in _scopes(view).items()}
    report = {
        "open_ms": (opened - started) * 1e3,
        "measure_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "scopes": figures,
        "throughput": {processes: _throughput(arguments, processes) for processes in PROCESSES},
        "edits": _edits(anime, folder, shelf),
    }
    (folder / REPORT).write_text(json.dumps(report, indent=1))


def _throughput(arguments: argparse.Namespace, processes: int) -> Figures:
    """Let several processes search at once, and return what they answered together."""
    command = [sys.executable, __file__, "--stage", "search", "--records", arguments.records]
    command += ["--work", str(arguments.work)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for one in running:
        _pipe(one.stdout).readline()  # it is ready
    for one in running:
        _pipe(one.stdin).write("go\n")
        _pipe(one.stdin).flush()
    answers = [json.loads(one.communicate()[0]) for one in running]
    calls = sum(answer["calls"] for answer in answers)
    return {
        "searches_a_second": calls / SEARCHING_S,
        "cpu_ms": sum(answer["cpu_s"] for answer in answers) / calls * 1e3,
        "memory_mb": [answer["memory_mb"] for answer in answers],
    }


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        sys.exit("the process has no pipe")
    return pipe


def search(folder: Path) -> None:
    """Search for some seconds, once told to begin, and print how often; one of the processes of `_throughput`."""
    spec, queries = pickle.loads((folder / QUERIES).read_bytes())
    view, searcher = EmbeddedShelf.open(folder, spec).reader(), Searcher(spec=spec)

    def answer(query: Query) -> None:
        searcher.search(view, query.text, scope=WHOLE, limit=TOP, query_vector=QueryVector(vector=query.vector))

    for query in queries[:WARM_UP]:
        answer(query)
    print("ready", flush=True)
    sys.stdin.readline()
    until, cpu_before_s, calls = time.perf_counter() + SEARCHING_S, time.process_time(), 0
    while time.perf_counter() < until:
        answer(queries[calls % len(queries)])
        calls += 1
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"calls": calls, "cpu_s": time.process_time() - cpu_before_s, "memory_mb": memory_mb}))


def _edits(anime: RealAnime, folder: Path, other: EmbeddedShelf) -> Figures:
    """Edit single records, and time the commit and until a second shelf on the folder shows the edit."""
    shelf = EmbeddedShelf.open(folder, anime.spec)
    total = other.reader().count(WHOLE)
    committed, seen, cpu = [], [], []
    for number, key in enumerate(np.random.default_rng(3).integers(1, total, EDITS).tolist()):
        before = other.reader()
        record, vector = before.fetch([Key(key)], scope=WHOLE)[Key(key)], before.vectors([Key(key)])[0]
        changed = Record(id=record.id, fields={**record.fields, "title": f"{record.get('title')} {number}"})
        started, cpu_before = time.perf_counter(), time.process_time()
        shelf.apply([_put(changed, vector)])
        committed.append((time.perf_counter() - started) * 1e3)
        shelf.publish()
        now = other.reader().fetch([Key(key)], scope=WHOLE)[Key(key)]
        seen.append((time.perf_counter() - started) * 1e3)
        cpu.append((time.process_time() - cpu_before) * 1e3)
        if now.get("title") != changed.get("title"):
            sys.exit("an edit was not seen")
    named = {"committed_ms": committed, "seen_ms": seen, "cpu_ms": cpu}
    return {name: [float(np.percentile(times, share)) for share in (50, 95)] for name, times in named.items()}


def _scope_figures(searcher: Searcher, view: EmbeddedView, queries: Sequence[Prepared], scope: Scope) -> Figures:
    depth = searcher.spec.search.depth

    def lexical(one: Prepared) -> None:
        view.lexical(one.terms, scope=scope, limit=depth)

    def nearest(one: Prepared) -> None:
        view.nearest(one.query.vector[None, :], scope=scope, limit=depth)

    def titles(one: Prepared) -> None:
        view.titles_like(one.query.text, scope=scope, limit=3)

    def hybrid(one: Prepared) -> None:
        meaning = QueryVector(vector=one.query.vector)
        searcher.search(view, one.query.text, scope=scope, limit=TOP, query_vector=meaning)

    arms = {"lexical": lexical, "nearest": nearest, "titles": titles, "hybrid": hybrid}
    recall, originals = _recall(view, queries, scope)
    return {
        "in_scope": view.count(scope),
        "recall@10": recall,
        "originals_in_top_10": originals,
        "arms": {name: _timed(arm, queries) for name, arm in arms.items()},
    }


def _timed(arm: Callable[[Prepared], None], queries: Sequence[Prepared]) -> dict[str, float]:
    """Return wall and CPU milliseconds of one call a query, after a warm-up."""
    for one in queries[:WARM_UP]:
        arm(one)
    wall, cpu = [], []
    for one in queries:
        before, cpu_before = time.perf_counter(), time.process_time()
        arm(one)
        wall.append((time.perf_counter() - before) * 1e3)
        cpu.append((time.process_time() - cpu_before) * 1e3)
    return {
        "p50_ms": float(np.percentile(wall, 50)),
        "p95_ms": float(np.percentile(wall, 95)),
        "cpu_p50_ms": float(np.percentile(cpu, 50)),
        "cpu_p95_ms": float(np.percentile(cpu, 95)),
    }


def _recall(view: EmbeddedView, queries: Sequence[Prepared], scope: Scope) -> tuple[float, float]:
    """Return how much of the exact ten nearest the vector arm finds, and how many originals those ten are copies of."""
    vectors = np.array([one.query.vector for one in queries])
    mask = view.base.columns.mask(scope.all_conditions())
    exact = _exact_nearest(view, vectors, mask)
    found = 0
    for row, one in zip(exact, vectors, strict=True):
        best = view.nearest(one[None, :], scope=scope, limit=TOP)[0].keys.tolist()
        found += len(set(best) & set(view.base.keys[row].tolist()))
    originals = [
        len({record_id.rsplit("-", 1)[0] for record_id in view.ids(view.base.keys[row].tolist())}) for row in exact
    ]
    return found / exact.size, float(np.mean(originals))


def _exact_nearest(view: EmbeddedView, queries: Vector, mask: Any) -> Any:
    """Return the rows of the ten nearest to each query by comparing with every vector in scope."""
    table = view.base.vectors
    if table is None:
        sys.exit("the library has no vectors")
    rows = np.arange(len(table.exact)) if mask is None else np.flatnonzero(mask)
    best_rows = np.zeros((len(queries), 0), dtype=np.int64)
    best = np.zeros((len(queries), 0), dtype=np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS]
        cosines = np.concatenate((best, queries @ table.exact[block].T), axis=1)
        all_rows = np.concatenate((best_rows, np.broadcast_to(block, (len(queries), len(block)))), axis=1)
        places = np.argpartition(-cosines, TOP - 1, axis=1)[:, :TOP]
        best, best_rows = np.take_along_axis(cosines, places, axis=1), np.take_along_axis(all_rows, places, axis=1)
    return best_rows


def _scopes(view: EmbeddedView) -> dict[str, Scope]:
    """Return the whole catalogue, a year range that keeps about 10 %, films of a year range that keep about 1 %."""
    films = AnyOf("type", ("MOVIE",))
    return {
        "all": WHOLE,
        "10 %": _closest(view, 0.10, [_years(first) for first in range(1980, LATEST_YEAR)]),
        "1 %": _closest(view, 0.01, [_years(first).narrowed(films) for first in range(1960, LATEST_YEAR)]),
    }


def _years(first: int) -> Scope:
    return WHOLE.narrowed(Range("year", first, LATEST_YEAR))


def _closest(view: EmbeddedView, share: float, scopes: Sequence[Scope]) -> Scope:
    wanted = share * view.count(WHOLE)
    return min(scopes, key=lambda scope: abs(view.count(scope) - wanted))


def _sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of the store, the text index and the segment."""
    sizes = {"records": 0, "text": 0, "segment": 0}
    for path in folder.rglob("*"):
        if path.is_file():
            part = "text" if "text" in path.parts else "segment" if path.suffix == ".npy" else "records"
            sizes[part] += path.stat().st_size
    return sizes


def show(figures: Figures) -> None:
    """Print the figures for people."""
    console = Console(width=160)
    sizes = ", ".join(f"{name} {size:,.0f}" for name, size in figures["disk_mb"].items())
    console.print(
        f"{figures['records']:,} records, noise {figures['noise']}: apply {figures['apply_s']:.0f} s, "
        f"publish {figures['publish_s']:.0f} s, CPU {figures['cpu_s']:.0f} s, peak {figures['build_peak_mb']:,.0f} MB, "
        f"disk MB: {sizes}; open {figures['open_ms']:.0f} ms"
    )
    table = Table("scope", "rows", "recall@10", "arm", "p50 ms", "p95 ms", "cpu p50", "cpu p95")
    for name, scope in figures["scopes"].items():
        for arm, times in scope["arms"].items():
            recall = f"{scope['recall@10']:.4f}" if arm == "nearest" else ""
            table.add_row(name, f"{scope['in_scope']:,}", recall, arm, *(f"{value:.2f}" for value in times.values()))
    console.print(table)
    for processes, one in figures["throughput"].items():
        told = f"{one['searches_a_second']:.0f} searches a second, {one['cpu_ms']:.1f} ms of CPU each"
        console.print(f"{processes} processes: {told}, {max(one['memory_mb']):,.0f} MB")
    for name, (p50, p95) in figures["edits"].items():
        console.print(f"edit, {name}: {p50:.0f} / {p95:.0f}")


def draw(figures: Sequence[Figures], folder: Path) -> None:
    """Draw what grows with the records."""
    records = [one["records"] for one in figures]

    def arm(scope: str, key: str) -> list[float]:
        return [one["scopes"][scope]["arms"]["hybrid"][key] for one in figures]

    folder.mkdir(parents=True, exist_ok=True)
    searches = {
        f"{scope}, {key.removeprefix('cpu_').removesuffix('_ms')}": arm(scope, key)
        for scope in SCOPES
        for key in CPU_TIMES
    }
    (folder / "scale-search.svg").write_text(line_chart("hybrid search, ms of CPU", records, searches))
    builds = {
        "build, CPU seconds": [one["cpu_s"] for one in figures],
        "build, peak MB": [one["build_peak_mb"] for one in figures],
        "disk, MB": [sum(one["disk_mb"].values()) for one in figures],
    }
    (folder / "scale-build.svg").write_text(line_chart("building", records, builds))
    edits = {
        f"edit until seen, p{share}, ms of CPU": [one["edits"]["cpu_ms"][place] for one in figures]
        for place, share in enumerate((50, 95))
    }
    (folder / "scale-edits.svg").write_text(line_chart("edits", records, edits))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="where libraries and caches are kept")
    parser.add_argument("--records", default="10000,100000,1000000", help="sizes, separated by commas")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rebuild", action="store_true", help="build the libraries anew")
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    parser.add_argument("--plots", type=Path, help="a folder to draw the plots in")
    parser.add_argument("--stage", choices=(*STAGES, "search"), help=argparse.SUPPRESS)
    return parser.parse_args()


STAGES: dict[str, Callable[[RealAnime, Path, argparse.Namespace], None]] = {
    "build": build,
    "measure": measure,
}

if __name__ == "__main__":
    main()
