"""What the spec declares, a record must be."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.ingest.mapping import require_valid
from stackroom.model.record import Record, RecordId
from stackroom.packages import PACKAGES


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": None}, "'title' is missing"),
        ({"title": 7}, "'title' is 7, not text"),
        ({"type": "FILM"}, "'type' is 'FILM'; expected one of TV, MOVIE"),
        ({"episodes": "12"}, "'episodes' is '12', not int"),
        ({"episodes": True}, "'episodes' is True, not int"),
        ({"alternatives": "b"}, r"'alternatives' is 'b', not text\[\]"),
        ({"alternatives": ("b", 7)}, r"not text\[\]"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_what_would_be_right(
    anime_spec: CatalogueSpec, anime: Callable[..., Record], changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        require_valid(anime("a", **changes), anime_spec)


@pytest.mark.parametrize("record_id", ["", "x" * 513])
def test_an_id_that_is_empty_or_endless_is_refused(
    anime_spec: CatalogueSpec, record_id: str
) -> None:
    with pytest.raises(InputError, match="the record's id"):
        require_valid(Record(id=RecordId(record_id), fields={"title": "x"}), anime_spec)


@pytest.mark.parametrize("changes", [{"episodes": 2**70}, {"title": "half \ud800"}])
def test_a_value_that_no_file_can_have_is_refused(
    anime_spec: CatalogueSpec, anime: Callable[..., Record], changes: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="a value cannot be stored"):
        require_valid(anime("a", **changes), anime_spec)


def test_a_field_is_required_of_the_kinds_that_have_it_only(anime_spec: CatalogueSpec) -> None:
    field = replace(anime_spec.fields["episodes"], required=True, kinds=("series",))
    spec = replace(
        anime_spec, kinds=("series", "film"), fields={**anime_spec.fields, "episodes": field}
    )
    require_valid(Record(id=RecordId("a"), fields={"title": "x"}, kind="film"), spec)
    with pytest.raises(InputError, match="'episodes' is missing"):
        require_valid(Record(id=RecordId("a"), fields={"title": "x"}, kind="series"), spec)


def test_a_kind_that_the_catalogue_does_not_have_is_refused(anime_spec: CatalogueSpec) -> None:
    with pytest.raises(InputError, match="no kind 'album'; kinds: record"):
        require_valid(Record(id=RecordId("a"), fields={"title": "x"}, kind="album"), anime_spec)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"seconds": -5.0}, "'seconds' is -5.0; expected 0 to 10000000"),
        ({"seconds": float("nan")}, "'seconds' is nan; expected 0 to 10000000"),
        ({"year": 999}, "'year' is 999; expected 1000 to 2999"),
        ({"plays": -1}, "'plays' is -1; expected 0 or more"),
    ],
)
def test_a_number_out_of_its_bounds_is_refused_with_what_would_be_right(
    fields: dict[str, Any], problem: str
) -> None:
    track = Record(id=RecordId("t"), kind="track", fields={"name": "x", **fields})
    with pytest.raises(InputError) as refused:
        require_valid(track, PACKAGES.get("music").spec)
    assert refused.value.message == problem


@pytest.mark.parametrize("added", ["yesterday", "2026-02-30", 20260101])
def test_a_date_that_is_none_is_refused(added: object) -> None:
    music = PACKAGES.get("music").spec
    track = Record(id=RecordId("t"), kind="track", fields={"name": "x", "added": added})
    with pytest.raises(InputError, match=r"'added' is .*, not date"):
        require_valid(track, music)
