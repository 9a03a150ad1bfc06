"""Models of the user's own: a folder in sentence-transformers' layout with an ONNX export."""

from pathlib import Path

import numpy as np
import pytest

from stackroom.embed.adapters import find_local
from stackroom.embed.exported_folder import list_exported
from stackroom.embed.models import Pooling
from stackroom.embed.weights import install_export
from stackroom.errors import ExpectedError, InputError, ModelError, NotFoundError
from support.tiny_model import write_export

GROUPS = [["dog", "hund", "chien"], ["cat", "katze", "chat"], ["query", "searching"], ["passage"]]


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return write_export(tmp_path / "export", GROUPS)


def test_a_model_from_a_folder_embeds_texts_of_several_languages_alike(export: Path, tmp_path: Path) -> None:
    install_export(tmp_path / "models", "tiny", export)
    embedder = find_local(tmp_path / "models", "tiny")
    assert embedder is not None
    assert (embedder.model.name, embedder.model.dimension, embedder.check()) == ("tiny", 5, None)
    dog, cat = embedder.embed_documents(["the dog and the dog", "a cat"])
    asked = embedder.embed_query("Hund")
    assert float(asked @ dog) > float(asked @ cat)
    assert np.allclose(np.linalg.norm([dog, cat, asked], axis=1), 1)


def test_a_graph_beside_the_tokenizer_is_found_as_well(tmp_path: Path) -> None:
    source = write_export(tmp_path / "export", GROUPS, graph_folder=".")
    assert (install_export(tmp_path / "models", "tiny", source) / "model.onnx").is_file()


def test_pooling_by_the_first_token_is_read_from_the_configuration(tmp_path: Path) -> None:
    source = write_export(tmp_path / "export", GROUPS, pooling={"pooling_mode_cls_token": True})
    install_export(tmp_path / "models", "tiny", source)
    (model,) = list_exported(tmp_path / "models")
    embedder = find_local(tmp_path / "models", "tiny")
    assert model.pooling is Pooling.FIRST
    assert embedder is not None
    assert np.allclose(embedder.embed_query("dog cat cat"), embedder.embed_query("dog"))


def test_prefixes_are_put_before_queries_and_documents(tmp_path: Path) -> None:
    prompts = {"query": "query ", "passage": "passage "}
    install_export(tmp_path / "models", "tiny", write_export(tmp_path / "export", GROUPS, prompts=prompts))
    embedder = find_local(tmp_path / "models", "tiny")
    assert embedder is not None
    query, document = embedder.embed_query("dog"), embedder.embed_documents(["dog"])[0]
    assert query[2] > document[2]
    assert document[3] > query[3]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ("onnx/model.onnx", NotFoundError, r"neither onnx/model.onnx nor model.onnx"),
        ("tokenizer.json", NotFoundError, r"no tokenizer.json"),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused(
    export: Path, tmp_path: Path, change: str, error: type[ExpectedError], message: str
) -> None:
    (export / change).unlink()
    with pytest.raises(error, match=message):
        install_export(tmp_path / "models", "tiny", export)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_damaged_graph_is_refused(export: Path, tmp_path: Path) -> None:
    (export / "onnx" / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match="not a usable ONNX file"):
        install_export(tmp_path / "models", "tiny", export)


def test_a_pooling_or_a_module_that_is_not_supported_is_named(tmp_path: Path) -> None:
    weighted = write_export(tmp_path / "a", GROUPS, pooling={"pooling_mode_weightedmean_tokens": True})
    with pytest.raises(ModelError, match="pooling_mode_weightedmean_tokens is not supported"):
        install_export(tmp_path / "models", "tiny", weighted)
    dense = write_export(tmp_path / "b", GROUPS, modules=("Transformer", "Pooling", "Dense"))
    with pytest.raises(ModelError, match="type 'Dense' is not supported"):
        install_export(tmp_path / "models", "tiny", dense)


def test_a_name_that_leads_elsewhere_is_refused(export: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot name a model"):
        install_export(tmp_path / "models", "../tiny", export)


def test_a_query_is_embedded_once_for_all_catalogues_that_ask(export: Path, tmp_path: Path) -> None:
    install_export(tmp_path / "models", "tiny", export)
    embedder = find_local(tmp_path / "models", "tiny")
    assert embedder is not None
    first = embedder.embed_query("dog")
    assert embedder.embed_query("dog") is first
    for number in range(20):
        embedder.embed_query(f"cat {number}")
    assert embedder.embed_query("dog") is not first  # only the last few are kept
