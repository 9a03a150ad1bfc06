"""Readers of published weights: safetensors, and the `hmsemb` pack of the package index.

Each returns 32-bit floats under the names that BERT's tensors have in a safetensors file.
"""

import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.embed.encoder_layout import LAYERS, Weights
from stackroom.embed.models import DIMENSION
from stackroom.errors import ModelError
from stackroom.model.vectors import Vector

PACK_MAGIC = b"HMSEMB01"
LAST_TENSOR = f"encoder.layer.{LAYERS - 1}.output.dense.weight"
FIRST_POSITION = 2
"""RoBERTa's first position: the rows before it are of padding."""

PACK_NAMES = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
"""The pack's name of a part of a layer → its published name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The content of a pack: the tokenizer's file and the weights."""

    tokenizer: bytes
    weights: Weights


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
        raise ModelError(f"{path}: not the weights of a six-layer encoder")
    return weights


def load_pack(path: Path) -> Pack:
    """Read a pack: a magic, the header's length, the header, the tokenizer's file, and the tensors in its order."""
    content = path.read_bytes()
    if not content.startswith(PACK_MAGIC):
        raise ModelError(f"{path}: not a pack of weights")
    begin = len(PACK_MAGIC) + 8
    position = begin + int.from_bytes(content[len(PACK_MAGIC) : begin], "little")
    header = json.loads(content[begin:position])
    tokenizer = content[position : position + header["tokenizer_len"]]
    position += header["tokenizer_len"]
    found: dict[str, Vector] = {}
    for entry in header["tensors"]:
        found[entry["name"]] = _unpacked(content[position : position + entry["len"]], entry)
        position += entry["len"]
    return Pack(tokenizer=tokenizer, weights=dict(_published_names(found)))


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
