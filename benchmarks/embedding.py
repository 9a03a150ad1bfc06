"""Embedding by the local model on this machine: both graphs, batches and threads; texts per CPU
second, and a query.

    python benchmarks/embedding.py --models HOME/models

Everything is measured in turn, `--rounds` times, and the best round counts. CPU time is that of the
whole process.
"""

import argparse
import itertools
import json
import platform
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from stackroom.embed import encoder
from stackroom.embed.encoder import Encoder, pack_batches, usable_cores
from stackroom.embed.models import MINILM
from stackroom.embed.weights import check_model, float_graph, model_folder
from stackroom.zstd import zstd

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "papers" / "acl-40k.jsonl.zst"
LONG_CHARS = 1300
FORMER_TEXTS = 32
TOP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to embed documents."""

    bits: int
    batch: str
    threads: int
    run: Callable[[Sequence[str]], Any]

    @property
    def name(self) -> str:
        """The way in words."""
        return f"{self.bits} bits, {self.batch}, {self.threads} threads"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument(
        "--texts", type=int, default=64, help="long texts; four times as many short ones"
    )
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    if problems := check_model(model_folder(given.models)):
        raise SystemExit("; ".join(problems))
    titles, abstracts = read_texts(given.texts)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / MINILM.name
        shutil.copytree(model_folder(given.models), folder)
        print(
            f"{platform.processor()}, {usable_cores()} cores, onnxruntime {onnxruntime.__version__}"
        )
        measure_documents(folder, {"abstracts": abstracts, "titles": titles}, rounds=given.rounds)
        measure_queries(folder, titles, rounds=given.rounds)


def read_texts(count: int) -> tuple[list[str], list[str]]:
    """Return titles, and abstracts of 256 tokens and more."""
    if not DATA.is_file():
        raise SystemExit(f"{DATA} is not there")
    with zstd.open(DATA, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in itertools.islice(lines, 60 * count)]
    long = [row["abstract"] for row in rows if len(row.get("abstract") or "") > LONG_CHARS]
    return [row["title"] for row in rows[: 4 * count]], long[:count]


def measure_documents(folder: Path, sets: dict[str, list[str]], *, rounds: int) -> None:
    """Print texts per CPU second and per second of each way, and their ratio to the former one."""
    ways = list_ways(folder)
    for name, texts in sets.items():
        best: dict[str, tuple[float, float]] = {}
        for _, way in itertools.product(range(rounds), ways):
            rates = timed(lambda way=way, texts=texts: way.run(texts), len(texts))  # type: ignore[misc]
            best[way.name] = max(best.get(way.name, (0.0, 0.0)), rates)
        former = best[ways[0].name][0]
        print(f"\n| {len(texts)} {name} | per CPU second | per second | ratio |\n|---|---|---|---|")
        for way_name, (per_cpu_s, per_s) in best.items():
            print(f"| {way_name} | {per_cpu_s:.1f} | {per_s:.1f} | {per_cpu_s / former:.2f} |")


def list_ways(folder: Path) -> list[Way]:
    """Return the ways, the former one first: batches of 32 texts, on threads that share a batch."""
    cores = usable_cores()
    paths = {8: folder / "graph.onnx", 32: float_graph(folder, MINILM)}
    ways = []
    for bits, path in paths.items():
        ways.append(sharing_way(folder, path, bits, threads=cores))
        for tokens, threads in itertools.product((encoder.BATCH_TOKENS, 2048), sorted({1, cores})):
            ways.append(separate_way(folder, path, bits, tokens=tokens, threads=threads))
    return ways


def sharing_way(folder: Path, path: Path, bits: int, *, threads: int) -> Way:
    """Return the former way."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    graph = onnxruntime.InferenceSession(str(path), options, providers=[encoder.CPU])
    made = Encoder(folder, MINILM)

    def run(texts: Sequence[str]) -> None:
        tokens = sorted((one.ids for one in made._tokenizer.encode_batch(list(texts))), key=len)
        for start in range(0, len(tokens), FORMER_TEXTS):
            made._run(graph, tokens[start : start + FORMER_TEXTS])

    return Way(bits=bits, batch=f"{FORMER_TEXTS} texts shared by", threads=threads, run=run)


def separate_way(folder: Path, path: Path, bits: int, *, tokens: int, threads: int) -> Way:
    """Return the way with batches of so many tokens, each on one thread."""
    made = Encoder(folder, MINILM, threads=threads)
    graph = encoder._open_graph(path)

    def run(texts: Sequence[str]) -> None:
        ids = [one.ids for one in made._tokenizer.encode_batch(list(texts))]
        waiting = deque(reversed(pack_batches([len(one) for one in ids], most_tokens=tokens)))

        def work() -> None:
            while waiting:
                try:
                    batch = waiting.popleft()
                except IndexError:
                    return
                made._run(graph, [ids[place] for place in batch])

        encoder._share(work, waiting, threads=threads)

    return Way(bits=bits, batch=f"{tokens} tokens each on", threads=threads, run=run)


def measure_queries(folder: Path, titles: list[str], *, rounds: int) -> None:
    """Print the CPU time of a query in both graphs, and how alike their vectors and their top ten
    are.
    """
    made = Encoder(folder, MINILM)
    graphs = {8: made._graph, 32: encoder._open_graph(float_graph(folder, MINILM))}
    queries, best = titles[1::4], dict.fromkeys(graphs, 0.0)
    rows: dict[int, Any] = {}
    for _, (bits, graph) in itertools.product(range(rounds), graphs.items()):

        def run(bits: int = bits, graph: Any = graph) -> None:
            rows[bits] = np.concatenate(
                [made._run(graph, [made._tokenizer.encode(text).ids]) for text in queries]
            )

        best[bits] = max(best[bits], timed(run, len(queries))[0])
    stored = made.embed_documents(titles)
    top = {
        bits: np.argsort(-(vectors @ stored.T), axis=1)[:, :TOP] for bits, vectors in rows.items()
    }
    same = np.mean(
        [len({*one} & {*other}) / TOP for one, other in zip(top[8], top[32], strict=True)]
    )
    cosines = (rows[8] * rows[32]).sum(axis=1)
    print(
        "\nquery, CPU ms:",
        ", ".join(f"{bits} bits {1000 / rate:.1f}" for bits, rate in best.items()),
    )
    print(
        f"cosine of both: {cosines.mean():.4f}, least {cosines.min():.4f}; the same in the top ten:"
        f" {same:.3f}"
    )


def timed(run: Callable[[], Any], count: int) -> tuple[float, float]:
    """Return how many per CPU second and per second."""
    cpu_s, began = time.process_time(), time.perf_counter()
    run()
    return count / (time.process_time() - cpu_s), count / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
