"""The layout of the local models for onnxruntime: one weights file, and the graph that refers to it
by offset.

All have the same encoder: six layers, 384 wide. The word embeddings are a separate memory-mapped
array, so that only the words in use take memory; all other tensors go into one file, in this order,
at the offsets that the graphs (written by `scripts/build_encoder_graphs.py`) refer to.

Matrices have 8 bits per value, with a scale for each block of `BLOCK` values in a column. Inputs
are quantised by block, too, while a product is computed: twice as fast as 32-bit floats on average,
at a cosine of .999 to their result.

`unpack_weights` makes 32-bit floats of them, for processors that multiply those faster, and for
graphics processors.

Weights are read as they are published, in safetensors or in the `hmsemb` pack of the package index:
32-bit floats under the names that BERT's tensors have in a safetensors file.
"""

import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.embed.models import DIMENSION
from stackroom.errors import ModelError
from stackroom.frozen import frozen
from stackroom.model.vectors import Vector

LAYERS = 6
HEADS = 12
FEED_FORWARD = 1536
POSITIONS = 512
ALIGNMENT = 64
WEIGHTS_SIZE = 11_071_488

BLOCK = 128
MIDDLE = 128  # the byte that stands for zero
MATRIX, SCALE = "_weight", "_scale"

Weights = Mapping[str, Vector]
Tensor = NDArray[Any]


@frozen
class TensorSpec:
    """A tensor of the graph: its shape, and how it is computed from the published weights."""

    name: str
    shape: tuple[int, ...]
    make: Callable[[Weights], Tensor]
    is_quantised: bool = False

    @property
    def dtype(self) -> Any:
        """The type of its values: bytes, or 32-bit floats."""
        return np.uint8 if self.is_quantised else np.float32

    @property
    def size_bytes(self) -> int:
        """The tensor's size in the weights file."""
        return int(np.prod(self.shape)) * int(np.dtype(self.dtype).itemsize)


def tensors() -> Iterator[TensorSpec]:
    """Yield the tensors of the weights file, in file order."""
    yield _plain("norm_gain", "embeddings.LayerNorm.weight", (DIMENSION,))
    yield _plain("norm_bias", "embeddings.LayerNorm.bias", (DIMENSION,))
    for layer in range(LAYERS):
        yield from _layer_tensors(f"layer{layer}_", f"encoder.layer.{layer}.")


def float_tensors() -> Iterator[TensorSpec]:
    """Yield the tensors of the file of 32-bit weights, in file order, made from those of the
    weights file.
    """
    for tensor in tensors():
        if tensor.is_quantised:
            outputs, blocks, size = tensor.shape
            make = partial(_unquantised, tensor.name)
            yield TensorSpec(name=tensor.name, shape=(blocks * size, outputs), make=make)
        elif not tensor.name.endswith(SCALE):
            yield TensorSpec(name=tensor.name, shape=tensor.shape, make=itemgetter(tensor.name))


def offsets(specs: Iterable[TensorSpec]) -> dict[str, int]:
    """Return the offset of each tensor in a file."""
    places: dict[str, int] = {}
    position = 0
    for tensor in specs:
        places[tensor.name] = position
        position = _aligned(position + tensor.size_bytes)
    return places


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def write_weights(weights: Weights, path: Path, specs: Iterable[TensorSpec]) -> None:
    """Write a file of tensors."""
    with path.open("wb") as file:
        for tensor in specs:
            file.seek(_aligned(file.tell()))
            file.write(np.ascontiguousarray(tensor.make(weights), dtype=tensor.dtype).tobytes())


def unpack_weights(packed: Path, path: Path) -> None:
    """Write the file of 32-bit weights from the weights file."""
    places = offsets(tensors())
    read = {
        one.name: np.memmap(packed, one.dtype, "r", places[one.name], one.shape)
        for one in tensors()
    }
    write_weights(read, path, float_tensors())


def _unquantised(name: str, packed: Weights) -> Vector:
    """Return a matrix (inputs × outputs) of floats from its blocks of bytes and their scales."""
    blocks = packed[name]
    scales = packed[name.removesuffix(MATRIX) + SCALE].reshape(*blocks.shape[:2], 1)
    floats: Vector = (blocks.astype(np.float32) - MIDDLE) * scales
    return floats.reshape(len(blocks), -1).T


def word_table(weights: Weights) -> NDArray[np.float16]:
    """Return the word embeddings, one row per token of the vocabulary."""
    return weights["embeddings.word_embeddings.weight"].astype(np.float16)


def position_table(weights: Weights) -> Vector:
    """Return the position embeddings, with the embedding of the only token type added."""
    token_type: Vector = weights["embeddings.token_type_embeddings.weight"][0]
    rows: Vector = weights["embeddings.position_embeddings.weight"] + token_type
    return rows


def quantise_blocks(weight: Vector) -> tuple[NDArray[np.uint8], Vector]:
    """Return a matrix (outputs × inputs) as bytes around `MIDDLE`, in blocks of inputs, and each
    block's scale.
    """
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scales = (np.abs(blocks).max(axis=2) / (MIDDLE - 1)).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)[:, :, None]
    return (np.rint(blocks / divisors) + MIDDLE).astype(np.uint8), scales


