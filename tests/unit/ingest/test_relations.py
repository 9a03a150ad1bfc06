"""Records that name others which are not there are found."""

from dataclasses import replace
from typing import Any

import pytest

from stackroom.ingest.edits.relations import check_relations
from stackroom.model.record import Record, RecordId
from stackroom.packages import PACKAGES
from stackroom.shelf.port import Delete, Put
from support.memory_shelf import MemoryShelf

SPEC = PACKAGES.get("music").spec


def record(record_id: str, kind: str, **fields: Any) -> Put:
    return Put(
        record=Record(id=RecordId(record_id), kind=kind, fields={"name": record_id, **fields})
    )


@pytest.fixture
def shelf() -> MemoryShelf:
    """Music in which everything that is named is there."""
    shelf = MemoryShelf(SPEC, model=None)
    shelf.apply(
        [
            record("handel", "artist"),
            record("water", "album", artist_ids=("handel",)),
            record("hornpipe", "track", artist_ids=("handel",), album_id="water"),
        ]
    )
    return shelf


def test_what_is_named_and_not_there_is_told_by_relation(shelf: MemoryShelf) -> None:
    shelf.apply(
        [record(f"air {number}", "track", album_id=f"gone {number}") for number in range(7)]
    )
    shelf.apply([Delete(RecordId("handel"))])
    assert check_relations(shelf.reader(), SPEC) == [
        "'artist_ids' of album records names records that do not exist: 'handel'",
        "'artist_ids' of track records names records that do not exist: 'handel'",
        (
            "'album_id' of track records names records that do not exist: 'gone 0', 'gone 1', 'gone"
            " 2', 'gone 3', 'gone 4' and 2 more"
        ),
    ]


def test_a_catalogue_that_is_not_edited_is_left_alone(shelf: MemoryShelf) -> None:
    shelf.apply([Delete(RecordId("handel"))])
    assert check_relations(shelf.reader(), replace(SPEC, editable=False)) == []
