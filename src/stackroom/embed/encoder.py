"""The local models of `models` through onnxruntime, without torch.

A model folder has `tokenizer.json`, `words.npy`, `positions.npy`, `weights.bin` and `graph.onnx`;
`weights` writes it. Loading takes a few dozen milliseconds. Queries are embedded in 8 bits on the
CPU, so that their top ten do not depend on the machine; many documents in 32 bits where the
processor has no dot products of bytes, or on another device.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from stackroom.background.threads import lower_priority, new_pool
from stackroom.embed.models import LocalModel
from stackroom.embed.weights import float_graph, multiplies_bytes
from stackroom.errors import ModelError
from stackroom.frozen import frozen
from stackroom.model.vectors import Vector

MAX_TOKENS = 256
MAX_QUERY_TOKENS = 128
"""Queries are truncated earlier than documents: a caller waits for them, and their meaning is clear
by then.
"""

BATCH_TOKENS = 256
"""Tokens of a batch of documents with its padding: longer batches leave the processor's caches and
take more CPU.
"""
DEVICE_BATCH_TOKENS = 16_384
# so many documents at once are worth opening another graph for
MANY_TEXTS = 64

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
PROVIDERS = {"cuda": CUDA, "coreml": "CoreMLExecutionProvider"}
INSTALLATION = (
    "for cuda: pip uninstall onnxruntime, pip install onnxruntime-gpu; coreml is on macOS only"
)


class Encoder:
    """Embeds in this process. Construction loads the model.

    A graph computes on one thread; each thread has a batch of its own, which takes less CPU than
    sharing one.
    """

    def __init__(
        self, folder: Path, model: LocalModel, *, threads: int = 0, device: str = "auto"
    ) -> None:
        self.model = model.id
        self._local, self._folder, self._device = model, folder, device
        self._threads = threads or usable_cores()
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # A published tokenizer file may pad and truncate every text to 128 tokens.
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._words = np.load(folder / "words.npy", mmap_mode="r")
        self._positions = np.load(folder / "positions.npy")
        self._graph = _open_graph(folder / "graph.onnx")
        self._documents: _DocumentsGraph | None = None

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; these models need no prefix."""
        row: Vector = self._run(self._graph, [self._tokenizer.encode(text).ids[:MAX_QUERY_TOKENS]])[
            0
        ]
        return row

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row per text."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(texts), self.model.dimension), dtype=np.float32)
        use = self._find_graph(len(texts))
        waiting = deque(
            reversed(pack_batches([len(ids) for ids in tokens], most_tokens=use.batch_tokens))
        )

        def work() -> None:
            while waiting:
                try:
                    batch = waiting.popleft()
                except IndexError:
                    return  # another thread took the last one
                rows[batch] = self._run(use.graph, [tokens[place] for place in batch])

        _share(work, waiting, threads=use.threads)
        return rows

    def _find_graph(self, texts: int) -> "_DocumentsGraph":
        """Return the graph for this number of documents; for a few, the graph of queries, unless a
        device is named.
        """
        if self._documents is None and (texts >= MANY_TEXTS or self._device in PROVIDERS):
            self._documents = self._open_on_device() or self._open_on_cpu()
        return self._documents or _DocumentsGraph(graph=self._graph, threads=self._threads)

    def _open_on_cpu(self) -> "_DocumentsGraph":
        graph = self._graph
        if not multiplies_bytes():
            with suppress(OSError):  # the folder cannot be written
                graph = _open_graph(float_graph(self._folder, self._local))
        return _DocumentsGraph(graph=graph, threads=self._threads)

    def _open_on_device(self) -> "_DocumentsGraph | None":
        provider = find_provider(self._device, onnxruntime.get_available_providers())
        if provider is None:
            return None
        graph = _open_graph(float_graph(self._folder, self._local), provider)
        if provider in graph.get_providers():
            return _DocumentsGraph(graph=graph, threads=1, batch_tokens=DEVICE_BATCH_TOKENS)
        if self._device == "auto":
            return None
        raise ModelError(
            f"onnxruntime cannot use the device '{self._device}'; are its driver and libraries"
            " installed?"
        )

    def _run(self, graph: Any, tokens: Sequence[Sequence[int]]) -> Vector:
        length = max(map(len, tokens))
        padded = np.full((len(tokens), length), self._local.pad_id)
        mask = np.zeros((len(tokens), length), dtype=np.int64)
        for row, ids in enumerate(tokens):
            padded[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        rows = self._words[padded].astype(np.float32) + self._positions[:length]
        embedded: Vector = graph.run(None, {"rows": rows, "mask": mask})[0]
        return embedded


@frozen
class _DocumentsGraph:
    graph: Any
    threads: int
    batch_tokens: int = BATCH_TOKENS


def find_provider(device: str, available: Sequence[str]) -> str | None:
    """Return onnxruntime's provider for a device, or None for the CPU; refuse a named device that
    is not available.
    """
    if device not in PROVIDERS:
        return CUDA if device == "auto" and CUDA in available else None
    if PROVIDERS[device] in available:
        return PROVIDERS[device]
    raise ModelError(
        f"the setting embedding.device is '{device}', but the installed onnxruntime has no"
        f" {PROVIDERS[device]} ({INSTALLATION}); or set it to 'auto'"
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pack_batches(lengths: Sequence[int], *, most_tokens: int) -> list[list[int]]:
    """Return the indexes of texts, ordered by length, in batches of at most `most_tokens` tokens
    with padding.

    A longer text is a batch of its own.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if batches and (len(batches[-1]) + 1) * lengths[place] <= most_tokens:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def _share(work: Callable[[], None], waiting: deque[Any], *, threads: int) -> None:
    """Do work on this thread until nothing waits, and on others as far as cores are idle."""
    helpers = min(threads, len(waiting)) - 1
    if helpers < 1:
        work()
        return

    def help_out() -> None:
        lower_priority()
        work()

    with new_pool("embedding", helpers) as pool:
        helping = [pool.submit(help_out) for _ in range(helpers)]
        try:
            work()
        finally:
            # an interrupted call waits for no more than the batches that are computed
            waiting.clear()
    for helper in helping:
        helper.result()


def _open_graph(graph: Path, provider: str | None = None) -> Any:
    """Open a graph on a device, with the CPU for operations that the device lacks, or on the CPU
    alone.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(graph), options, providers=[*filter(None, [provider]), CPU]
    )
