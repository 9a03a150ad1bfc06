"""Names of fields, values of enumerations and lengths of time, as people write them."""

import pytest

from stackroom.catalogue.column_words import label_of, length_in_words, value_in_words
from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import FieldSpec, FieldType

pytestmark = pytest.mark.row("Z16")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("WeightClass", "Weight class"),
        ("author_names", "Authors"),
        ("album_name", "Album"),
        ("first_name", "First name"),
        ("publish_year", "Year"),
        ("seconds", "Length"),
        ("runtime_min", "Runtime"),
        ("players_min", "Players min"),
        ("heightCm", "Height (cm)"),
        ("isbn", "ISBN"),
        ("HTMLPage", "HTML page"),
        ("", ""),
    ],
)
def test_a_field_is_called_as_people_write_it(name: str, label: str) -> None:
    assert label_of(name) == label


def test_two_fields_are_never_called_the_same() -> None:
    fields = "".join(f'[fields.{name}]\ntype = "text"\n' for name in ("author", "author_name"))
    spec = compile_text(
        'name = "a"\ntitle = "A"\nsummary = "A."\n[fields.title]\ntype = "text"\nrole ='
        f' "title"\n{fields}',
        origin="a",
    )
    assert spec.labels == {"title": "Title", "author": "Author", "author_name": "Author name"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("FINISHED", "Finished"),
        ("NOT_YET_AIRED", "Not yet aired"),
        ("in_progress", "In progress"),
        ("Open", "Open"),
    ]
    + [(one, one) for one in ("TV", "OVA", "USSR", "PG-13")],
)
def test_a_value_of_an_enumeration_is_said_and_not_shouted(value: str, words: str) -> None:
    assert value_in_words(value) == words


def test_a_value_that_says_nothing_is_told_from_one_that_does() -> None:
    kind = FieldSpec(name="kind", type=FieldType.ENUM, values=("TV", "UNKNOWN"))
    assert [kind.says(one) for one in ("TV", "UNKNOWN", "")] == [True, False, False]
    assert FieldSpec(name="title", type=FieldType.TEXT).says("Unknown")


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (130, "min", "2 h 10 min"),
        (24, "min", "24 min"),
        (200, "s", "3 min 20 s"),
        (7199, "s", "1 h 59 min"),
        (0, "s", "0 s"),
    ],
)
def test_a_length_of_time_is_in_hours_and_minutes(number: float, unit: str, words: str) -> None:
    assert length_in_words(number, unit) == words
