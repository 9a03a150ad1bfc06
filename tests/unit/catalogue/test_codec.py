"""Records as JSON."""

from dataclasses import replace

import pytest

from stackroom.catalogue.codec import decode_record, encode_record, plain_record
from stackroom.errors import StorageError
from stackroom.model.record import Record, RecordId, Tag
from stackroom.packages import PACKAGES

PAPERS = PACKAGES.get("papers").spec
FULL = Record(
    id=RecordId("p1"),
    kind="record",
    fields={
        "title": "Über “C++” \x00 進撃",
        "authors": [{"name": "Ada", "affiliations": ["X", "Y"]}],
        "author_names": ("Ada", "Bob"),
        "publish_year": 1843,
        "keywords": (Tag("topic", "engines"), Tag("", "notes")),
    },
    audiences=("staff", "board"),
)


def test_a_record_comes_back_with_every_value_of_its_type() -> None:
    assert decode_record(FULL.id, encode_record(FULL), PAPERS) == FULL


def test_the_same_record_gives_the_same_bytes_in_whatever_order_its_fields_are() -> None:
    shuffled = replace(FULL, fields=dict(reversed(FULL.fields.items())))
    assert encode_record(shuffled) == encode_record(FULL)


def test_damaged_bytes_are_refused_with_the_records_name() -> None:
    with pytest.raises(StorageError, match="record 'p1' of catalogue 'papers' is damaged"):
        decode_record(RecordId("p1"), encode_record(FULL)[:-5], PAPERS)


def test_texts_from_before_a_field_had_tags_become_tags_without_a_category() -> None:
    old = b'{"fields":{"keywords":["engines"]}}'
    assert decode_record(RecordId("p1"), old, PAPERS).get("keywords") == (Tag("", "engines"),)


@pytest.mark.row("N2")
def test_fields_that_are_only_searched_are_left_out_of_plain_values() -> None:
    anime = Record(
        id=RecordId("a"), fields={"title": "A", "synopsis": "One.", "other_synopses": ("Two.",)}
    )
    assert plain_record(anime, PACKAGES.get("anime").spec) == {
        "id": "a",
        "kind": anime.kind,
        "title": "A",
        "synopsis": "One.",
    }
