"""Which embedder serves which setting."""

from pathlib import Path

import pytest

from stackroom.embed.adapters import RECENT_QUERIES, GuardedEmbedder, LocalEmbedder, build_embedder
from stackroom.embed.models import MINILM
from stackroom.errors import ModelError
from stackroom.model.vectors import ModelId
from stackroom.settings import EmbeddingSettings
from support.embedders import WordEmbedder


def test_a_local_model_that_is_missing_says_so_without_being_loaded(tmp_path: Path) -> None:
    embedder = build_embedder(EmbeddingSettings(), tmp_path)
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.model == ModelId(name="all-MiniLM-L6-v2", dimension=384)
    assert str(tmp_path) in str(embedder.check())


def test_using_a_local_model_that_is_missing_is_a_model_error(tmp_path: Path) -> None:
    embedder = build_embedder(EmbeddingSettings(), tmp_path)
    with pytest.raises(ModelError, match="the embedding model is not ready"):
        embedder.embed_query("x")


def test_a_remote_embedder_has_a_breaker_and_the_model_of_the_settings(tmp_path: Path) -> None:
    settings = EmbeddingSettings(kind="tei", url="http://127.0.0.1:9", model="m", dimension=7)
    embedder = build_embedder(settings, tmp_path)
    assert isinstance(embedder, GuardedEmbedder)
    assert embedder.model == ModelId(name="m", dimension=7)


def test_a_query_is_embedded_once_for_all_catalogues_that_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalEmbedder, "_load", lambda _self: WordEmbedder())
    embedder = LocalEmbedder(tmp_path, MINILM, EmbeddingSettings())
    first = embedder.embed_query("dog")
    assert embedder.embed_query("dog") is first
    for number in range(RECENT_QUERIES):
        embedder.embed_query(f"cat {number}")
    assert embedder.embed_query("dog") is not first  # only the last are kept
