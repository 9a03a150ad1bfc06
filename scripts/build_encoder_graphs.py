"""Writes `src/stackroom/embed/encoder-*.onnx`: the encoder's graph for each pooling, in 8 bits and
in 32.

The weights of a graph are in `weights.bin` or `weights-32.bin` beside it.

Run after changing `stackroom.embed.encoder_layout` (needs the `onnx` package, which Stackroom
itself does not):

    .venv/bin/python scripts/build_encoder_graphs.py
"""

from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from stackroom.embed.encoder_layout import (
    BLOCK,
    FEED_FORWARD,
    HEADS,
    LAYERS,
    float_tensors,
    offsets,
    tensors,
)
from stackroom.embed.models import DIMENSION, Pooling

FOLDER = Path(__file__).parent.parent / "src" / "stackroom" / "embed"
FUSED = "com.microsoft"
EPSILON = 1e-12
EIGHT_BITS = 8

Product = Callable[[str, str, str, int, int], onnx.NodeProto]


def main() -> None:
    """Build and write the graphs."""
    for pooling in Pooling:
        for bits, suffix in ((EIGHT_BITS, ""), (32, "-32")):
            target = FOLDER / f"encoder-{pooling}{suffix}.onnx"
            target.write_bytes(build_graph(pooling, bits).SerializeToString(deterministic=True))
            print(f"{target}: {target.stat().st_size} bytes")


def build_graph(pooling: Pooling, bits: int = EIGHT_BITS) -> onnx.ModelProto:
    """Return the encoder: summed word and position rows in, one unit vector a text out."""
    product = byte_product if bits == EIGHT_BITS else float_product
    nodes = [
        helper.make_node(
            "LayerNormalization",
            ["rows", "norm_gain", "norm_bias"],
            ["state0"],
            axis=-1,
            epsilon=EPSILON,
        ),
        helper.make_node("Cast", ["mask"], ["mask_int"], to=TensorProto.INT32),
    ]
    for layer in range(LAYERS):
        nodes += layer_nodes(layer, product)
    nodes += (mean_nodes if pooling is Pooling.MEAN else first_nodes)(f"state{LAYERS}")
    nodes.append(helper.make_node("LpNormalization", ["pooled"], ["embedding"], axis=-1, p=2))
    graph = helper.make_graph(
        nodes,
        "encoder",
        [
            helper.make_tensor_value_info(
                "rows", TensorProto.FLOAT, ["batch", "length", DIMENSION]
            ),
            helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "length"]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", DIMENSION])],
        [*constants(), *external_tensors(bits)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="stackroom")


def layer_nodes(layer: int, product: Product) -> list[onnx.NodeProto]:
    """Return one transformer layer: attention, then a feed-forward, each added to its input and
    normalised.
    """
    name = f"layer{layer}_"
    before, after = f"state{layer}", f"state{layer + 1}"
    parts = [f"{name}{part}" for part in ("query", "key", "value")]
    return [
        product(before, f"{name}attention", f"{name}projected", DIMENSION, 3 * DIMENSION),
        helper.make_node("Split", [f"{name}projected", "three_parts"], parts, axis=-1),
        helper.make_node(
            "MultiHeadAttention",
            [*parts, f"{name}attention_bias", "mask_int"],
            [f"{name}attended"],
            domain=FUSED,
            num_heads=HEADS,
        ),
        product(f"{name}attended", f"{name}attention_out", f"{name}mixed", DIMENSION, DIMENSION),
        helper.make_node(
            "SkipLayerNormalization",
            [
                before,
                f"{name}mixed",
                f"{name}attention_norm_gain",
                f"{name}attention_norm_bias",
                f"{name}attention_out_bias",
            ],
            [f"{name}middle"],
            domain=FUSED,
            epsilon=EPSILON,
        ),
        product(f"{name}middle", f"{name}widen", f"{name}wide", DIMENSION, FEED_FORWARD),
        helper.make_node(
            "BiasGelu", [f"{name}wide", f"{name}widen_bias"], [f"{name}bent"], domain=FUSED
        ),
        product(f"{name}bent", f"{name}narrow", f"{name}narrow", FEED_FORWARD, DIMENSION),
        helper.make_node(
            "SkipLayerNormalization",
            [
                f"{name}middle",
                f"{name}narrow",
                f"{name}output_norm_gain",
                f"{name}output_norm_bias",
                f"{name}narrow_bias",
            ],
            [after],
            domain=FUSED,
            epsilon=EPSILON,
        ),
    ]


def float_product(
    state: str, name: str, target: str, _width_in: int, _width_out: int
) -> onnx.NodeProto:
    """Return the product with a matrix of floats."""
    return helper.make_node("MatMul", [state, f"{name}_weight"], [target])


def byte_product(
    state: str, name: str, target: str, width_in: int, width_out: int
) -> onnx.NodeProto:
    """Return the product with a matrix of bytes; the input is quantised by block, too (accuracy
    level 4).
    """
    return helper.make_node(
        "MatMulNBits",
        [state, f"{name}_weight", f"{name}_scale"],
        [target],
        domain=FUSED,
        K=width_in,
        N=width_out,
        bits=8,
        block_size=BLOCK,
        accuracy_level=4,
    )


def mean_nodes(state: str) -> list[onnx.NodeProto]:
    """Return the sum over real tokens; the unit length makes dividing by their number needless."""
    return [
        helper.make_node("Cast", ["mask"], ["mask_float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask_float", "axis1"], ["mask_row"]),
        helper.make_node("MatMul", ["mask_row", state], ["pooled_row"]),
        helper.make_node("Squeeze", ["pooled_row", "axis1"], ["pooled"]),
    ]


def first_nodes(state: str) -> list[onnx.NodeProto]:
    """Return the vector of the first token."""
    return [helper.make_node("Gather", [state, "first"], ["pooled"], axis=1)]


def constants() -> list[onnx.TensorProto]:
    """Return the constants of the graph."""
    return [
        helper.make_tensor("axis1", TensorProto.INT64, [1], [1]),
        helper.make_tensor("first", TensorProto.INT64, [], [0]),
        helper.make_tensor("three_parts", TensorProto.INT64, [3], [DIMENSION] * 3),
    ]


def external_tensors(bits: int) -> list[onnx.TensorProto]:
    """Return the weights as references into their file."""
    specs = list(tensors() if bits == EIGHT_BITS else float_tensors())
    file = "weights.bin" if bits == EIGHT_BITS else "weights-32.bin"
    places = offsets(specs)
    references = []
    for tensor in specs:
        kind = TensorProto.UINT8 if tensor.is_quantised else TensorProto.FLOAT
        proto = TensorProto(name=tensor.name, dims=tensor.shape, data_type=kind)
        proto.data_location = TensorProto.EXTERNAL
        entries = {
            "location": file,
            "offset": str(places[tensor.name]),
            "length": str(tensor.size_bytes),
        }
        for key, value in entries.items():
            proto.external_data.add(key=key, value=value)
        references.append(proto)
    return references


if __name__ == "__main__":
    main()
