"""Where the weights are in their file, and the graph that points there."""

import importlib.util
from importlib import resources
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stackroom.embed.encoder_layout import (
    BLOCK,
    MIDDLE,
    WEIGHTS_SIZE,
    load_safetensors,
    offsets,
    position_table,
    quantise_blocks,
    tensors,
    write_weights,
)
from stackroom.embed.models import Pooling
from stackroom.errors import ModelError
from support.weights import published_weights, write_safetensors

SCRIPT = Path(__file__).parents[3] / "scripts" / "build_encoder_graphs.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_encoder_graphs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_weights_file_has_each_tensor_at_its_offset_and_the_size_that_is_checked_for(
    tmp_path: Path,
) -> None:
    weights = published_weights()
    path = tmp_path / "weights.bin"
    write_weights(weights, path, tensors())
    assert path.stat().st_size == WEIGHTS_SIZE
    written = path.read_bytes()
    for tensor in tensors():
        start = offsets(tensors())[tensor.name]
        values = np.frombuffer(written[start : start + tensor.size_bytes], tensor.dtype)
        assert np.array_equal(values, tensor.make(weights).ravel()), tensor.name


def test_a_quantised_matrix_is_near_the_original_and_a_block_of_zeros_stays_zero() -> None:
    weight = np.random.default_rng(1).normal(size=(3, 2 * BLOCK)).astype(np.float32)
    weight[1, :BLOCK] = 0
    values, scales = quantise_blocks(weight)
    again = ((values.astype(np.float32) - MIDDLE) * scales[:, :, None]).reshape(weight.shape)
    assert np.abs(again - weight).max() <= scales.max() / 2 + 1e-6
    assert not again[1, :BLOCK].any()


@pytest.mark.parametrize(("bits", "suffix"), [(8, ""), (32, "-32")])
@pytest.mark.parametrize("pooling", Pooling)
def test_the_committed_graph_is_what_the_script_makes(
    pooling: Pooling, bits: int, suffix: str
) -> None:
    committed = (
        resources.files("stackroom.embed").joinpath(f"encoder-{pooling}{suffix}.onnx").read_bytes()
    )
    assert (
        load_script().build_graph(pooling, bits).SerializeToString(deterministic=True) == committed
    )


def test_the_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "m", {"a": np.float32([9])})
    with pytest.raises(ModelError, match="not the weights of a six-layer encoder"):
        load_safetensors(tmp_path / "m")


def test_positions_have_the_one_token_type_added_in() -> None:
    weights = {
        "embeddings.position_embeddings.weight": np.float32([[1, 2], [3, 4]]),
        "embeddings.token_type_embeddings.weight": np.float32([[10, 20], [0, 0]]),
    }
    assert position_table(weights).tolist() == [[11, 22], [13, 24]]
