"""Each decision about a table's columns, on small tables of the shapes that people have."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.infer.columns import catalogue_title
from stackroom.catalogue.infer.declare import Choices, Inferred, infer_declaration
from stackroom.catalogue.profile import profile_columns
from stackroom.catalogue.spec import CatalogueSpec, DateOrder, FieldRole, FieldType
from stackroom.ingest.mapping import build_mapping

pytestmark = pytest.mark.row("N1")

Row = Mapping[str, Any]


def infer(
    rows: Sequence[Row], *, is_sample: bool = False, **options: Any
) -> tuple[CatalogueSpec, Inferred]:
    inferred = infer_declaration(profile_columns(rows, is_sample=is_sample), name="mine", **options)
    return compile_text(inferred.declaration, origin="inferred"), inferred


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


def test_where_no_column_names_a_row_the_title_is_composed_of_those_that_tell_rows_apart() -> None:
    stations = ["Paris Est", "Lyon", "Lille", "Metz"]
    rows = [
        {
            "Service": "National",
            "Gare de départ": one,
            "Gare d'arrivée": other,
            "Période": f"2017-{month:02d}",
        }
        for one in stations
        for other in stations
        if one != other
        for month in range(1, 7)
    ]
    spec, inferred = infer(rows)
    assert inferred.fields[0].template == "{Gare de départ} – {Gare d'arrivée}, {Période}"
    assert (
        inferred.fields[0].reason
        == "composed, since no column names a record; together 100 % are distinct"
    )
    assert titles_of(spec, rows)[0] == "Paris Est – Lyon, 2017-01"
    assert len(set(titles_of(spec, rows))) == len(rows)


def test_a_name_that_repeats_gets_a_second_part() -> None:
    kinds = ["Bar stool", "Bar table", "Bench", "Chair", "Desk"]
    rows = [
        {"name": f"NAME{number % 8}", "description": kinds[number // 8]} for number in range(40)
    ]
    spec, inferred = infer(rows)
    assert inferred.fields[0].template == "{name}, {description}"
    assert inferred.fields[0].reason.startswith(
        "composed, since 'name' alone tells 20 % of the rows apart"
    )
    assert titles_of(spec, rows)[0] == "NAME0, Bar stool"


def test_rows_without_the_name_are_named_by_the_other_parts_and_none_is_lost() -> None:
    species = ["Orca", "Beluga", "Bottlenose", "Pilot", "Minke"]
    rows = [
        {
            "name": f"Animal {number}" if number % 3 else None,
            "species": species[number % 5],
            "year": 1950 + number,
        }
        for number in range(60)
    ]
    spec, _ = infer(rows)
    titles = titles_of(spec, rows)
    assert len(titles) == 60
    assert titles[0].startswith("Orca")
    assert titles[1].startswith("Animal 1, ")


def test_the_question_of_a_survey_is_never_the_title() -> None:
    rows = [
        {
            "RespondentID": 3_292_879_000 + number,
            "Have you seen any of the 6 films?": ["Yes", "No"][number % 2],
            "Do you consider yourself to be a fan of the films?": ["Yes", "No", None][number % 3],
            "Which of the following films have you seen?": "Episode I" if number % 2 else None,
            "Gender": ["Male", "Female"][number % 2],
        }
        for number in range(30)
    ]
    spec, inferred = infer(rows)
    assert inferred.fields[0].template == "{RespondentID}"
    assert "survey" in inferred.verdict
    assert titles_of(spec, rows)[0] == "3292879000"


def test_a_title_of_columns_that_the_user_chose_keeps_its_brackets() -> None:
    rows = [{"name": "a", "year": 1990}, {"name": "b", "year": 1991}]
    spec, _ = infer(rows, choices=Choices(title="{Name} ({year})"))
    assert titles_of(spec, rows) == ["a (1990)", "b (1991)"]


# --- roles


def book_rows() -> list[Row]:
    return [
        {
            "title": f"Book {number}",
            "authors": f"Ann Author{number % 7}, Bob Writer{number % 5}"
            if number % 2
            else f"Ann Author{number % 7}",
            "country": ["France", "Spain"][number % 2],
            "ratings_count": 100 + 37 * number,
            "work_ratings_count": 100 + 31 * number,
            "average_rating": 3 + number / 100,
            "small_image_url": f"https://x.org/s{number}.jpg",
            "image_url": f"https://x.org/{number}.jpg",
            "video_url": f"https://y.org/{number}",
            "url": f"https://x.org/book/{number}",
        }
        for number in range(40)
    ]


def test_people_place_popularity_picture_and_web_page_are_recognised() -> None:
    spec, _ = infer(book_rows())
    roles = {field.role: field.name for field in spec.fields.values() if field.role}
    assert roles == {
        FieldRole.TITLE: "title",
        FieldRole.PEOPLE: "authors",
        FieldRole.PLACE: "country",
        FieldRole.POPULARITY: "ratings_count",
        FieldRole.PICTURE: "image_url",
        FieldRole.LINK: "url",
    }


def test_with_a_popularity_the_better_known_rank_higher_among_equals() -> None:
    spec, _ = infer(book_rows())
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


def test_people_in_one_cell_are_a_list_and_a_surname_before_a_first_name_is_not() -> None:
    lists = [
        f"Ann Lee{number % 4}, Bob Ray{number % 3}" if number % 2 else f"Ann Lee{number % 4}"
        for number in range(20)
    ]
    spec, _ = infer(column_of(lists, "authors"))
    assert (spec.fields["authors"].type, spec.fields["authors"].split) == (FieldType.TEXTS, ",")
    surnames = [f"Lee{number % 7}, Ann" for number in range(20)]
    assert infer(column_of(surnames, "author"))[0].fields["author"].type is FieldType.TEXT


@pytest.mark.parametrize(
    ("values", "kind", "unit"),
    [
        ([f"{80 + number} min" for number in range(20)], FieldType.INT, "min"),
        ([f"{number}.5 kg" for number in range(20)], FieldType.FLOAT, "kg"),
        ([f"${number},000" for number in range(1, 21)], FieldType.INT, "$"),
        ([f"{50 + number}%" for number in range(20)], FieldType.INT, "%"),
    ],
)
def test_numbers_with_a_unit_are_numbers_and_keep_it(
    values: list[str], kind: FieldType, unit: str
) -> None:
    field = infer(column_of(values))[0].fields["x"]
    assert (field.type, field.unit) == (kind, unit)


def test_of_numbers_in_two_units_the_text_is_kept_beside_the_numbers_in_the_main_one() -> None:
    values = [f"{80 + number} min" for number in range(14)] + [
        f"{number} Seasons" for number in range(1, 7)
    ]
    rows = column_of(values, "duration")
    spec, _ = infer(rows)
    assert (spec.fields["duration"].type, spec.fields["duration_min"].unit) == (
        FieldType.TEXT,
        "min",
    )
    read = build_mapping(spec).read_row
    assert read is not None
    season = read(rows[-1])
    assert (season.records[0].get("duration"), season.records[0].get("duration_min")) == (
        "6 Seasons",
        None,
    )
    assert season.unread == ()
    assert read(rows[0]).records[0].get("duration_min") == 80


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


def test_numbered_columns_are_one_list() -> None:
    rows = [
        {
            "title": f"T{n}",
            **{
                f"rock_{place}": ["Basalt", "Dacite", "Andesite", "Gneiss"][(n + place) % 4]
                for place in (1, 2, 3)
            },
        }
        for n in range(12)
    ]
    rows[0] = {**rows[0], "rock_2": None}
    spec, inferred = infer(rows)
    assert spec.fields["rock"].type is FieldType.TAGS
    assert dict(inferred.left_out)["rock_1"] == "it is part of 'rock'"
    (record,) = build_mapping(spec).records_of(rows[0])
    assert [tag.value for tag in record.get("rock") or ()] == ["Dacite", "Gneiss"]


def test_what_the_user_names_is_kept() -> None:
    rows = [{"column_1": number, "title": f"T{number}"} for number in range(12)]
    assert reasons(rows, choices=Choices(id="column_1")) == {}


# --- grouping


def drink_rows() -> list[Row]:
    return [
        {
            "row_id": n // 3,
            "drink": f"Drink {n // 3}",
            "id_drink": 15_000 + n // 3,
            "glass": ["Highball", "Coupe"][n // 3 % 2],
            "category": ["Shot", "Beer", "Ale"][n // 3 % 3],
            "ingredient": f"Liquor {n % 10}",
            "measure": f"{n % 4} oz",
        }
        for n in range(60)
    ]


def test_rows_are_grouped_when_asked_and_what_differs_in_a_group_is_a_list() -> None:
    spec, _ = infer(drink_rows(), choices=Choices(group="id_drink"))
    assert (spec.group_path, spec.title_field.source_path) == ("id_drink", "drink")
    assert spec.fields["ingredient"].type is FieldType.TAGS
    assert spec.fields["glass"].type is FieldType.TEXT
    assert spec.embed is not None
    assert "ingredient" in [part.column for part in spec.embed.parts]


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


def test_of_a_sample_every_reason_says_so() -> None:
    _, inferred = infer(book_rows(), is_sample=True)
    assert all(field.reason.endswith("(in a sample of 40 rows)") for field in inferred.fields)


def test_the_key_that_a_source_declares_is_never_left_out() -> None:
    rows = [
        {"book_id": n, "site_book_id": 7000 + 13 * n, "title": f"Tale {n} of the wood"}
        for n in range(24)
    ]
    assert "site_book_id" not in reasons(rows, id_column="site_book_id")


def test_fields_with_long_names_are_named_by_their_first_and_last_words() -> None:
    question = "Please say how much you like each of the following instruments when you hear them."
    rows = [
        {
            "name": f"Person {number}",
            f"{question} Violin": number % 5,
            f"{question} Bagpipes": number % 3,
        }
        for number in range(24)
    ]
    assert [field.name for field in infer(rows)[1].fields] == [
        "name",
        "please_say_following_instruments_when_you_hear_them_violin",
        "please_say_following_instruments_when_you_hear_them_bagpipes",
    ]


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


def test_a_column_with_a_comma_before_decimals_has_no_thousands_of_commas() -> None:
    rows = [
        {"name": f"rod {number}", "length": text}
        for number, text in enumerate(["3,5", "12,345", "1.234,5"])
    ]
    spec, _inferred = infer(rows)
    read = [
        record.fields["length"] for row in rows for record in build_mapping(spec).records_of(row)
    ]
    assert read == [3.5, 12.345, 1234.5]


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
