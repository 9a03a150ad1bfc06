"""The same work by other engines, each in an environment of its own, asked in turn with ours, query
by query.

What is controlled for is in `benchmarks/README.md`.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from copies import iter_batches  # isort: skip
from real_anime import DEFAULT_WORK, Query, RealAnime, draw_queries, load_real_anime  # isort: skip
from text_engines import compare_text_engines  # isort: skip

WORKERS = Path(__file__).resolve().parent / "peers"
OPERATIONS = ("text", "vector", "hybrid", "filtered")
FILTER_SHARE = 0.15
TOP = 10
WARM_UP = 10
STARTS = 3

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSpec:
    """An engine: its worker, and what to install for it, in order. Nothing to install: this
    environment is used.
    """

    name: str
    worker: str
    requirements: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    built_by: str = ""
    """The peer of whose files this one opens a copy; empty: it builds its own."""


PEERS = (
    PeerSpec(name="stackroom", worker="stackroom_worker.py"),
    PeerSpec(name="FTS5 + numpy", worker="seed_worker.py", requirements=("numpy==2.4.6",)),
    PeerSpec(
        name="qdrant-edge",
        worker="qdrant_edge_worker.py",
        requirements=("qdrant-edge-py==0.9.0", "numpy==2.4.6"),
    ),
    PeerSpec(
        name="qdrant-edge, ef 512",
        worker="qdrant_edge_worker.py",
        requirements=("qdrant-edge-py==0.9.0", "numpy==2.4.6"),
        arguments=("512",),
        built_by="qdrant-edge",
    ),
    PeerSpec(
        name="LanceDB",
        worker="lancedb_worker.py",
        requirements=("lancedb==0.40.0", "pyarrow==26.0.1"),
    ),
    PeerSpec(
        name="txtai", worker="txtai_worker.py", requirements=("torch==2.13.0", "txtai==9.14.0")
    ),
)


@dataclass(slots=True, kw_only=True)
class Peer:
    """A running engine and what was measured of it."""

    spec: PeerSpec
    python: Path
    folder: Path
    build_s: float = 0.0
    first_answer_ms: float = 0.0
    process: "subprocess.Popen[str] | None" = None
    answers: dict[str, list[Answer]] = field(
        default_factory=lambda: {name: [] for name in OPERATIONS}
    )

    def start(self) -> None:
        """Start the worker."""
        command = [str(self.python), str(WORKERS / self.spec.worker), *self.spec.arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **request: Any) -> Answer:
        """Send one request and return its answer; a peer that fails says why."""
        if self.process is None or self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError(f"{self.spec.name} is not running")
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer: Answer = json.loads(line) if line else {"error": "the worker ended"}
        if "error" in answer:
            raise RuntimeError(f"{self.spec.name}: {answer['error']}")
        return answer

    def stop(self) -> None:
        """End the worker."""
        if self.process is not None:
            self.process.communicate()
            self.process = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The files and queries that every peer gets."""

    rows: Path
    vectors: Path
    queries: Sequence[Query]
    exact: Sequence[set[str]]
    kind: str


def main() -> None:
    arguments = _arguments()
    real, environments = load_real_anime(arguments.work), arguments.work / "peers"
    anime, queries = real, draw_queries(real, count=arguments.queries)
    if arguments.records:
        anime = _with_copies(real, arguments.records)
        arguments.work /= f"copies-{arguments.records}"
    task = _task(anime, arguments.work, queries)
    wanted = [
        spec for spec in PEERS if any(part in spec.name for part in arguments.only.split(","))
    ]
    ready = [
        _ready(spec, task, arguments.work, environments, keep=arguments.keep) for spec in wanted
    ]
    peers = [peer for peer in ready if peer is not None]
    _run(peers, task)
    figures = {
        "records": len(anime.records),
        "queries": len(task.queries),
        "filter": f"type = {task.kind}",
        "peers": {peer.spec.name: _figures(peer, task) for peer in peers},
        "text_engines": compare_text_engines(real, task.queries),
    }
    if arguments.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures)


