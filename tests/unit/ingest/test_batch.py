"""Rows from a provider or a list, and their counts."""

from typing import Any

import pytest

from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import (
    IngestCounts,
    ListRows,
    Target,
    ingest_batch,
)
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom_catalogues.papers.rows import MAPPING
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("P4")

SPEC = PACKAGES.get("papers").spec
BATCH = 4


def papers(count: int) -> list[dict[str, Any]]:
    return [{"id": f"p{number}", "title": f"Paper {number}"} for number in range(count)]


@pytest.fixture
def shelf() -> MemoryShelf:
    return MemoryShelf(SPEC)


@pytest.fixture
def target(shelf: MemoryShelf) -> Target:
    return Target(spec=SPEC, mapping=MAPPING, writer=shelf, ledger=Ledger())


def test_every_row_is_counted_as_one_of_three(target: Target, shelf: MemoryShelf) -> None:
    rows: list[Any] = [
        *papers(5),
        {"id": "again", "title": "PAPER  1"},
        {"title": ""},
        {"id": "bad", "title": "T", "year": "soon"},
        "no object",
    ]
    counts = ingest_batch(rows, target)
    assert counts == IngestCounts(inserted=5, duplicates=1, failed=3)
    assert shelf.reader().count(WHOLE) == 5
    assert [(place, reason[:20]) for _, place, reason in target.ledger.rejects()] == [
        ("row 6", "the same as row 2"),
        ("row 7", "'title' is missing; "),
        ("row 8", "'publish_year' is 'so"[:20]),
        ("row 9", "a str, not an object"),
    ]


def test_a_batch_takes_nothing_away_and_what_is_there_is_a_duplicate(
    target: Target, shelf: MemoryShelf
) -> None:
    ingest_batch(papers(6), target)
    ingest_batch([{"id": "x", "title": "Another"}], target)
    again = ingest_batch(papers(6), target)
    assert again == IngestCounts(inserted=0, duplicates=6, failed=0)
    ingest_batch([], target)
    assert shelf.reader().count(WHOLE) == 7


def test_the_same_list_has_the_same_name_and_another_has_another() -> None:
    assert ListRows(papers(3)).name == ListRows(papers(3)).name
    assert ListRows(papers(3)).name != ListRows(papers(4)).name


@pytest.mark.row("P5")
def test_a_title_that_another_source_brought_is_a_duplicate(
    target: Target, shelf: MemoryShelf
) -> None:
    ingest_batch([{"id": "arxiv:1", "title": "On Computable Numbers"}], target)
    again = ingest_batch([{"id": "s2:1", "title": "On computable numbers"}], target)
    assert again == IngestCounts(inserted=0, duplicates=1, failed=0)
    assert shelf.reader().count(WHOLE) == 1
