"""Writes `src/pinakes/embed/minilm.onnx`: the encoder's graph without weights, which it takes from `weights.bin`.

Run after changing `pinakes.embed.minilm_layout` (needs the `onnx` package, which Pinakes itself does not):

    .venv/bin/python scripts/build_minilm_graph.py
"""

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from pinakes.embed.minilm_layout import DIMENSION, HEADS, LAYERS, offsets, tensors

TARGET = Path(__file__).parent.parent / "src" / "pinakes" / "embed" / "minilm.onnx"
WEIGHTS_FILE = "weights.bin"
FUSED = "com.microsoft"
EPSILON = 1e-12


def main() -> None:
    """Build, check and write the graph."""
    TARGET.write_bytes(build_graph().SerializeToString(deterministic=True))
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


def build_graph() -> onnx.ModelProto:
    """Return the encoder: summed word and position rows in, one unit vector a text out."""
    nodes = [
        helper.make_node(
            "LayerNormalization", ["rows", "norm_gain", "norm_bias"], ["state0"], axis=-1, epsilon=EPSILON
        ),
        helper.make_node("Cast", ["mask"], ["mask_int"], to=TensorProto.INT32),
    ]
    for layer in range(LAYERS):
        nodes += layer_nodes(layer)
    nodes += pooling_nodes(f"state{LAYERS}")
    graph = helper.make_graph(
        nodes,
        "minilm",
        [
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["batch", "length", DIMENSION]),
            helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "length"]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", DIMENSION])],
        [helper.make_tensor("axis1", TensorProto.INT64, [1], [1]), *external_tensors()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="pinakes")


def layer_nodes(layer: int) -> list[onnx.NodeProto]:
    """Return one transformer layer: attention, then a feed-forward, each added to its input and normalised."""
    name = f"layer{layer}_"
    before, after = f"state{layer}", f"state{layer + 1}"
    return [
        helper.make_node(
            "Attention",
            [before, f"{name}attention_weight", f"{name}attention_bias", "mask_int"],
            [f"{name}attended"],
            domain=FUSED,
            num_heads=HEADS,
        ),
        helper.make_node("MatMul", [f"{name}attended", f"{name}attention_out_weight"], [f"{name}mixed"]),
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
        helper.make_node("MatMul", [f"{name}middle", f"{name}widen_weight"], [f"{name}wide"]),
        helper.make_node("BiasGelu", [f"{name}wide", f"{name}widen_bias"], [f"{name}bent"], domain=FUSED),
        helper.make_node("MatMul", [f"{name}bent", f"{name}narrow_weight"], [f"{name}narrow"]),
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


def pooling_nodes(state: str) -> list[onnx.NodeProto]:
    """Return the sum over real tokens, scaled to unit length (which makes dividing by their number needless)."""
    return [
        helper.make_node("Cast", ["mask"], ["mask_float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask_float", "axis1"], ["mask_row"]),
        helper.make_node("MatMul", ["mask_row", state], ["pooled_row"]),
        helper.make_node("Squeeze", ["pooled_row", "axis1"], ["pooled"]),
        helper.make_node("LpNormalization", ["pooled"], ["embedding"], axis=-1, p=2),
    ]


def external_tensors() -> list[onnx.TensorProto]:
    """Return the weights as references into the weights file."""
    places = offsets()
    references = []
    for tensor in tensors():
        proto = TensorProto(name=tensor.name, dims=tensor.shape, data_type=TensorProto.FLOAT)
        proto.data_location = TensorProto.EXTERNAL
        entries = {"location": WEIGHTS_FILE, "offset": str(places[tensor.name]), "length": str(tensor.size_bytes)}
        for key, value in entries.items():
            proto.external_data.add(key=key, value=value)
        references.append(proto)
    return references


if __name__ == "__main__":
    main()