def _layer_tensors(name: str, source: str) -> Iterator[TensorSpec]:
    attention = [f"{source}attention.self.{part}" for part in ("query", "key", "value")]
    yield from _dense(f"{name}attention", attention, DIMENSION, 3 * DIMENSION)
    yield from _dense(
        f"{name}attention_out", [f"{source}attention.output.dense"], DIMENSION, DIMENSION
    )
    yield from _norm(f"{name}attention_norm", f"{source}attention.output.LayerNorm")
    yield from _dense(f"{name}widen", [f"{source}intermediate.dense"], DIMENSION, FEED_FORWARD)
    yield from _dense(f"{name}narrow", [f"{source}output.dense"], FEED_FORWARD, DIMENSION)
    yield from _norm(f"{name}output_norm", f"{source}output.LayerNorm")


def _dense(name: str, sources: list[str], width_in: int, width_out: int) -> Iterator[TensorSpec]:
    """Yield the matrix of one or more published ones under each other, its scales, and its bias."""

    def stacked(weights: Weights, part: str) -> Vector:
        return np.concatenate([weights[f"{source}.{part}"] for source in sources])

    def quantised(weights: Weights) -> tuple[NDArray[np.uint8], Vector]:
        return quantise_blocks(stacked(weights, "weight"))

    blocks = width_in // BLOCK
    matrix, scales = (width_out, blocks, BLOCK), (width_out * blocks,)
    yield TensorSpec(
        name=name + MATRIX,
        shape=matrix,
        make=lambda weights: quantised(weights)[0],
        is_quantised=True,
    )
    yield TensorSpec(
        name=name + SCALE, shape=scales, make=lambda weights: quantised(weights)[1].ravel()
    )
    yield TensorSpec(
        name=f"{name}_bias", shape=(width_out,), make=lambda weights: stacked(weights, "bias")
    )


def _norm(name: str, source: str) -> Iterator[TensorSpec]:
    yield _plain(f"{name}_gain", f"{source}.weight", (DIMENSION,))
    yield _plain(f"{name}_bias", f"{source}.bias", (DIMENSION,))


def _plain(name: str, source: str, shape: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, make=lambda weights: weights[source])


PACK_MAGIC = b"HMSEMB01"
LAST_TENSOR = f"encoder.layer.{LAYERS - 1}.output.dense.weight"
FIRST_POSITION = 2  # RoBERTa's first position: the rows before it are of padding

PACK_NAMES = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
"""The pack's name of a part of a layer → its published name."""


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
    if LAST_TENSOR not in weights:
        raise ModelError(
            f"{path}: not the weights of a six-layer encoder; run: stackroom model pull"
        )
    return weights


def load_pack(path: Path) -> tuple[Weights, bytes]:
    """Return the weights and the tokenizer's file of a pack.

    It has a magic, the header's length, the header, the tokenizer's file, and the tensors in the
    header's order.
    """
    content = path.read_bytes()
    if not content.startswith(PACK_MAGIC):
        raise ModelError(f"{path}: not a pack of weights; run: stackroom model pull")
    begin = len(PACK_MAGIC) + 8
    position = begin + int.from_bytes(content[len(PACK_MAGIC) : begin], "little")
    header = json.loads(content[begin:position])
    tokenizer = content[position : position + header["tokenizer_len"]]
    position += header["tokenizer_len"]
    found: dict[str, Vector] = {}
    for entry in header["tensors"]:
        found[entry["name"]] = _unpacked(content[position : position + entry["len"]], entry)
        position += entry["len"]
    return dict(_published_names(found)), tokenizer


def _unpacked(raw: bytes, entry: dict[str, Any]) -> Vector:
    """Return a tensor of floats; of 8-bit values, each group has a scale, after all the values."""
    shape = tuple(entry["shape"])
    if entry["dtype"] == "f32":
        return np.frombuffer(raw, np.float32).reshape(shape)
    count = int(np.prod(shape))
    groups = np.frombuffer(raw, np.int8, count=count).reshape(-1, entry["group"])
    scales = np.frombuffer(raw, np.float32, offset=count)
    values: Vector = (groups.astype(np.float32) * scales[:, None]).reshape(shape)
    return values


def _published_names(found: Weights) -> Iterator[tuple[str, Vector]]:
    yield "embeddings.word_embeddings.weight", found["word_emb"]
    yield "embeddings.position_embeddings.weight", found["pos_emb"][FIRST_POSITION:]
    yield "embeddings.token_type_embeddings.weight", found["type_emb"]
    yield from _pair("embeddings.LayerNorm", found, "emb_ln")
    for layer in range(LAYERS):
        source, name = f"l{layer}.", f"encoder.layer.{layer}."
        for place, part in enumerate(("query", "key", "value")):
            rows = slice(DIMENSION * place, DIMENSION * (place + 1))
            yield f"{name}attention.self.{part}.weight", found[f"{source}qkv.w"][rows]
            yield f"{name}attention.self.{part}.bias", found[f"{source}qkv.b"][rows]
        for short, long in PACK_NAMES.items():
            yield from _pair(f"{name}{long}", found, f"{source}{short}")


def _pair(name: str, found: Weights, source: str) -> Iterator[tuple[str, Vector]]:
    yield f"{name}.weight", found[f"{source}.w"]
    yield f"{name}.bias", found[f"{source}.b"]
