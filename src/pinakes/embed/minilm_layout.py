"""The layout of all-MiniLM-L6-v2 for onnxruntime: one weights file, and the graph that refers to it by offset.

The published safetensors file is read once, by `pinakes model pull`. The word embeddings are a separate memory-mapped
array, so that only the words in use take memory; all other tensors go into one file, in this order, at the offsets that
`minilm.onnx` (written by `scripts/build_minilm_graph.py`) refers to.
"""

import json
import mmap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinakes.errors import ModelError
from pinakes.model.vectors import Vector

LAYERS = 6
HEADS = 12
DIMENSION = 384
FEED_FORWARD = 1536
ALIGNMENT = 64

Weights = Mapping[str, Vector]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A tensor of the graph: its shape, and how it is computed from the published weights."""

    name: str
    shape: tuple[int, ...]
    make: Callable[[Weights], Vector]

    @property
    def size_bytes(self) -> int:
        """The tensor's size in the weights file."""
        return int(np.prod(self.shape)) * 4


def tensors() -> Iterator[TensorSpec]:
    """Yield the tensors of the weights file, in file order."""
    yield _plain("norm_gain", "embeddings.LayerNorm.weight", (DIMENSION,))
    yield _plain("norm_bias", "embeddings.LayerNorm.bias", (DIMENSION,))
    for layer in range(LAYERS):
        yield from _layer_tensors(f"layer{layer}_", f"encoder.layer.{layer}.")


def offsets() -> dict[str, int]:
    """Return the offset of each tensor in the weights file."""
    places: dict[str, int] = {}
    position = 0
    for tensor in tensors():
        places[tensor.name] = position
        position += -(-tensor.size_bytes // ALIGNMENT) * ALIGNMENT
    return places


def write_weights(weights: Weights, path: Path) -> None:
    """Write the weights file."""
    places = offsets()
    with path.open("wb") as file:
        for tensor in tensors():
            file.seek(places[tensor.name])
            file.write(np.ascontiguousarray(tensor.make(weights), dtype=np.float32).tobytes())


def word_table(weights: Weights) -> Vector:
    """Return the word embeddings, one row per token of the vocabulary."""
    return weights["embeddings.word_embeddings.weight"]


def position_table(weights: Weights) -> Vector:
    """Return the position embeddings, with the embedding of the only token type added."""
    token_type: Vector = weights["embeddings.token_type_embeddings.weight"][0]
    rows: Vector = weights["embeddings.position_embeddings.weight"] + token_type
    return rows


def load_safetensors(path: Path) -> Weights:
    """Memory-map a safetensors file of 32-bit floats."""
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_size))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    weights: dict[str, Vector] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, _ = entry["data_offsets"]
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(data, np.float32, count=count, offset=8 + header_size + start)
        weights[name] = flat.reshape(entry["shape"])
    if "encoder.layer.5.output.dense.weight" not in weights:
        raise ModelError(f"{path}: not the weights of a six-layer MiniLM")
    return weights


def _layer_tensors(name: str, source: str) -> Iterator[TensorSpec]:
    attention = [f"{source}attention.self.{part}." for part in ("query", "key", "value")]
    yield TensorSpec(
        name=f"{name}attention_weight",
        shape=(DIMENSION, 3 * DIMENSION),
        make=lambda weights: np.concatenate([weights[f"{part}weight"] for part in attention]).T,
    )
    yield TensorSpec(
        name=f"{name}attention_bias",
        shape=(3 * DIMENSION,),
        make=lambda weights: np.concatenate([weights[f"{part}bias"] for part in attention]),
    )
    yield from _dense(f"{name}attention_out", f"{source}attention.output.dense", DIMENSION, DIMENSION)
    yield from _norm(f"{name}attention_norm", f"{source}attention.output.LayerNorm")
    yield from _dense(f"{name}widen", f"{source}intermediate.dense", DIMENSION, FEED_FORWARD)
    yield from _dense(f"{name}narrow", f"{source}output.dense", FEED_FORWARD, DIMENSION)
    yield from _norm(f"{name}output_norm", f"{source}output.LayerNorm")


def _dense(name: str, source: str, width_in: int, width_out: int) -> Iterator[TensorSpec]:
    yield TensorSpec(
        name=f"{name}_weight", shape=(width_in, width_out), make=lambda weights: weights[f"{source}.weight"].T
    )
    yield _plain(f"{name}_bias", f"{source}.bias", (width_out,))


def _norm(name: str, source: str) -> Iterator[TensorSpec]:
    yield _plain(f"{name}_gain", f"{source}.weight", (DIMENSION,))
    yield _plain(f"{name}_bias", f"{source}.bias", (DIMENSION,))


def _plain(name: str, source: str, shape: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, make=lambda weights: weights[source])
