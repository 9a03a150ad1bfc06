"""A model of the user's own, from its ONNX export: tokens in, pooled unit vectors out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors
from tokenizers import Tokenizer

from stackroom.embed.encoder import DOCUMENT_THREADS, MAX_QUERY_TOKENS, embed_by_length, open_session
from stackroom.embed.exported_folder import GRAPH, ExportedModel
from stackroom.embed.models import TOKENIZER, Pooling
from stackroom.errors import ModelError
from stackroom.model.vectors import Vector

UNUSABLE = (
    onnx_errors.Fail,
    onnx_errors.InvalidGraph,
    onnx_errors.InvalidProtobuf,
    onnx_errors.NoSuchFile,
    onnx_errors.NotImplemented,
    onnx_errors.RuntimeException,
)
"""What onnxruntime raises for a graph that it cannot use."""
PAD_TOKENS = ("[PAD]", "<pad>")
POOLED_OUTPUT = "sentence_embedding"


class ExportedEncoder:
    """Implements `Embedder` in this process. Construction loads the model."""

    def __init__(self, folder: Path, model: ExportedModel) -> None:
        self.model = model.id
        self._notes = model
        self._tokenizer: Any = _load_tokenizer(folder / TOKENIZER, model.max_tokens)
        try:
            self._encoder = open_session(folder / GRAPH, threads=DOCUMENT_THREADS)
        except (*UNUSABLE, ValueError) as error:
            raise ModelError(
                f"{folder / GRAPH}: not a usable ONNX file: {str(error)[:200]}; export the model again"
            ) from error
        self._inputs = {one.name for one in self._encoder.get_inputs()}
        outputs = [output.name for output in self._encoder.get_outputs()]
        self._output = POOLED_OUTPUT if POOLED_OUTPUT in outputs else outputs[0]

    def check(self) -> str | None:
        """Return None: a loaded model can be used."""
        return None

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, with the model's prefix."""
        row: Vector = self._run([self._notes.query_prefix + text], MAX_QUERY_TOKENS)[0]
        return row

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row per text, with the model's prefix."""
        prefixed = [self._notes.document_prefix + text for text in texts]
        return embed_by_length(prefixed, lambda some: self._run(some, self._notes.max_tokens), self.model.dimension)

    def _run(self, texts: Sequence[str], max_tokens: int) -> Vector:
        encoded = self._tokenizer.encode_batch(list(texts))
        tokens = np.array([one.ids for one in encoded], dtype=np.int64)[:, :max_tokens]
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)[:, :max_tokens]
        offered = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        given = {name: values for name, values in offered.items() if name in self._inputs}
        found = self._encoder.run([self._output], given)[0]
        return _unit(found if found.ndim == 2 else self._pooled(found, mask))

    def _pooled(self, states: Vector, mask: Any) -> Vector:
        if self._notes.pooling is Pooling.FIRST:
            return states[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        total: Vector = (states * weights).sum(axis=1)
        return total


def _load_tokenizer(path: Path, max_tokens: int) -> Any:
    try:
        tokenizer: Any = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare exceptions
        raise ModelError(f"{path}: not a tokenizer: {error}; export the model again") from error
    pad = next((token for token in PAD_TOKENS if tokenizer.token_to_id(token) is not None), None)
    tokenizer.enable_truncation(max_tokens)
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id(pad) if pad else 0, pad_token=pad or PAD_TOKENS[0])
    return tokenizer


def _unit(rows: Any) -> Vector:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vector = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit
