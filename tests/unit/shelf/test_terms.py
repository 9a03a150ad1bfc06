"""A record's values as shelves compare them."""

import math
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import AUDIENCE_FIELD, KIND_FIELD, AnyOf, Range
from stackroom.packages import PACKAGES
from stackroom.shelf.terms import (
    asked_term,
    entries_of,
    number_of,
    require_countable,
    require_filterable,
    term_of,
    text_tokens,
)

SPEC = PACKAGES.get("documents").spec
MUSIC = PACKAGES.get("music").spec


def record(**fields: Any) -> Record:
    return Record(id=RecordId("one"), fields=fields)


def test_values_are_compared_without_case_accents_and_outer_space() -> None:
    assert term_of("  CAFÉ ") == term_of("cafe")


def test_audiences_are_compared_to_the_letter() -> None:
    assert asked_term(AUDIENCE_FIELD, "Stäff ") == "Stäff "
    assert asked_term(KIND_FIELD, "Stäff ") == "staff"


@pytest.mark.parametrize(
    ("value", "entries"),
    [
        (None, []),
        ("Rock", [("rock", "", "Rock")]),
        (("Rock", "rock", "Rock"), [("rock", "", "Rock"), ("rock", "", "rock")]),
        ((Tag("genre", "Rock"), Tag("mood", "Rock")), [("rock", "genre", "Rock"), ("rock", "mood", "Rock")]),
        ((" ", ""), []),
        ((), []),
    ],
)
def test_each_value_is_an_entry_once(value: Any, entries: list[tuple[str, str, str]]) -> None:
    assert entries_of(record(genres=value), "genres") == entries


def test_kind_and_audience_are_entries_too() -> None:
    album = Record(id=RecordId("a"), kind="album", fields={}, audiences=("Staff",))
    assert entries_of(album, KIND_FIELD) == [("album", "", "album")]
    assert entries_of(album, AUDIENCE_FIELD) == [("Staff", "", "Staff")]
    assert entries_of(record(), AUDIENCE_FIELD) == [("*", "", "*")]


@pytest.mark.parametrize(
    ("field", "value", "number"),
    [("position", 3, 3.0), ("modified", "0001-01-01", 1.0), ("modified", "2020-01-02", 737426.0)],
)
def test_numbers_are_numbers_and_dates_are_days(field: str, value: Any, number: float) -> None:
    assert number_of(record(**{field: value}), SPEC.fields[field]) == number


@pytest.mark.parametrize(
    ("field", "value"), [("position", None), ("position", "soon"), ("modified", "2020-13-01"), ("modified", 2020)]
)
def test_what_is_no_number_is_none(field: str, value: Any) -> None:
    assert math.isnan(number_of(record(**{field: value}), SPEC.fields[field]))


def test_the_tokens_of_several_fields_follow_one_another() -> None:
    fields = [MUSIC.fields["name"], MUSIC.fields["genres"]]
    assert text_tokens(record(name="Blue Trains", genres=(Tag("", "Jazz"),)), fields) == ["blue", "train", "jazz"]


def test_a_field_without_a_column_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(InputError, match="field 'about' is not filterable; filterable: artist_ids, artists"):
        require_filterable([AnyOf("about", ("x",))], MUSIC)
    require_filterable([AnyOf(KIND_FIELD, ("album",)), AnyOf("genres", ()), Range("year")], MUSIC)


def test_only_values_can_be_counted() -> None:
    require_countable(KIND_FIELD, MUSIC)
    require_countable("genres", MUSIC)
    for field in ("year", "about", AUDIENCE_FIELD):
        with pytest.raises(InputError, match="counted: _kind"):
            require_countable(field, MUSIC)
