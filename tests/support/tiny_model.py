"""A tiny embedding model of one's own, with a real ONNX file: an axis per group of words."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

PAD, UNKNOWN = "[PAD]", "[UNK]"
SHARED = 0.2
"""The share of every word in all others, so that no vector is zero."""


def write_model(folder: Path, groups: Sequence[Sequence[str]], **notes: str) -> None:
    """Write a model whose words have a vector for each group of synonyms; `notes` go into `embedding.json`."""
    folder.mkdir(parents=True)
    words = [PAD, UNKNOWN, *(word for group in groups for word in group)]
    table = np.full((len(words), len(groups) + 1), SHARED, np.float32)
    for axis, group in enumerate(groups):
        table[[words.index(word) for word in group], axis] = 1
    (folder / "model.onnx").write_bytes(_graph(table))
    _write_tokenizer(folder / "tokenizer.json", words)
    known = {"dimension": len(groups) + 1, "pooling": "mean", **notes}
    (folder / "embedding.json").write_text(json.dumps(known), encoding="utf-8")


def _graph(table: Any) -> bytes:
    axes = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, table.shape[1]])
    node = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([node], "tiny", inputs, [output], [numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def _write_tokenizer(path: Path, words: Sequence[str]) -> None:
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens([PAD, UNKNOWN])
    tokenizer.save(str(path))
