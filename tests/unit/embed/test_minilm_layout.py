"""Where the weights are in their file, and the graph that points there."""

import importlib.util
import json
from importlib import resources
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pinakes.embed.minilm_layout import (
    ALIGNMENT,
    DIMENSION,
    FEED_FORWARD,
    LAYERS,
    load_safetensors,
    offsets,
    position_table,
    tensors,
    write_weights,
)
from pinakes.embed.weights import MODEL_FILES
from pinakes.errors import ModelError

SCRIPT = Path(__file__).parents[3] / "scripts" / "build_minilm_graph.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_minilm_graph", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def published_weights() -> dict[str, np.ndarray]:
    """Return weights under their published names, every tensor filled with a number of its own."""
    shapes = {"embeddings.LayerNorm.weight": (DIMENSION,), "embeddings.LayerNorm.bias": (DIMENSION,)}
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
    return {name: np.full(shape, number, np.float32) for number, (name, shape) in enumerate(shapes.items(), 1)}


def test_tensors_are_aligned_and_do_not_overlap() -> None:
    places = offsets()
    end = 0
    for tensor in tensors():
        assert places[tensor.name] % ALIGNMENT == 0
        assert places[tensor.name] >= end
        end = places[tensor.name] + tensor.size_bytes
    assert len(places) == 2 + 12 * LAYERS


def test_every_tensor_is_made_in_the_shape_it_declares() -> None:
    weights = published_weights()
    for tensor in tensors():
        assert tensor.make(weights).shape == tensor.shape, tensor.name


def test_the_weights_file_has_each_tensor_at_its_offset_and_the_size_that_is_checked_for(tmp_path: Path) -> None:
    weights = published_weights()
    path = tmp_path / "weights.bin"
    write_weights(weights, path)
    assert path.stat().st_size == MODEL_FILES["weights.bin"]
    written = np.memmap(path, np.float32, mode="r")
    for tensor in tensors():
        start = offsets()[tensor.name] // 4
        values = written[start : start + tensor.size_bytes // 4]
        assert np.array_equal(values, tensor.make(weights).ravel()), tensor.name


def test_the_committed_graph_is_what_the_script_makes() -> None:
    committed = resources.files("pinakes.embed").joinpath("minilm.onnx").read_bytes()
    assert load_script().build_graph().SerializeToString(deterministic=True) == committed


def write_safetensors(path: Path, arrays: dict[str, np.ndarray]) -> None:
    header, data = {"__metadata__": {"format": "pt"}}, b""
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
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)


def test_safetensors_are_read_and_what_is_not_floats_is_left_out(tmp_path: Path) -> None:
    last = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_safetensors(
        tmp_path / "m", {"ids": np.arange(3), "a": np.float32([9]), "encoder.layer.5.output.dense.weight": last}
    )
    weights = load_safetensors(tmp_path / "m")
    assert set(weights) == {"a", "encoder.layer.5.output.dense.weight"}
    assert np.array_equal(weights["encoder.layer.5.output.dense.weight"], last)


def test_the_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "m", {"a": np.float32([9])})
    with pytest.raises(ModelError, match="not the weights of a six-layer MiniLM"):
        load_safetensors(tmp_path / "m")


def test_positions_have_the_one_token_type_added_in() -> None:
    weights = {
        "embeddings.position_embeddings.weight": np.float32([[1, 2], [3, 4]]),
        "embeddings.token_type_embeddings.weight": np.float32([[10, 20], [0, 0]]),
    }
    assert position_table(weights).tolist() == [[11, 22], [13, 24]]
