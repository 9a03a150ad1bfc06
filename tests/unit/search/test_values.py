"""The values of a field by every spelling that names them, and conditions as a caller means
them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from stackroom.errors import InputError
from stackroom.model.hits import FacetCount
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import (
    SEES_EVERYTHING,
    WHOLE,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Visibility,
)
from stackroom.search.values import FieldValues, resolve_condition, without_adult
from stackroom.shelf.port import ShelfReader

COUNTS = {
    "comedy": 50,
    "sci-fi": 30,
    "slice of life": 20,
    "shounen": 12,
    "historical": 9,
    "vampire": 5,
    "zombies": 3,
}
SYNONYMS = {
    "sci-fi": ("science fiction",),
    "shounen": ("shonen",),
    "girls love": ("yuri",),
    "historical": ("history",),
}


def values_of(
    counts: dict[str, int], synonyms: dict[str, tuple[str, ...]] | None = None
) -> FieldValues:
    return FieldValues(
        (FacetCount("", value, count) for value, count in counts.items()), synonyms=synonyms
    )


@pytest.fixture
def tags() -> FieldValues:
    return values_of(COUNTS, SYNONYMS)


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("comdy", "comedy"),
        ("historcal", "historical"),
        ("slice of lief", "slice of life"),
        ("Comedy", "comedy"),
        ("comedies", "comedy"),
        ("scifi", "sci-fi"),
        ("Sci Fi", "sci-fi"),
        ("science-fiction", "sci-fi"),
        ("slice-of-life", "slice of life"),
        ("SLICE_OF_LIFE", "slice of life"),
        ("Shōnen", "shounen"),
        ("vampires", "vampire"),
        ("zombie", "zombies"),
    ],
)
def test_case_hyphens_plural_and_synonyms_name_a_value_exactly_and_slips_are_marked(
    tags: FieldValues, asked: str, value: str
) -> None:
    found = tags.find(asked)
    assert found is not None
    assert (found.value, found.is_exact) == (
        value,
        asked not in ("comdy", "historcal", "slice of lief"),
    )


@pytest.mark.parametrize("asked", ["qwertyuiop", "gore", "", "post-apocalyptic"])
def test_a_word_that_names_no_value_finds_none(tags: FieldValues, asked: str) -> None:
    assert tags.find(asked) is None


def test_a_slip_that_could_be_two_values_finds_none() -> None:
    assert values_of({"casting": 2, "costing": 2}).find("custing") is None


def test_signs_that_tell_values_apart_are_not_ignored() -> None:
    languages = values_of({"C++": 3, "C#": 5, "C": 9})
    assert [found.value for asked in ("c++", "c#", "c") if (found := languages.find(asked))] == [
        "C++",
        "C#",
        "C",
    ]


@pytest.mark.parametrize(
    ("counts", "synonyms", "asked", "value"),
    [
        ({"mecha": 9, "robots": 2}, {"mecha": ("robots",)}, "robot", "robots"),
        (
            {"science fiction": 9},
            {"sci-fi": ("scifi", "science fiction")},
            "scifi",
            "science fiction",
        ),
    ],
)
def test_a_value_of_the_records_goes_before_a_synonym_which_leads_to_one_that_they_have(
    counts: dict[str, int], synonyms: dict[str, tuple[str, ...]], asked: str, value: str
) -> None:
    found = values_of(counts, synonyms).find(asked)
    assert found is not None
    assert found.value == value


def test_a_declared_value_that_no_record_has_is_known_with_a_count_of_zero(
    tags: FieldValues,
) -> None:
    found = tags.find("yuri")
    assert found is not None
    assert (found.value, tags.count_of(found.value)) == ("girls love", 0)


def test_suggestions_are_values_with_a_word_in_common_or_a_like_spelling(tags: FieldValues) -> None:
    assert tags.near("life") == ["slice of life"]
    assert tags.near("shounin") == ["shounen"]
    assert tags.near("qwertyuiop") == []


def test_a_sentence_names_the_longest_values_in_its_order() -> None:
    values = values_of({"love": 5, "boys love": 3, "school": 9}, {"school": ("high school",)})
    found = values.named_in("a high-school story of Boys' Love, not of hate")
    assert [(one.value, one.asked) for one in found] == [
        ("school", "high-school"),
        ("boys love", "Boys' Love"),
    ]


def test_a_sentence_does_not_name_misspelt_values_or_those_without_records(
    tags: FieldValues,
) -> None:
    assert tags.named_in("comdy about yuri") == []


@pytest.mark.parametrize("asked", ["yes", "Yes", "true", "Y", "ja", "1", "x"])
@pytest.mark.parametrize("written", ["yes", "Y", "true", "oui", "x"])
def test_yes_is_found_however_it_is_written(asked: str, written: str) -> None:
    found = values_of({written: 5, "no": 7}).find(asked)
    assert found is not None
    assert (found.value, found.is_exact) == (written, True)


@pytest.mark.parametrize("counts", [{"Norway": 3, "Yemen": 2}, {"yes": 3, "no": 1, "maybe": 1}])
def test_a_field_with_other_values_is_no_field_of_yes_and_no(counts: dict[str, int]) -> None:
    assert values_of(counts).find("true") is None


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


class Resolved(NamedTuple):
    """Conditions with the values that records have, and all notes."""

    conditions: tuple[Condition, ...]
    notes: tuple[str, ...]


def resolved(reader: Any, *conditions: Condition) -> Resolved:
    each = [
        resolve_condition(one, reader, reader.spec, visibility=SEES_EVERYTHING)
        for one in conditions
    ]
    return Resolved(
        tuple(one for one, _ in each), tuple(note for _, notes in each for note in notes)
    )


@pytest.mark.row("A1")
@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("Slice-of-Life", "slice of life"),
        ("cooking", "gourmet"),
        ("slice of lief", "slice of life"),
    ],
)
def test_a_value_is_taken_by_any_spelling_and_a_note_says_so(
    reader: ShelfReader, asked: str, value: str
) -> None:
    found = resolved(reader, AllOf("tags", (asked,)))
    assert found.conditions == (AllOf("tags", (value,)),)
    assert found.notes == (f"'{asked}' taken as '{value}'",)


def test_values_as_records_have_them_need_no_note_in_whatever_case(reader: ShelfReader) -> None:
    found = resolved(
        reader, AllOf("tags", ("Space", "sci-fi")), AnyOf("type", ("tv",)), Range("year", 1, 2)
    )
    assert found.conditions == (
        AllOf("tags", ("space", "sci-fi")),
        AnyOf("type", ("TV",)),
        Range("year", 1, 2),
    )
    assert found.notes == ()


@pytest.mark.row("A1")
def test_an_unknown_value_is_the_only_near_one_or_refused_never_a_silent_zero(
    reader: ShelfReader,
) -> None:
    assert resolved(reader, AllOf("tags", ("life",))).notes == ("'life' taken as 'slice of life'",)
    with pytest.raises(
        InputError, match=r"^'exclude.tags': no value 'x{60}'; one of gourmet, hentai, sci-fi"
    ):
        resolved(reader, NoneOf("tags", ("x" * 10_000,)))


def test_a_declared_value_that_no_record_has_is_an_honest_zero_with_a_note(
    reader: ShelfReader,
) -> None:
    found = resolved(reader, AnyOf("type", ("SPECIAL",)), AllOf("tags", ("yuri",)))
    assert found.notes == (
        "'filters.type': no record has 'SPECIAL'",
        "'yuri' taken as 'girls love'",
        "'filters.tags': no record has 'girls love'",
    )


def test_values_of_hidden_records_are_refused_like_unknown_ones(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(
        anime("Open", tags=["space"]),
        replace(anime("Closed", tags=["secretly"]), audiences=("staff",)),
    )
    reader = shelved.shelf.reader()
    outsider = Visibility(frozenset())
    with pytest.raises(InputError, match=r"no value 'secretly'; one of space$"):
        resolve_condition(AllOf("tags", ("secretly",)), reader, reader.spec, visibility=outsider)


def hidden(reader: Any, query: str, *conditions: Condition) -> list[Condition]:
    return without_adult(conditions, reader, reader.spec, query=query, visibility=WHOLE.visibility)


def test_a_search_that_does_not_ask_for_adult_records_leaves_them_out(reader: ShelfReader) -> None:
    assert hidden(reader, "a nurse at night") == [NoneOf("tags", ("hentai", "erotica"))]


@pytest.mark.parametrize("query", ["Hentai with nurses", "pornographic", "night nurse"])
def test_a_query_asks_for_adult_records_by_a_mark_of_theirs_or_by_the_name_of_one(
    reader: ShelfReader, query: str
) -> None:
    assert hidden(reader, query) == []


def test_a_filter_for_a_mark_asks_for_adult_records_and_an_exclusion_of_it_does_not(
    reader: ShelfReader,
) -> None:
    assert hidden(reader, "a nurse", AllOf("tags", ("hentai",))) == []
    assert hidden(reader, "a nurse", NoneOf("tags", ("hentai",))) != []


def test_a_name_that_another_record_has_too_does_not_ask_for_adult_records(
    reader: ShelfReader,
) -> None:
    assert hidden(reader, "Bread") != []