def _with_copies(anime: RealAnime, count: int) -> RealAnime:
    """Return as many records: the real ones, and copies of them."""
    batches = list(iter_batches(anime, count))
    records = [record for some, _ in batches for record in some]
    return replace(
        anime, records=records, vectors=np.concatenate([vectors for _, vectors in batches])
    )


def _task(anime: RealAnime, work: Path, queries: Sequence[Query]) -> Task:
    """Write the rows and vectors for the workers, and find the exact ten nearest of every query."""
    folder = work / "peers"
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_row(record) for record in anime.records]
    (folder / "rows.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    np.save(folder / "vectors.npy", anime.vectors)
    cosines = np.array([query.vector for query in queries]) @ anime.vectors.T
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :TOP]
    kinds = [row["type"] for row in rows]
    return Task(
        rows=folder / "rows.jsonl",
        vectors=folder / "vectors.npy",
        queries=queries,
        exact=[{rows[place]["id"] for place in line} for line in nearest.tolist()],
        kind=min(
            sorted(set(kinds)), key=lambda kind: abs(kinds.count(kind) / len(kinds) - FILTER_SHARE)
        ),
    )


def _row(record: Any) -> dict[str, Any]:
    alternatives, tags = record.get("alternatives") or (), record.get("tags") or ()
    texts = [
        record.get("title"),
        *alternatives,
        *(tag.value for tag in tags),
        record.get("synopsis") or "",
    ]
    return {
        "id": record.id,
        "title": record.get("title"),
        "alternatives": alternatives,
        "type": record.get("type"),
        "year": record.get("year"),
        "tags": tags,
        "synopsis": record.get("synopsis") or "",
        "text": "\n".join(texts),
    }


def _ready(
    spec: PeerSpec, task: Task, work: Path, environments: Path, *, keep: bool
) -> Peer | None:
    """Install the peer and build its index, or say why it is left out."""
    try:
        python = _environment(spec, environments)
        peer = Peer(spec=spec, python=python, folder=_folder(spec.name, work))
        if spec.built_by:
            shutil.rmtree(peer.folder, ignore_errors=True)
            shutil.copytree(_folder(spec.built_by, work), peer.folder)
        elif not (keep and _was_built(peer)):
            _build(peer, task)
        peer.first_answer_ms = statistics.median(
            _first_answer_ms(peer, task) for _ in range(STARTS)
        )
        print(f"{spec.name} is ready ({peer.build_s:.0f} s)", file=sys.stderr)
        return peer
    except (subprocess.CalledProcessError, RuntimeError, OSError) as error:
        print(f"{spec.name} is left out: {error}", file=sys.stderr)
        return None


def _folder(name: str, work: Path) -> Path:
    return work / "peers" / _slug(name)


def _build(peer: Peer, task: Task) -> None:
    shutil.rmtree(peer.folder, ignore_errors=True)
    peer.folder.mkdir(parents=True)
    peer.start()
    built = peer.ask(
        op="build", rows=str(task.rows), vectors=str(task.vectors), folder=str(peer.folder)
    )
    peer.build_s = built["build_s"]
    peer.stop()
    peer.folder.with_suffix(".json").write_text(json.dumps(built))


def _was_built(peer: Peer) -> bool:
    """Take over the index of an earlier run, where it was finished."""
    report = peer.folder.with_suffix(".json")
    if not report.is_file():
        return False
    peer.build_s = json.loads(report.read_text())["build_s"]
    return True


def _environment(spec: PeerSpec, folder: Path) -> Path:
    """Return the interpreter of the peer's environment, made and filled where it is not there."""
    if not spec.requirements:
        return Path(sys.executable)
    home = folder / f"venv-{_slug(spec.built_by or spec.name)}"
    stamp = home / "installed.txt"
    wanted = "\n".join(spec.requirements)
    if not stamp.is_file() or stamp.read_text() != wanted:
        venv.create(home, with_pip=True, clear=True)
        for requirement in spec.requirements:
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement]
            subprocess.run(pip, check=True, stdout=sys.stderr)
        stamp.write_text(wanted)
    return home / "bin" / "python"


