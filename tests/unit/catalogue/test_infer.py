"""A table's columns become a declaration that compiles, and each choice has its reason."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.infer.columns import catalogue_name
from stackroom.catalogue.infer.declare import Inferred, infer_declaration
from stackroom.catalogue.infer.fields import InferredField
from stackroom.catalogue.profile import profile_columns
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FilterKind
from stackroom.errors import InputError
from stackroom.ingest.mapping import build_mapping, require_valid

pytestmark = pytest.mark.row("N1")

Row = Mapping[str, Any]


def infer(rows: Sequence[Row], **options: Any) -> tuple[CatalogueSpec, Inferred]:
    inferred = infer_declaration(profile_columns(rows), name="mine", **options)
    return compile_text(inferred.declaration, origin="inferred"), inferred


def field_for(inferred: Inferred, column: str) -> InferredField:
    return next(field for field in inferred.fields if field.column == column)


def test_what_is_embedded_and_compared_follows_from_the_fields() -> None:
    rows = [
        {
            "Title": f"The Book of Number {number}",
            "Author": f"Author {number // 3}",
            "Year Published": 1980 + number,
            "Bookshelves": ("fantasy, favorites", "history, fantasy")[number % 2],
            "My Review": f"I read it twice, and {'very ' * 30}liked number {number}.",
        }
        for number in range(40)
    ]
    spec, _ = infer(rows)
    assert spec.embed is not None
    assert [part.column for part in spec.embed.parts] == [
        "title",
        "author",
        "bookshelves",
        "my_review",
    ]
    assert spec.recommend is not None
    assert (spec.recommend.taxonomy.fields, spec.recommend.temporal.field) == (
        ("bookshelves",),
        "year_published",
    )
    assert (
        spec.recommend.semantic + spec.recommend.taxonomy.weight + spec.recommend.temporal.weight
        == pytest.approx(1)
    )


def test_columns_become_legal_field_names_and_are_still_found() -> None:
    row = {
        "Average Rating": 1.5,
        "average_rating": 2.5,
        "2nd": "x",
        "Größe": "y",
        "название": "z",
        "a.b": "w",
        'q"\\': "v",
    }
    spec, _ = infer([row])
    assert {field.name: field.source_path for field in spec.fields.values()} == {
        "column_5": "название",
        "average_rating": "Average Rating",
        "average_rating_2": "average_rating",
        "column_2nd": "2nd",
        "grosse": "Größe",
        "a_b": "a.b",
        "q": 'q"\\',
    }


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["1", "2", "2"], "1 of 3 rows repeat an earlier one"),
        (["1", None, "3"], "33 % of the rows have none"),
    ],
)
def test_ids_with_duplicates_or_gaps_are_not_used_and_it_is_said(
    ids: list[str | None], says: str
) -> None:
    spec, inferred = infer(
        [{"id": one, "title": f"Title {number}"} for number, one in enumerate(ids)]
    )
    assert spec.id_path == ""
    assert inferred.notes == (f"'id' cannot be the id: {says}", "ids are made of 'title'")
    assert spec.fields["source_id"].filter is FilterKind.EQUALS


def test_people_are_titled_by_both_their_names() -> None:
    rows = [
        {"FirstName": "Ada", "LastName": "Lovelace", "Title": "Analyst"},
        {"FirstName": "Alan", "LastName": "Turing"},
    ]
    spec, _ = infer(rows)
    assert spec.title_field.name == "name"
    assert [part.column for part in spec.title_field.template] == ["FirstName", "LastName"]
    assert set(spec.fields) == {"name", "first_name", "last_name", "title"}


@pytest.mark.parametrize(
    ("rows", "says"), [([], "no rows"), ([{"a": None}, {"a": ""}], "no column with a value")]
)
def test_a_table_without_a_value_is_refused_with_what_is_missing(
    rows: list[Row], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        infer(rows)


@pytest.mark.parametrize(
    ("rows", "template"),
    [
        ([{"a": 1, "b": 2.5}, {"a": 3, "b": 4.5}], "{a}, {b}"),
        ([{"id": number} for number in range(5)], "{id}"),
        ([{"day": "2020-01-01", "rain": 3.5}, {"day": "2020-01-02", "rain": 0.5}], "{day}"),
    ],
)
def test_a_table_without_words_can_be_built_and_is_said_to_be_no_catalogue(
    rows: list[Row], template: str
) -> None:
    spec, inferred = infer(rows)
    assert inferred.fields[0].template == template
    assert "numbers and dates alone" in inferred.verdict
    assert "--title" in inferred.verdict
    mapping = build_mapping(spec)
    assert len({record.id for row in rows for record in mapping.records_of(row)}) == len(rows)


def test_of_a_very_wide_table_the_most_useful_columns_become_fields() -> None:
    wide = {f"measure {number}": number for number in range(300)}
    rows = [
        {**wide, "name": f"Probe {n}", "tags": "a;b", "about": "Long enough. " * 20}
        for n in range(4)
    ]
    spec, inferred = infer(rows)
    assert len(spec.fields) == 60
    assert {"name", "tags", "about"} <= set(spec.fields)
    assert inferred.notes[-1] == "of 303 columns the 60 most useful became fields"
    assert len(inferred.left_out) == 243


def test_when_a_row_was_worked_on_is_not_the_time_of_the_thing() -> None:
    rows = [
        {"title": f"T{n}", "lastUpdated": f"2024-01-0{n + 1}", "opened": f"19{n}0-05-01"}
        for n in range(3)
    ]
    spec, _ = infer(rows)
    assert (spec.fields["opened"].role, spec.fields["lastUpdated"].role) == (FieldRole.TIME, None)
    assert spec.recommend is not None
    assert spec.recommend.temporal.sigma == 5 * 365


def test_cells_cannot_break_out_of_a_comment() -> None:
    rows = [{"title": f"T{n}", "price": n + 0.5} for n in range(9)] + [
        {"title": "x", "price": "a\nname = 'evil'\r\u2028"}
    ]
    spec, _ = infer(rows)
    assert spec.name == "mine"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My Books (2024)", "my-books-2024"),
        ("2024", "catalogue-2024"),
        ("Bücher", "bucher"),
        ("книги", "catalogue"),
        ("", "catalogue"),
        ("x" * 100, "x" * 60),
    ],
)
def test_a_file_name_becomes_a_legal_name(text: str, name: str) -> None:
    assert catalogue_name(text) == name


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.binary(max_size=4),
    st.text(max_size=30),
    st.sampled_from(
        [
            "1999",
            "2015-04-30",
            "0123",
            "$5.00",
            "a;b",
            "b;a",
            "a, b",
            "[1]",
            "{}",
            "yes",
            "https://x.org",
            "1e999",
        ]
    ),
    st.lists(
        st.one_of(st.text(max_size=5), st.none(), st.lists(st.text(max_size=2), max_size=2)),
        max_size=3,
    ),
    st.dictionaries(st.sampled_from(["name", "x"]), st.text(max_size=3), max_size=2),
)
NAMES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["id", "title", "Year", "tags", "FirstName", "LastName", "isbn"]),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(NAMES, CELLS, max_size=6), min_size=1, max_size=8))
def test_whatever_the_table_the_declaration_compiles(rows: list[Row]) -> None:
    columns = profile_columns(rows)
    try:
        inferred = infer_declaration(columns, name="mine")
    except InputError:
        return
    spec = compile_text(inferred.declaration, origin="inferred")
    assert len(ids_of(spec, rows)) <= len(rows)


def ids_of(spec: CatalogueSpec, rows: Sequence[Row]) -> set[str]:
    """Return the ids of the records that the rows make, one after the other."""
    mapping = build_mapping(spec)
    ids = set()
    for row in rows:
        with suppress(InputError):
            for record in mapping.records_of(row):
                require_valid(record, spec)
                ids.add(record.id)
    return ids


def test_a_column_of_picture_files_is_the_picture_and_never_the_id() -> None:
    rows = [
        {"name": f"Plant {one}", "photo": f"pics/{one:03d}.jpg", "height": str(one)}
        for one in range(40)
    ]
    spec, inferred = infer(rows)
    assert (spec.fields["photo"].role, spec.fields["photo"].searched) == (FieldRole.PICTURE, False)
    assert field_for(inferred, "photo").reason == "files of pictures"
    assert spec.id_path != "photo"
