"""Models of the user's own: a folder with an ONNX export, its tokenizer and `embedding.json`."""

from pathlib import Path

import numpy as np
import pytest

from stackroom.embed.adapters import find_local
from stackroom.embed.port import Embedder
from stackroom.errors import ModelError
from support.tiny_model import write_model

GROUPS = [["dog", "hund", "chien"], ["cat", "katze", "chat"], ["query", "searching"], ["passage"]]


def open_tiny(models: Path, **notes: str) -> Embedder:
    write_model(models / "tiny", GROUPS, **notes)
    embedder = find_local(models, "tiny")
    assert embedder is not None
    return embedder


def test_a_model_from_a_folder_embeds_texts_of_several_languages_alike(tmp_path: Path) -> None:
    embedder = open_tiny(tmp_path)
    assert (embedder.model.name, embedder.model.dimension, embedder.check()) == ("tiny", 5, None)
    dog, cat = embedder.embed_documents(["the dog and the dog", "a cat"])
    asked = embedder.embed_query("Hund")
    assert float(asked @ dog) > float(asked @ cat)
    assert np.allclose(np.linalg.norm([dog, cat, asked], axis=1), 1)


def test_vectors_may_be_those_of_the_first_token(tmp_path: Path) -> None:
    embedder = open_tiny(tmp_path, pooling="first")
    assert np.allclose(embedder.embed_query("dog cat cat"), embedder.embed_query("dog"))


def test_prefixes_are_put_before_queries_and_documents(tmp_path: Path) -> None:
    embedder = open_tiny(tmp_path, query_prefix="query ", document_prefix="passage ")
    query, document = embedder.embed_query("dog"), embedder.embed_documents(["dog"])[0]
    assert query[2] > document[2]
    assert document[3] > query[3]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_said_to(tmp_path: Path, name: str) -> None:
    embedder = open_tiny(tmp_path)
    (tmp_path / "tiny" / name).unlink()
    with pytest.raises(ModelError, match=f"{name} is missing"):
        embedder.embed_query("dog")


def test_a_damaged_graph_and_wrong_notes_are_refused(tmp_path: Path) -> None:
    embedder = open_tiny(tmp_path)
    (tmp_path / "tiny" / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match="not a usable ONNX file"):
        embedder.embed_query("dog")
    (tmp_path / "tiny" / "embedding.json").write_text('{"pooling": "weighted"}')
    with pytest.raises(ModelError, match="must say 'dimension' and 'pooling'"):
        find_local(tmp_path, "tiny")
    assert find_local(tmp_path / "elsewhere", "../tiny") is None


def test_a_query_is_embedded_once_for_all_catalogues_that_ask(tmp_path: Path) -> None:
    embedder = open_tiny(tmp_path)
    first = embedder.embed_query("dog")
    assert embedder.embed_query("dog") is first
    for number in range(20):
        embedder.embed_query(f"cat {number}")
    assert embedder.embed_query("dog") is not first  # only the last few are kept
