"""Texts that several servers embed together, over one store in PostgreSQL; workers fail and are cut
off.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from stackroom.errors import ModelError
from stackroom.ingest.embedding import build_puts
from stackroom.ingest.pipeline import IngestReport, embed_late
from stackroom.model.vectors import ModelId, Vector
from stackroom.packages import PACKAGES
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.lock import EmbeddingElsewhereError
from stackroom.shelf.port import KeyRange
from stackroom.shelf.postgres import store_database
from stackroom.shelf.postgres.store_database import DatabaseLostError
from stackroom.shelf.store_place import StorePlace
from support.postgres import PostgresServer
from support.stock import MODEL, OpenServer

pytestmark = pytest.mark.row("N16")

SPEC = PACKAGES.get("anime").spec
RECORDS = 60


class CountingEmbedder:
    """Embeds texts, and counts how often each was; `before` is called before the first."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        self.texts: Counter[str] = Counter()
        self._before = before

    @property
    def model(self) -> ModelId:
        return MODEL

    def check(self) -> str | None:
        return None

    def embed_query(self, text: str) -> Vector:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if not self.texts:
            self._before()
        self.texts.update(texts)
        return [
            np.eye(MODEL.dimension, dtype=np.float32)[hash(text) % MODEL.dimension]
            for text in texts
        ]


@pytest.fixture
def place(postgresql: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> StorePlace:
    monkeypatch.setattr(store_database, "KEYS_AT_ONCE", 10)
    return postgresql.new_place()


@pytest.fixture
def shelves(server_of: OpenServer) -> list[Any]:
    """The shelves of two servers; the first one has filled the store."""
    first, second = server_of("first"), server_of("second")
    stories = [first.record(f"r{one}", body=f"story {one}") for one in range(RECORDS)]
    first.shelf.writer().apply(build_puts(stories, first.spec)[0])
    return [first.shelf, second.shelf]


def embed(shelf: CatalogueShelf, embedder: CountingEmbedder) -> IngestReport:
    report = IngestReport()
    embed_late(shelf.writer(), SPEC, embedder, report, progress=lambda _report: None)
    return report


def test_servers_share_the_texts_and_each_is_embedded_once(shelves: list[Any]) -> None:
    meeting = threading.Barrier(2, timeout=60)  # each takes a range before the other goes on
    embedders = [CountingEmbedder(meeting.wait) for _ in shelves]
    workers = [
        threading.Thread(target=embed, args=pair) for pair in zip(shelves, embedders, strict=True)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    shares = [sum(one.texts.values()) for one in embedders]
    assert sum(shares) == len(embedders[0].texts | embedders[1].texts) == RECORDS
    assert min(shares) >= 10
    for shelf in shelves:
        assert shelf.count_unembedded() == 0
        assert np.any(shelf.reader().vectors(shelf.store.list_keys()), axis=1).all()
    progress = shelves[0].find_progress()["embedding"]
    assert (progress["ranges"], progress["done"], progress["items"], progress["workers"]) == (
        6,
        6,
        RECORDS,
        1,
    )


def test_a_range_that_failed_is_noted_and_left_to_others(shelves: list[Any]) -> None:
    first, second = shelves

    def fail() -> None:
        raise ModelError("the model is damaged")

    with pytest.raises(ModelError):
        embed(first, CountingEmbedder(fail))
    progress = first.find_progress()["embedding"]
    assert (progress["done"], progress["failures"], progress["error"]) == (
        0,
        1,
        "the model is damaged",
    )
    assert embed(second, CountingEmbedder()).embedded == RECORDS
    assert second.find_progress()["embedding"]["done"] == 6


def test_a_worker_that_is_cut_off_gives_its_range_back(
    shelves: list[Any], postgresql: PostgresServer
) -> None:
    first, second = shelves
    with pytest.raises(DatabaseLostError):
        embed(first, CountingEmbedder(postgresql.end_connections))
    again = embed(second, CountingEmbedder())
    assert 0 < again.embedded <= RECORDS
    assert second.count_unembedded() == 0


def test_a_worker_waits_for_those_that_have_what_is_left(shelves: list[Any]) -> None:
    first, second = shelves
    with first.writer().embedding_parts(wait_s=0) as parts:
        held = next(iter(parts))
        taken = set[KeyRange]()
        with pytest.raises(EmbeddingElsewhereError):
            take_all(second, taken)
    assert len(taken) == 5
    assert held not in taken


def take_all(shelf: CatalogueShelf, taken: set[KeyRange]) -> None:
    with shelf.writer().embedding_parts(wait_s=0) as parts:
        for part in parts:
            taken.add(part)


def test_who_embeds_alone_keeps_all_workers_away(shelves: list[Any]) -> None:
    first, second = shelves
    with first.writer().sole_embedder(wait_s=0), pytest.raises(EmbeddingElsewhereError):
        take_all(second, set())
