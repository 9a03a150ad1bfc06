"""Texts that are embedded after their records were written: batches, publishing, and what others
change meanwhile.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stackroom.ingest.embedding import (
    FIRST_BATCH,
    LEAST_BATCH,
    MOST_BATCH,
    PUBLISH_S,
    PUBLISH_SHARE,
    LateEmbedding,
    build_puts,
)
from stackroom.model.record import Record
from stackroom.model.vectors import Vector
from support.embedders import Clock, WordEmbedder
from support.libraries import Shelved
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("N12")

Anime = Callable[..., Record]


class CountingShelf(MemoryShelf):
    """A shelf whose publishing takes time, and is counted."""

    clock: Clock
    took_s = 0.0
    published = 0

    def publish_vectors(self) -> None:
        """Take a while."""
        self.published += 1
        self.clock.now += self.took_s


class SlowEmbedder(WordEmbedder):
    """An embedder that takes the same time for each text."""

    clock: Clock
    text_s = 0.0
    batches: list[int]

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Take a while for each text."""
        self.clock.now += self.text_s * len(texts)
        self.batches.append(len(texts))
        return super().embed_documents(texts)


class Bench:
    """Records without vectors, and an embedding of them by a clock of their own."""

    def __init__(
        self,
        shelved: Shelved,
        anime: Anime,
        count: int,
        *,
        text_s: float = 0.0,
        took_s: float = 0.0,
    ) -> None:
        clock = Clock()
        self.embedder = SlowEmbedder()
        self.embedder.clock, self.embedder.text_s, self.embedder.batches = clock, text_s, []
        self.shelf = CountingShelf(shelved.spec, model=self.embedder.model)
        self.shelf.clock, self.shelf.took_s = clock, took_s
        self.put(*(anime(f"Story {number}", synopsis=f"Tale {number}.") for number in range(count)))
        self.late = LateEmbedding(
            spec=shelved.spec, writer=self.shelf, embedder=self.embedder, monotonic=clock
        )
        self.clock = clock

    def put(self, *records: Record) -> None:
        self.shelf.apply(build_puts(records, self.shelf.spec)[0])


def test_every_text_is_embedded_once_for_all_records_of_it(shelved: Any, anime: Anime) -> None:
    bench = Bench(shelved, anime, 3)
    bench.put(*(anime(name, title="Twin", synopsis="The same.") for name in ("a", "b")))
    bench.late.run()
    assert bench.late.texts == 4
    assert set(bench.embedder.documents.values()) == {1}
    assert bench.shelf.reader().awaiting_vectors == 0
    again = LateEmbedding(spec=shelved.spec, writer=bench.shelf, embedder=bench.embedder)
    again.run()
    assert again.texts == 0


@pytest.mark.parametrize(
    ("text_s", "sizes"),
    [
        pytest.param(0.001, [FIRST_BATCH, 128, 256, 512, MOST_BATCH], id="fast"),
        pytest.param(0.2, [FIRST_BATCH, FIRST_BATCH // 2, LEAST_BATCH, LEAST_BATCH], id="slow"),
        pytest.param(0.03, [FIRST_BATCH, FIRST_BATCH], id="as-it-should-be"),
    ],
)
def test_batches_are_as_large_as_a_kill_may_cost(
    shelved: Any, anime: Anime, text_s: float, sizes: list[int]
) -> None:
    bench = Bench(shelved, anime, sum(sizes), text_s=text_s)
    bench.late.run()
    assert bench.embedder.batches == sizes


def test_vectors_are_published_at_once_and_then_no_more_often_than_their_share_of_the_time(
    shelved: Any, anime: Anime
) -> None:
    count = 10 * FIRST_BATCH
    often = Bench(shelved, anime, count, text_s=0.03)
    often.late.run()
    assert often.shelf.published == len(often.embedder.batches), (
        f"batches take more than {PUBLISH_S} s"
    )
    rarely = Bench(shelved, anime, count, text_s=0.03, took_s=0.3)
    rarely.late.run()
    expected = count * 0.03 / (0.3 / PUBLISH_SHARE)
    assert 2 <= rarely.shelf.published <= expected + 2
    assert rarely.shelf.reader().awaiting_vectors == 0


def test_a_text_that_is_changed_while_others_are_embedded_is_embedded_too(
    shelved: Any, anime: Anime
) -> None:
    bench = Bench(shelved, anime, FIRST_BATCH + 1)
    changed = anime("Story 0", synopsis="Another tale.")

    def change(texts: int) -> None:
        if texts == FIRST_BATCH:
            bench.put(changed)

    bench.late.progress = change
    bench.late.run()
    assert bench.shelf.reader().awaiting_vectors == 0
    assert bench.late.texts == FIRST_BATCH + 2
