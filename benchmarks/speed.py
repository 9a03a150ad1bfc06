"""Speed of a catalogue: each kind of query, warm, without a transport; start-up time and memory of
a server.

Queries are made from the catalogue's own records, the same for the same seed: half of them titles,
half words from the bodies. Times are wall and CPU, since wall times on a busy machine say little
alone.
"""

import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from stackroom.background.processes import ChildProcess
from stackroom.background.threads import start_timer
from stackroom.catalogue.spec import FieldRole, texts_of
from stackroom.errors import InputError, UnavailableError
from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE
from stackroom.recommend.recommender import Request
from stackroom.search.names import resolve_name
from stackroom.search.searcher import QueryVector, embed_query
from stackroom.tools.catalogue import OpenCatalogue

WARM_UP = 20
LIKED = 5
START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Wall milliseconds at the median and the 95th percentile, and CPU milliseconds a call."""

    p50_ms: float
    p95_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchQuery:
    """A query with everything that is computed beforehand, the misspelt title it was made from, and
    its number.
    """

    text: str
    query_vector: QueryVector
    title: str
    index: int


def bench(catalogue: OpenCatalogue, *, queries: int, seed: int = 0) -> dict[str, Timing]:
    """Time every kind of query."""
    asked = _build_queries(catalogue, queries, seed)
    searcher, spec = catalogue.searcher, catalogue.spec
    by_words = QueryVector(vector=None)

    def search(query: BenchQuery, query_vector: QueryVector) -> object:
        reader = catalogue.shelf.reader()
        ranked = searcher.rank(reader, query.text, scope=WHOLE, query_vector=query_vector)
        return reader.fetch(ranked.first(10).keys.tolist(), scope=WHOLE)

    def vector(query: BenchQuery) -> object:
        reader = catalogue.shelf.reader()
        if query.query_vector.vector is None:
            return None
        found = reader.nearest(query.query_vector.vector[None, :], scope=WHOLE, limit=10)[0]
        return reader.fetch(found.keys.tolist(), scope=WHOLE)

    kinds: dict[str, Callable[[BenchQuery], object]] = {
        "text": lambda query: search(query, by_words),
        "vector": vector,
        "hybrid": lambda query: search(query, query.query_vector),
        "hybrid with embedding": lambda query: (
            catalogue.view().search(query.text, scope=WHOLE).hits(10)
        ),
        "fuzzy title": lambda query: resolve_name(
            catalogue.shelf.reader(), spec, query.title, scope=WHOLE
        ),
    }
    if spec.recommend:
        kinds["recommendation"] = _recommendations(catalogue, asked)
    return {name: time_calls(ask, asked) for name, ask in kinds.items()}


def time_calls(call: Callable[[BenchQuery], object], queries: Sequence[BenchQuery]) -> Timing:
    """Time a call on every query, after a few to warm up."""
    for query in queries[:WARM_UP]:
        call(query)
    walls = []
    cpu = time.process_time()
    for query in queries:
        start = time.perf_counter()
        call(query)
        walls.append((time.perf_counter() - start) * 1000)
    spent = (time.process_time() - cpu) * 1000 / len(queries)
    p50, p95 = np.percentile(walls, [50, 95])
    return Timing(p50_ms=round(float(p50), 3), p95_ms=round(float(p95), 3), cpu_ms=round(spent, 3))


def time_start(
    command: Sequence[str],
    tool: str,
    arguments: dict[str, object],
    *,
    timeout_s: float = START_TIMEOUT_S,
) -> tuple[float, float]:
    """Start a stdio server, call a tool, and return the seconds to its answer and its resident
    memory in MB.
    """
    start = time.perf_counter()
    with ChildProcess("the server", command, reads=True, writes=True) as server:
        watch = start_timer("time-out of the server", timeout_s, server.kill)
        try:
            _ask(server, 1, "initialize", _HELLO)
            _tell(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            _ask(server, 2, "tools/call", {"name": tool, "arguments": arguments})
            return time.perf_counter() - start, _memory_mb(server.pid)
        finally:
            watch.cancel()
            server.kill()


def serve_command(catalogue: str) -> list[str]:
    """Return the command line that serves a catalogue."""
    return [sys.executable, "-m", "stackroom", "serve", catalogue]


_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def _tell(server: ChildProcess, message: Mapping[str, object]) -> None:
    server.input.write(orjson.dumps(message) + b"\n")
    server.input.flush()


def _ask(server: ChildProcess, number: int, method: str, params: Mapping[str, object]) -> None:
    _tell(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    for line in server.output:
        if orjson.loads(line).get("id") == number:
            return
    raise UnavailableError(f"the server did not answer {method}")


def _memory_mb(process: int) -> float:
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096 / 1e6
    except OSError:
        return float("nan")


def _recommendations(
    catalogue: OpenCatalogue, asked: Sequence[BenchQuery]
) -> Callable[[BenchQuery], object]:
    titles = [query.title for query in asked] * 2

    def recommend(query: BenchQuery) -> object:
        liked = tuple(titles[query.index : query.index + LIKED])
        return catalogue.view().recommend(Request(titles=liked, limit=8), scope=WHOLE)

    return recommend


def _build_queries(catalogue: OpenCatalogue, count: int, seed: int) -> list[BenchQuery]:
    generator = random.Random(seed)
    reader = catalogue.shelf.reader()
    keys: list[Key] = reader.scan(scope=WHOLE, limit=1_000_000)
    if not keys:
        raise InputError(
            f"the catalogue '{catalogue.name}' is empty: there is nothing to ask it for"
        )
    chosen = generator.sample(keys, min(count, len(keys)))
    records = reader.fetch(chosen, scope=WHOLE)
    queries = []
    for index, key in enumerate(chosen):
        title = catalogue.spec.title_of(records[key])
        text = title if index % 2 else _some_words(records[key], catalogue, generator) or title
        query_vector = embed_query(catalogue.searcher.embedder, reader, text)
        queries.append(
            BenchQuery(
                text=text, query_vector=query_vector, title=_misspelt(title, generator), index=index
            )
        )
    return queries


def _some_words(record: Record, catalogue: OpenCatalogue, generator: random.Random) -> str:
    body = catalogue.spec.field_with_role(FieldRole.BODY)
    words = " ".join(texts_of(record.get(body.name))).split() if body else []
    if len(words) < 8:
        return ""
    start = generator.randrange(len(words) - 7)
    return " ".join(words[start : start + 7])


def _misspelt(title: str, generator: random.Random) -> str:
    if len(title) < 4:
        return title
    index = generator.randrange(len(title) - 1)
    return title[:index] + title[index + 1 :]
