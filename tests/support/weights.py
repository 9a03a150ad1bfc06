"""Weights under their published names, and files of them, for tests of local models."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.embed.encoder_layout import FEED_FORWARD, LAYERS
from stackroom.embed.models import DIMENSION
from stackroom.model.vectors import Vector


def published_weights() -> dict[str, Vector]:
    """Return weights under their published names, every tensor filled with a number of its own."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.LayerNorm.weight": (DIMENSION,),
        "embeddings.LayerNorm.bias": (DIMENSION,),
    }
    for layer in range(LAYERS):
        source = f"encoder.layer.{layer}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= {f"{source}attention.{part}.weight": (DIMENSION, DIMENSION)}
            shapes |= {f"{source}attention.{part}.bias": (DIMENSION,)}
        shapes |= {f"{source}intermediate.dense.weight": (FEED_FORWARD, DIMENSION)}
        shapes |= {f"{source}intermediate.dense.bias": (FEED_FORWARD,)}
        shapes |= {
            f"{source}output.dense.weight": (DIMENSION, FEED_FORWARD),
            f"{source}output.dense.bias": (DIMENSION,),
        }
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{source}{norm}.weight": (DIMENSION,), f"{source}{norm}.bias": (DIMENSION,)}
    return {
        name: np.full(shape, number, np.float32)
        for number, (name, shape) in enumerate(shapes.items(), 1)
    }


def write_safetensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of 32-bit floats or whole numbers as a safetensors file."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, array in arrays.items():
        kind = {"float32": "F32", "int64": "I64"}[array.dtype.name]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(data))
