"""A table's columns become a declaration that compiles, and each choice has its reason: on small
tables of the shapes that people have.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.infer.columns import catalogue_name, catalogue_title
from stackroom.catalogue.infer.declare import Choices, Inferred, infer_declaration
from stackroom.catalogue.infer.fields import InferredField
from stackroom.catalogue.profile import profile_columns
from stackroom.catalogue.spec import CatalogueSpec, DateOrder, FieldRole, FieldType, FilterKind
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


def titles_of(spec: CatalogueSpec, rows: Sequence[Row]) -> list[str]:
    mapping = build_mapping(spec)
    return [spec.title_of(record) for row in rows for record in mapping.records_of(row)]


def column_of(values: Sequence[Any], name: str = "x") -> list[Row]:
    """Return rows with a title and one other column."""
    return [{"title": f"Thing {number}", name: value} for number, value in enumerate(values)]


# --- ids


def test_an_id_survives_a_few_rows_without_one_and_these_get_ids_of_their_values() -> None:
    rows = [
        {"ID": None if number in (3, 70) else number, "Name": f"Game {number}"}
        for number in range(200)
    ]
    spec, inferred = infer(rows)
    assert spec.id_path == "ID"
    assert inferred.notes == ("2 rows have no 'ID'; their ids are made of what the row says",)
    mapping = build_mapping(spec)
    ids = [record.id for row in rows for record in mapping.records_of(row)]
    assert len(set(ids)) == 200
    assert ids[4] == "4"
    assert len(ids[3]) == 16


def test_an_id_that_one_row_in_two_hundred_repeats_is_kept_and_it_is_said() -> None:
    spec, inferred = infer([{"id": max(number, 1), "title": f"T{number}"} for number in range(300)])
    assert (spec.id_path, inferred.id_column) == ("", "{id}")
    assert inferred.notes == ("1 row repeats the 'id' of an earlier one",)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cca3", ["ABW", "AFG", "AGO", "AIA", "ALA", "ALB"]),
        ("wreck", ["W00001", "W00007", "W10", "W00011", "W00012", "W00013"]),
        ("volcano_number", [210010, 210020, 210030, 210040, 211001, 211003]),
    ],
)
def test_codes_that_are_another_in_every_row_identify_them(name: str, values: list[Any]) -> None:
    rows = [{"name": f"Thing {number}", name: value} for number, value in enumerate(values)]
    assert infer(rows)[0].id_path == name


# --- titles


def test_a_title_of_columns_that_the_user_chose_keeps_its_brackets() -> None:
    rows = [{"name": "a", "year": 1990}, {"name": "b", "year": 1991}]
    spec, _ = infer(rows, choices=Choices(title="{Name} ({year})"))
    assert titles_of(spec, rows) == ["a (1990)", "b (1991)"]


# --- roles


def test_with_a_popularity_the_better_known_rank_higher_among_equals() -> None:
    spec, _ = infer(column_of([100 + 37 * number for number in range(40)], "ratings_count"))
    assert spec.known["ratings_count"].full == 100 + 37 * 39
    assert 0 < spec.search.known_weight <= 0.5
    assert spec.recommend is not None
    assert spec.recommend.popularity.field == "ratings_count"


@pytest.mark.parametrize(
    ("name", "is_popularity"),
    [
        ("vote_count", True),
        ("num_votes", True),
        ("users_rated", True),
        ("Number of Ratings", True),
        ("downloads", True),
        ("popularity", True),
        ("copies sold", True),
        ("rating", False),
        ("average_rating", False),
        ("number of pages", False),
        ("ratings_1", False),
    ],
)
def test_a_popularity_is_told_by_its_name(name: str, is_popularity: bool) -> None:
    spec, _ = infer(column_of([1 + 13 * number for number in range(20)], name))
    assert (spec.field_with_role(FieldRole.POPULARITY) is not None) is is_popularity


# --- types


def test_a_word_for_none_however_frequent_leaves_prices_numbers() -> None:
    values = ["No old price"] * 60 + [f"SR {100 + number}" for number in range(20)]
    field = infer(column_of(values, "old_price"))[0].fields["old_price"]
    assert (field.type, field.unit) == (FieldType.INT, "SR")
    roads = infer(column_of([f"IS {100 + number}" for number in range(20)], "carries"))[0].fields[
        "carries"
    ]
    assert roads.type is FieldType.TEXT


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["16 June 1997", "July 1963", "1983", "26-Oct-12"], None),
        (["31/12/2019", "01/02/2018", "03/04/2017"], None),
        (["8/16/1982", "1/2/1983", "12/31/1999"], DateOrder.MONTH_FIRST),
    ],
)
def test_dates_of_any_precision_and_order_are_dates(
    values: list[str], order: DateOrder | None
) -> None:
    rows = column_of(values * 3, "released")
    spec, _ = infer(rows)
    field = spec.fields["released"]
    assert (field.type, field.date_order, field.role) == (FieldType.DATE, order, FieldRole.TIME)
    read = build_mapping(spec).read_row
    assert read is not None
    assert not any(read(row).unread for row in rows)


def test_written_objects_are_no_main_text() -> None:
    cell = "[{'aisle': 'Milk', 'steps': array([{'n': 1}], dtype=object)}]"
    rows = [
        {"title": f"T{n}", "parts": cell * 1, "summary": f"{n} is cooked slowly. " * 8}
        for n in range(5)
    ]
    spec, _ = infer(rows)
    assert spec.fields["parts"].type in (FieldType.JSON, FieldType.TEXTS)
    assert spec.fields["summary"].role is FieldRole.BODY


# --- left out


def reasons(rows: Sequence[Row], **options: Any) -> dict[str, str]:
    return dict(infer(rows, **options)[1].left_out)


@pytest.mark.parametrize("name", ["column_1", "Unnamed: 0", "X1", "index"])
def test_a_column_without_a_name_that_counts_the_rows_is_left_out(name: str) -> None:
    rows = [{name: number, "title": f"T{number}"} for number in range(12)]
    assert reasons(rows) == {name: "it only counts the rows"}


# --- verdict


def test_a_matrix_is_said_to_be_none_with_what_would_make_it_one() -> None:
    names = ["height", "width", "depth", "weight", "price", "age", "size"]
    rows = [
        {"variable": name, **{other: (len(name) * len(other)) % 10 / 10 for other in names}}
        for name in names
    ]
    assert "matrix" in infer(rows)[1].verdict
    assert "melt" in infer(rows)[1].verdict


# --- names and samples


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("allCetaceanData", "All cetacean data"),
        ("tmdb_5000_movies", "Tmdb 5000 movies"),
        ("RYM-top", "RYM top"),
        ("week7_starwars", "Week 7 starwars"),
        ("", "Catalogue"),
    ],
)
def test_a_catalogue_is_titled_in_words(text: str, title: str) -> None:
    assert catalogue_title(text) == title


def test_the_key_that_a_source_declares_is_never_left_out() -> None:
    rows = [
        {"book_id": n, "site_book_id": 7000 + 13 * n, "title": f"Tale {n} of the wood"}
        for n in range(24)
    ]
    assert "site_book_id" not in reasons(rows, id_column="site_book_id")


COMUNI = [
    ("Agliè", "2.644"),
    ("Airasca", "3.660"),
    ("Ala", "462"),
    ("Roma", "2.617.175"),
    ("Viù", "1.100"),
]


def test_numbers_with_dots_between_thousands_are_whole() -> None:
    rows = [{"comune": name, "popolazione": number} for name, number in COMUNI]
    spec, inferred = infer(rows)
    read = [
        record.fields["popolazione"]
        for row in rows
        for record in build_mapping(spec).records_of(row)
    ]
    assert read == [2644, 3660, 462, 2617175, 1100]
    assert (
        "popolazione: '2.644' is read as 2644; if it is 2.644: --type 'popolazione=float'"
        in inferred.notes
    )


def test_numbers_with_an_ambiguous_dot_are_decimals_and_the_proposal_says_so() -> None:
    rows = [{"name": f"stone {number}", "weight": f"{number + 1}.125"} for number in range(9)]
    spec, inferred = infer(rows)
    assert spec.fields["weight"].type is FieldType.FLOAT
    assert "weight: '1.125' is read as 1.125; if it is 1125: --type 'weight=int'" in inferred.notes
    spec, inferred = infer(rows, choices=Choices(types={"weight": FieldType.INT}))
    (record,) = build_mapping(spec).records_of(rows[0])
    assert record.fields["weight"] == 1125


def test_a_number_that_counts_the_rows_of_a_record_is_left_out_and_a_year_is_not() -> None:
    rows = [
        {
            "drink": f"drink {number // 3}",
            "step": number % 3 + 1,
            "year": 2000 + number % 3,
            "part": f"part {number % 7}",
        }
        for number in range(30)
    ]
    _spec, inferred = infer(rows, choices=Choices(group="drink"))
    assert dict(inferred.left_out) == {"step": "it only counts the rows of a record"}
    assert "step" in [
        field.name
        for field in infer(rows, choices=Choices(group="drink", keep=frozenset({"step"})))[1].fields
    ]
