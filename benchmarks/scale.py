"""A million records: build, sizes, opening, latency and recall. `benchmarks/README.md` says what is controlled for."""

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from real_anime import DEFAULT_WORK, Query, RealAnime, draw_queries, load_real_anime
from rich.console import Console
from rich.table import Table

from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import WHOLE, AnyOf, Range, Scope
from stackroom.model.vectors import Vector
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.view import EmbeddedView
from stackroom.shelf.port import Embedding, Put
from stackroom.text.analyser import TextQuery, analyse_query

NOISE = 0.7
"""Length of the random vector added to each unit vector before it is made a unit again: cosine to the original 0.82."""

BATCH = 2_000
WARM_UP = 20
TOP = 10
LATEST_YEAR = 2012
BLOCK_ROWS = 65_536
LOOK_S = 0.2
BUILD_REPORT = "build.json"

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A query as the arms take it."""

    query: Query
    terms: TextQuery


def main() -> None:
    arguments = _arguments()
    folder = arguments.work / f"scale-{arguments.records}"
    if arguments.rebuild:
        shutil.rmtree(folder, ignore_errors=True)
    anime = load_real_anime(arguments.work)
    if arguments.stage == "build":
        build(anime, folder, arguments.records)
        return
    if not (folder / BUILD_REPORT).is_file():
        shutil.rmtree(folder, ignore_errors=True)
        again = [sys.executable, __file__, "--stage", "build", "--records", str(arguments.records)]
        subprocess.run([*again, "--work", str(arguments.work)], check=True)
    figures = json.loads((folder / BUILD_REPORT).read_text()) | measure(anime, folder, arguments.queries)
    if arguments.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures)


def build(anime: RealAnime, folder: Path, count: int) -> None:
    """Make the library the way any library is made: apply in batches while a second process indexes, then publish."""
    shelf = EmbeddedShelf.create(folder, anime.spec, model=anime.embedder.model)
    batches, making_s, started, cpu_before_s = iter_batches(anime, count), 0.0, time.perf_counter(), _cpu_s()
    with PeakMemory() as memory, shelf.exclusive():
        for number in range(-(-count // BATCH)):
            before = time.process_time()
            batch = next(batches)
            making_s += time.process_time() - before
            shelf.apply(batch)
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


def iter_batches(anime: RealAnime, count: int, *, seed: int = 0) -> Iterator[list[Put]]:
    """Yield the records: the real ones first, then copies with noise on the vector and text mixed with another's."""
    generator = np.random.default_rng(seed)
    for start in range(0, count, BATCH):
        numbers = np.arange(start, min(start + BATCH, count))
        originals = numbers % len(anime.records)
        others = generator.integers(len(anime.records), size=len(numbers))
        vectors = _noisy(anime.vectors[originals], generator)
        yield [
            Put(
                record=_copy(anime, number, original, other, generator),
                embedding=Embedding(digest=hashlib.sha256(str(number).encode()).digest(), vector=vector),
            )
            for number, original, other, vector in zip(
                numbers.tolist(), originals.tolist(), others.tolist(), vectors, strict=True
            )
        ]


def _noisy(vectors: Vector, generator: np.random.Generator) -> Vector:
    noise = generator.standard_normal(vectors.shape, dtype=np.float32) * np.float32(NOISE / vectors.shape[1] ** 0.5)
    moved = vectors + noise
    unit: Vector = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def _copy(anime: RealAnime, number: int, original: int, other: int, generator: np.random.Generator) -> Record:
    """Return the original itself the first time round, afterwards a mixture of it with another record."""
    one, two = anime.records[original], anime.records[other]
    record_id = RecordId(f"{one.id}-{number}")
    if number == original:
        return Record(id=record_id, fields=one.fields)
    mixed: dict[str, Any] = dict(one.fields)
    mixed["title"] = _mixed_words(one.get("title"), two.get("title"), 0.7, generator)
    mixed["alternatives"] = _half(one.get("alternatives"), generator) + _half(two.get("alternatives"), generator)
    mixed["synopsis"] = _mixed_words(one.get("synopsis"), two.get("synopsis"), 0.6, generator)
    tags: list[Tag] = [*(one.get("tags") or ()), *(two.get("tags") or ())[:2]]
    mixed["tags"] = tuple(dict.fromkeys(tags))
    return Record(id=record_id, fields={name: value for name, value in mixed.items() if value})


def _mixed_words(one: str | None, two: str | None, share: float, generator: np.random.Generator) -> str:
    """Return words of both texts, shuffled: each of the first with probability `share`, of the second with the rest."""
    words = (one or "").split()
    others = (two or "").split()
    keep = generator.random(len(words) + len(others))
    kept = [word for word, luck in zip(words, keep, strict=False) if luck < share]
    kept += [word for word, luck in zip(others, keep[len(words) :], strict=True) if luck > share]
    return " ".join(kept[place] for place in generator.permutation(len(kept))) or (one or "")


def _half(names: tuple[str, ...] | None, generator: np.random.Generator) -> tuple[str, ...]:
    keep = generator.random(len(names or ())) < 0.5
    return tuple(name for name, kept in zip(names or (), keep, strict=True) if kept)


def measure(anime: RealAnime, folder: Path, count: int) -> Figures:
    """Open the library and time every arm under every scope."""
    started = time.perf_counter()
    shelf = EmbeddedShelf.open(folder, anime.spec)
    view = shelf.reader()
    opened = time.perf_counter()
    queries = [
        Prepared(query=query, terms=analyse_query(query.text, synonyms=anime.spec.synonyms))
        for query in draw_queries(anime, count=count)
    ]
    searcher = Searcher(spec=anime.spec)
    figures = {name: _scope_figures(searcher, view, queries, scope) for name, scope in _scopes(view).items()}
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"open_ms": (opened - started) * 1e3, "measure_peak_mb": memory_mb, "scopes": figures}


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
    console = Console()
    sizes = ", ".join(f"{name} {size:,.0f}" for name, size in figures["disk_mb"].items())
    console.print(
        f"{figures['records']:,} records, noise {figures['noise']}: apply {figures['apply_s']:.0f} s, "
        f"publish {figures['publish_s']:.0f} s, peak {figures['build_peak_mb']:,.0f} MB, disk MB: {sizes}; "
        f"open {figures['open_ms']:.0f} ms"
    )
    table = Table("scope", "rows", "recall@10", "arm", "p50 ms", "p95 ms", "cpu p50", "cpu p95")
    for name, scope in figures["scopes"].items():
        for arm, times in scope["arms"].items():
            recall = f"{scope['recall@10']:.4f}" if arm == "nearest" else ""
            table.add_row(name, f"{scope['in_scope']:,}", recall, arm, *(f"{value:.2f}" for value in times.values()))
    console.print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="where libraries and caches are kept")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rebuild", action="store_true", help="build the library anew")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stage", choices=("measure", "build"), default="measure", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
