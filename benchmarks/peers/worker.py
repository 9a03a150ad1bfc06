"""The worker's side: JSON lines in, JSON lines out, one engine a process. Needs nothing but numpy
and the engine.

Requests: {"op": "build", "rows", "vectors", "folder"}, {"op": "open", "folder"}, and
{"op": "text" | "vector" | "hybrid" | "filtered", "text", "vector"}; the answer to the latter has
the ids and how long it took, measured here.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Row = dict[str, Any]
Hits = list[Row]
TOP = 10
DEPTH = 100
RRF_K = 60
FIELDS = ("id", "title", "type", "year", "synopsis")


class Engine(Protocol):
    """What is measured. Every search returns the ten best rows, each with `FIELDS`."""

    def build(self, rows: list[Row], vectors: np.ndarray, folder: Path) -> None: ...

    def open(self, folder: Path) -> None: ...

    def text(self, text: str) -> Hits: ...

    def vector(self, vector: np.ndarray) -> Hits: ...

    def hybrid(self, text: str, vector: np.ndarray) -> Hits: ...

    def filtered(self, text: str, vector: np.ndarray, kind: str) -> Hits: ...


def serve(engine: Engine, started: float) -> None:
    """Answer requests until the input ends. `started` is when the process began importing its
    engine.
    """
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever an engine prints is no answer
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _answer(engine, request, started)
        except Exception as error:  # the run goes on without this peer
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(engine: Engine, request: dict[str, Any], started: float) -> dict[str, Any]:
    op = request["op"]
    if op == "build":
        rows = [
            json.loads(line)
            for line in Path(request["rows"]).read_text(encoding="utf-8").splitlines()
        ]
        engine.build(rows, np.load(request["vectors"]), Path(request["folder"]))
        return {"build_s": time.perf_counter() - started}
    if op == "open":
        engine.open(Path(request["folder"]))
        return {}
    if op == "memory":
        return {"rss_mb": _rss_mb(), "since_start_ms": (time.perf_counter() - started) * 1e3}
    vector = np.array(request["vector"], dtype=np.float32)
    before, cpu_before = time.perf_counter(), time.process_time()
    hits = _search(engine, op, request, vector)
    wall, cpu = time.perf_counter() - before, time.process_time() - cpu_before
    return {
        "ms": wall * 1e3,
        "cpu_ms": cpu * 1e3,
        "ids": [str(hit["id"]) for hit in hits],
        "types": [hit["type"] for hit in hits],
        "since_start_ms": (time.perf_counter() - started) * 1e3,
    }


def _search(engine: Engine, op: str, request: dict[str, Any], vector: np.ndarray) -> Hits:
    if op == "text":
        return engine.text(request["text"])
    if op == "vector":
        return engine.vector(vector)
    if op == "hybrid":
        return engine.hybrid(request["text"], vector)
    return engine.filtered(request["text"], vector, request["kind"])


def fuse(*rankings: list[int]) -> list[int]:
    """Merge rankings by reciprocal rank, for engines that have no fusion of their own."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking):
            scores[one] = scores.get(one, 0.0) + 1 / (RRF_K + 1 + rank)
    return sorted(scores, key=lambda one: -scores[one])[:TOP]


def _rss_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
