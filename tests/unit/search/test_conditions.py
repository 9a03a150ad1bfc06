"""Conditions as a caller means them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import SEES_EVERYTHING, WHOLE, AllOf, AnyOf, Condition, NoneOf, Range, Visibility
from stackroom.search.values import NamedConditions, resolve_conditions, without_adult
from stackroom.shelf.port import ShelfReader


@pytest.fixture
def reader(shelved: Any, anime: Callable[..., Record]) -> ShelfReader:
    shelved.put(
        anime("Star Pilots", tags=["space", "sci-fi", "shounen"], type="TV"),
        anime("The Baker", tags=["slice of life", "gourmet"], type="MOVIE"),
        anime("Night Nurse", tags=["hentai"], type="OVA"),
        replace(anime("Bread", tags=["hentai"], type="OVA"), id=RecordId("other-bread")),
        anime("Bread", tags=["gourmet"], type="TV"),
    )
    found: ShelfReader = shelved.shelf.reader()
    return found


def resolved(reader: Any, *conditions: Condition) -> NamedConditions:
    return resolve_conditions(conditions, reader, reader.spec, visibility=SEES_EVERYTHING)


@pytest.mark.row("A1")
@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("scifi", "sci-fi"),
        ("science fiction", "sci-fi"),
        ("Slice-of-Life", "slice of life"),
        ("shonen", "shounen"),
        ("cooking", "gourmet"),
        ("slice of lief", "slice of life"),
    ],
)
def test_a_value_is_taken_by_any_spelling_and_a_note_says_so(reader: ShelfReader, asked: str, value: str) -> None:
    found = resolved(reader, AllOf("tags", (asked,)))
    assert found.conditions == (AllOf("tags", (value,)),)
    assert found.notes == (f"'{asked}' taken as '{value}'",)


def test_values_as_records_have_them_need_no_note_in_whatever_case(reader: ShelfReader) -> None:
    found = resolved(reader, AllOf("tags", ("Space", "sci-fi")), AnyOf("type", ("tv",)), Range("year", 1, 2))
    assert found.conditions == (AllOf("tags", ("space", "sci-fi")), AnyOf("type", ("TV",)), Range("year", 1, 2))
    assert found.notes == ()


@pytest.mark.row("A1")
def test_an_unknown_value_is_refused_with_the_nearest_never_a_silent_zero(reader: ShelfReader) -> None:
    with pytest.raises(InputError, match=r"^'filters.tags': no value 'life' \(did you mean 'slice of life'\?\)"):
        resolved(reader, AllOf("tags", ("life",)))
    with pytest.raises(InputError, match=r"^'exclude.tags': no value 'x{60}'; one of gourmet, hentai, sci-fi"):
        resolved(reader, NoneOf("tags", ("x" * 10_000,)))


def test_a_declared_value_that_no_record_has_is_an_honest_zero_with_a_note(reader: ShelfReader) -> None:
    found = resolved(reader, AnyOf("type", ("SPECIAL",)), AllOf("tags", ("yuri",)))
    assert found.notes == (
        "'filters.type': no record has 'SPECIAL'",
        "'yuri' taken as 'girls love'",
        "'filters.tags': no record has 'girls love'",
    )


def test_an_unknown_value_among_many_is_refused_with_the_number_and_examples(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(anime("Many", tags=[f"topic {letter}" for letter in "abcdefghijklmnop"]))
    with pytest.raises(InputError, match="no value 'qwerty'; there are 16, such as topic a, topic b, topic c"):
        resolved(shelved.shelf.reader(), AllOf("tags", ("qwerty",)))
    with pytest.raises(InputError, match=r"no value 'topic zz'; the nearest: topic a, topic b, topic c$"):
        resolved(shelved.shelf.reader(), AllOf("tags", ("topic zz",)))


def test_values_of_hidden_records_are_refused_like_unknown_ones(shelved: Any, anime: Callable[..., Record]) -> None:
    shelved.put(anime("Open", tags=["space"]), replace(anime("Closed", tags=["secretly"]), audiences=("staff",)))
    reader = shelved.shelf.reader()
    outsider = Visibility(frozenset())
    with pytest.raises(InputError, match=r"no value 'secretly'; one of space$"):
        resolve_conditions([AllOf("tags", ("secretly",))], reader, reader.spec, visibility=outsider)


def hidden(reader: Any, query: str, *conditions: Condition) -> list[Condition]:
    return without_adult(conditions, reader, reader.spec, query=query, visibility=WHOLE.visibility)


def test_a_search_that_does_not_ask_for_adult_records_leaves_them_out(reader: ShelfReader) -> None:
    assert hidden(reader, "a nurse at night") == [NoneOf("tags", ("hentai", "erotica"))]


@pytest.mark.parametrize("query", ["Hentai with nurses", "pornographic", "night nurse"])
def test_a_query_asks_for_adult_records_by_a_mark_of_theirs_or_by_the_name_of_one(
    reader: ShelfReader, query: str
) -> None:
    assert hidden(reader, query) == []


def test_a_filter_for_a_mark_asks_for_adult_records_and_an_exclusion_of_it_does_not(reader: ShelfReader) -> None:
    assert hidden(reader, "a nurse", AllOf("tags", ("hentai",))) == []
    assert hidden(reader, "a nurse", NoneOf("tags", ("hentai",))) != []


def test_a_name_that_another_record_has_too_does_not_ask_for_adult_records(reader: ShelfReader) -> None:
    assert hidden(reader, "Bread") != []