def _first_answer_ms(peer: Peer, task: Task) -> float:
    """Return the time from the start of the process to its first hybrid answer."""
    started = time.perf_counter()
    peer.start()
    peer.ask(op="open", folder=str(peer.folder))
    peer.ask(**_request("hybrid", task.queries[0], task))
    taken = time.perf_counter() - started
    peer.stop()
    return taken * 1e3


def _run(peers: Sequence[Peer], task: Task) -> None:
    """Ask every peer every query, in turn; the first of a round is another peer each time."""
    for peer in peers:
        peer.start()
        peer.ask(op="open", folder=str(peer.folder))
    for number, query in enumerate((*task.queries[:WARM_UP], *task.queries)):
        for operation in OPERATIONS:
            turn = number % len(peers)
            for peer in (*peers[turn:], *peers[:turn]):
                answer = peer.ask(**_request(operation, query, task))
                if number >= WARM_UP:
                    peer.answers[operation].append(answer)


def _request(operation: str, query: Query, task: Task) -> dict[str, Any]:
    return {"op": operation, "text": query.text, "vector": query.vector.tolist(), "kind": task.kind}


def _figures(peer: Peer, task: Task) -> dict[str, Any]:
    figures: dict[str, Any] = {name: _times(answers) for name, answers in peer.answers.items()}
    found = [
        len(set(answer["ids"]) & exact)
        for answer, exact in zip(peer.answers["vector"], task.exact, strict=True)
    ]
    kept = [answer["types"] for answer in peer.answers["filtered"]]
    figures["recall@10"] = sum(found) / (TOP * len(found))
    figures["filtered_rows"] = float(np.mean([types.count(task.kind) for types in kept]))
    figures["filtered_wrong"] = sum(len(types) - types.count(task.kind) for types in kept)
    figures["first_answer_ms"] = peer.first_answer_ms
    figures["build_s"] = peer.build_s
    figures["disk_mb"] = (
        sum(path.stat().st_size for path in peer.folder.rglob("*") if path.is_file()) / 1e6
    )
    figures["rss_mb"] = peer.ask(op="memory")["rss_mb"]
    peer.stop()
    return figures


def _times(answers: Sequence[Answer]) -> dict[str, float]:
    wall, cpu = [answer["ms"] for answer in answers], [answer["cpu_ms"] for answer in answers]
    return {
        "p50_ms": float(np.percentile(wall, 50)),
        "p95_ms": float(np.percentile(wall, 95)),
        "cpu_p50_ms": float(np.percentile(cpu, 50)),
    }


def show(figures: dict[str, Any]) -> None:
    """Print the figures for people."""
    console = Console(width=200)
    columns = ("recall@10", "rows of 10", "first answer ms", "disk MB", "RSS MB", "build s")
    table = Table("p50 / p95 (cpu) ms", *OPERATIONS, *columns)
    for name, one in figures["peers"].items():
        times = [
            f"{one[op]['p50_ms']:.2f} / {one[op]['p95_ms']:.2f} ({one[op]['cpu_p50_ms']:.2f})"
            for op in OPERATIONS
        ]
        numbers = [one["first_answer_ms"], one["disk_mb"], one["rss_mb"], one["build_s"]]
        table.add_row(
            name,
            *times,
            f"{one['recall@10']:.3f}",
            f"{one['filtered_rows']:.2f}",
            *(f"{value:.0f}" for value in numbers),
        )
    console.print(
        f"{figures['records']} records, {figures['queries']} queries, filter {figures['filter']}"
    )
    console.print(table)
    ours = next(iter(figures["text_engines"].values()))
    engines = Table("text engine alone, top 10", "p50 ms", "p95 ms", "times ours")
    for name, one in figures["text_engines"].items():
        engines.add_row(
            name,
            f"{one['p50_ms']:.3f}",
            f"{one['p95_ms']:.3f}",
            f"{one['p50_ms'] / ours['p50_ms']:.1f}",
        )
    console.print(engines)


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=Path, default=DEFAULT_WORK, help="where environments and indexes are kept"
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--records", type=int, default=0, help="search as many: the real ones and copies of them"
    )
    parser.add_argument("--only", default="", help="parts of names of peers, separated by commas")
    parser.add_argument("--keep", action="store_true", help="use the indexes of an earlier run")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
