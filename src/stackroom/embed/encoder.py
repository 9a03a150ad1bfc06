"""The local models of `models` through onnxruntime, without torch.

A model folder has `tokenizer.json`, `words.npy`, `positions.npy`, `weights.bin` and `graph.onnx`; `weights` writes it.
Loading takes a few dozen milliseconds.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from stackroom.embed.models import LocalModel
from stackroom.embed.weights import check_model
from stackroom.errors import ModelError
from stackroom.model.vectors import Vector

MAX_TOKENS = 256

MAX_QUERY_TOKENS = 128
"""Queries are truncated earlier than documents: a caller waits for them, and their meaning is clear by then."""

BATCH_TEXTS = 32
QUERY_THREADS = 1
"""A second thread takes a third more CPU for the same query, and other queries are waiting for it."""
DOCUMENT_THREADS = 2


class Encoder:
    """Implements `Embedder` in this process. Construction loads the model."""

    def __init__(self, folder: Path, model: LocalModel) -> None:
        if problems := check_model(folder, model):
            raise ModelError(f"the embedding model is not ready: {'; '.join(problems)}")
        self.model = model.id
        self._session = _Session(folder, pad_id=model.pad_id)

    def check(self) -> str | None:
        """Return None: a loaded model can be used."""
        return None

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; these models need no prefix."""
        row: Vector = self._session.run([text], max_tokens=MAX_QUERY_TOKENS)[0]
        return row

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row per text; those of similar length in a batch, which is padded to its longest text."""
        rows = np.zeros((len(texts), self.model.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), BATCH_TEXTS):
            places = order[start : start + BATCH_TEXTS]
            rows[places] = self._session.run_many([texts[place] for place in places])
        return rows


def _open_session(graph: Path, *, threads: int) -> Any:
    """Open a graph on the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads must not spin
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


class _Session:
    """The loaded tokenizer, word embeddings and encoder."""

    def __init__(self, folder: Path, *, pad_id: int) -> None:
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # A published tokenizer file may pad and truncate every text to 128 tokens.
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding(pad_id=pad_id)
        self._words = np.load(folder / "words.npy", mmap_mode="r")
        self._positions = np.load(folder / "positions.npy")
        self._graph = folder / "graph.onnx"
        self._encoder = _open_session(self._graph, threads=QUERY_THREADS)

    @cached_property
    def _documents_encoder(self) -> Any:
        """The encoder of documents, opened where there are any: of many texts on two threads."""
        return _open_session(self._graph, threads=DOCUMENT_THREADS)

    def run_many(self, texts: Sequence[str]) -> Vector:
        """Embed a batch of documents."""
        return self._run(texts, MAX_TOKENS, self._documents_encoder if len(texts) > 1 else self._encoder)

    def run(self, texts: Sequence[str], *, max_tokens: int = MAX_TOKENS) -> Vector:
        """Embed one query, or a few."""
        return self._run(texts, max_tokens, self._encoder)

    def _run(self, texts: Sequence[str], max_tokens: int, encoder: Any) -> Vector:
        encoded = self._tokenizer.encode_batch(list(texts))
        tokens = np.array([one.ids for one in encoded])[:, :max_tokens]
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)[:, :max_tokens]
        rows = self._words[tokens].astype(np.float32) + self._positions[: tokens.shape[1]]
        embedded: Vector = encoder.run(None, {"rows": rows, "mask": mask})[0]
        return embedded
