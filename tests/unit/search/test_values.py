"""The values of a field by every spelling that names them."""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.model.hits import FacetCount
from stackroom.model.record import Record
from stackroom.model.scope import Visibility
from stackroom.search.values import FieldValues, field_values

COUNTS = {"comedy": 50, "sci-fi": 30, "slice of life": 20, "shounen": 12, "historical": 9, "vampire": 5, "zombies": 3}
SYNONYMS = {"sci-fi": ("science fiction",), "shounen": ("shonen",), "girls love": ("yuri",), "historical": ("history",)}


def values_of(counts: dict[str, int], synonyms: dict[str, tuple[str, ...]] | None = None) -> FieldValues:
    return FieldValues((FacetCount("", value, count) for value, count in counts.items()), synonyms=synonyms)


@pytest.fixture
def tags() -> FieldValues:
    return values_of(COUNTS, SYNONYMS)


@pytest.mark.parametrize(
    ("asked", "value"),
    [
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
def test_case_hyphens_plural_and_synonyms_name_a_value_exactly(tags: FieldValues, asked: str, value: str) -> None:
    found = tags.find(asked)
    assert found is not None
    assert (found.value, found.is_exact) == (value, True)


@pytest.mark.parametrize(
    ("asked", "value"), [("comdy", "comedy"), ("historcal", "historical"), ("slice of lief", "slice of life")]
)
def test_a_slip_of_the_fingers_is_corrected_and_marked_as_such(tags: FieldValues, asked: str, value: str) -> None:
    found = tags.find(asked)
    assert found is not None
    assert (found.value, found.is_exact) == (value, False)


@pytest.mark.parametrize("asked", ["qwertyuiop", "gore", "", "post-apocalyptic"])
def test_a_word_that_names_no_value_finds_none(tags: FieldValues, asked: str) -> None:
    assert tags.find(asked) is None


def test_a_slip_that_could_be_two_values_finds_none() -> None:
    assert values_of({"casting": 2, "costing": 2}).find("custing") is None


def test_signs_that_tell_values_apart_are_not_ignored() -> None:
    languages = values_of({"C++": 3, "C#": 5, "C": 9})
    assert [found.value for asked in ("c++", "c#", "c") if (found := languages.find(asked))] == ["C++", "C#", "C"]


def test_a_value_of_the_records_goes_before_a_synonym_of_the_spec() -> None:
    found = values_of({"mecha": 9, "robots": 2}, {"mecha": ("robots",)}).find("robot")
    assert found is not None
    assert found.value == "robots"


def test_synonyms_lead_to_the_member_of_their_group_that_records_have() -> None:
    found = values_of({"science fiction": 9}, {"sci-fi": ("scifi", "science fiction")}).find("scifi")
    assert found is not None
    assert found.value == "science fiction"


def test_a_declared_value_that_no_record_has_is_known_with_a_count_of_zero(tags: FieldValues) -> None:
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
    assert [(one.value, one.asked) for one in found] == [("school", "high-school"), ("boys love", "Boys' Love")]


def test_a_sentence_does_not_name_misspelt_values_or_those_without_records(tags: FieldValues) -> None:
    assert tags.named_in("comdy about yuri") == []


def test_values_are_counted_once_for_a_snapshot_and_again_after_a_change(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(anime("One", tags=["space"]))
    reader = shelved.shelf.reader()
    first = field_values(reader, reader.spec, "tags")
    assert field_values(reader, reader.spec, "tags") is first
    shelved.put(anime("Two", tags=["space"]))
    reader = shelved.shelf.reader()
    assert field_values(reader, reader.spec, "tags").counts == {"space": 2}


def test_values_of_hidden_records_are_not_known_to_those_who_may_not_see_them(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    secret = anime("Secret", tags=["secretly"])
    shelved.put(anime("One", tags=["space"]), Record(id=secret.id, fields=secret.fields, audiences=("staff",)))
    reader = shelved.shelf.reader()
    seen = field_values(reader, reader.spec, "tags", visibility=Visibility(frozenset()))
    assert seen.find("secretly") is None
    assert seen.near("secret") == []


@pytest.mark.parametrize("asked", ["yes", "Yes", "true", "Y", "ja", "1", "x"])
@pytest.mark.parametrize("written", ["yes", "Y", "true", "oui", "x"])
def test_yes_is_found_however_it_is_written(asked: str, written: str) -> None:
    found = values_of({written: 5, "no": 7}).find(asked)
    assert found is not None
    assert (found.value, found.is_exact) == (written, True)


@pytest.mark.parametrize("counts", [{"Norway": 3, "Yemen": 2}, {"yes": 3, "no": 1, "maybe": 1}])
def test_a_field_with_other_values_is_no_field_of_yes_and_no(counts: dict[str, int]) -> None:
    assert values_of(counts).find("true") is None
