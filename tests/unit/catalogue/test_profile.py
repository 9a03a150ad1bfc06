"""What the cells of a column are is told from the cells, and the column is the narrowest form that
all of them have.
"""

from datetime import date
from typing import Any

import pytest

from stackroom.catalogue.column_words import name_words
from stackroom.catalogue.profile import ColumnProfile, Form, profile_columns, read_cell

pytestmark = pytest.mark.row("N1")


def profiled(*cells: Any, name: str = "x") -> ColumnProfile:
    (column,) = profile_columns([{name: cell} for cell in cells])
    return column


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        (12, Form.WHOLE),
        ("12", Form.WHOLE),
        ("1,234", Form.WHOLE),
        (1999, Form.YEAR),
        ("3.14", Form.NUMBER),
        ("1994.0", Form.YEAR),
        ("$1,299.00", Form.NUMBER),
        ("$12", Form.WHOLE),
        ("12,50 EUR", Form.NUMBER),
        ("02139", Form.CODE),
        ('="0439023483"', Form.CODE),
        ("2015/04/30", Form.DATE),
        ("30 April 2015", Form.DATE),
        (date(2015, 4, 30), Form.DATE),
        ("https://example.org/a?b=c", Form.URL),
        (True, Form.BOOLEAN),
        ("Yes", Form.BOOLEAN),
        (["a", "b"], Form.LIST),
        ('["a", "b"]', Form.LIST),
        ("['Rock \\'n\\' roll', \"children's\"]", Form.LIST),
        ([{"name": "a"}], Form.LIST),
        ([{"x": 1}], Form.OBJECT),
        ({"power": 9}, Form.OBJECT),
        ('{"power": 9}', Form.OBJECT),
        ("[not a list]", Form.TEXT),
        ("{not an object}", Form.TEXT),
        ("May the 4th be with you", Form.TEXT),
        ("inf", Form.TEXT),
        (float("inf"), Form.TEXT),
        (b"\x89PNG", Form.BYTES),
    ],
)
def test_a_cell_has_the_form_that_it_is_written_in(cell: Any, form: Form) -> None:
    assert read_cell(cell).form is form


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ((1999, 2001), Form.YEAR),
        ((-750, 2001), Form.WHOLE),
        ((1, 2.5, "1999"), Form.NUMBER),
        (("2015", "2015-04-30"), Form.DATE),
        (("02139", "10115"), Form.CODE),
        ((1.5, "call"), Form.TEXT),
        (("yes", "1"), Form.TEXT),
        ((["a"], "b"), Form.LIST),
        ((["a"], "b", "c"), Form.TEXT),
        ((["a"], {"b": 1}), Form.OBJECT),
        ((None, "", " "), Form.TEXT),
    ],
)
def test_a_column_is_the_narrowest_form_that_all_its_cells_have(
    cells: tuple[Any, ...], form: Form
) -> None:
    assert profiled(*cells).form is form


def test_cells_without_a_value_are_not_counted() -> None:
    column = profiled("a", None, "", " ", "[]", '=""', [], float("nan"), "a", "b")
    assert (column.rows, column.filled, column.distinct) == (10, 3, 2)
    assert column.filled_share == pytest.approx(0.3)
    assert column.distinct_share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("cells", "separator", "items"),
    [
        (("Drama;Crime", "Crime", "Drama;War"), ";", 3),
        (("Drama|Crime", "Crime|War", "War"), "|", 3),
        (("Action, Drama", "Drama", "Drama, Romance", "Romance, War"), ",", 4),
        (("Home > Kitchen", "Home > Garden", "Home > Kitchen > Mugs"), ">", 4),
        (("Paris, France", "Lyon, France", "Nice, France", "Rome, Italy"), "", 0),
        (("King, Stephen", "Hawking, Stephen", "Homer", "Collins, Suzanne"), "", 0),
        (("Well, it was late; very late", "It was late; she slept", "He slept"), "", 0),
        (("one", "two"), "", 0),
    ],
)
def test_lists_in_text_are_told_by_parts_that_come_again_in_other_places(
    cells: tuple[str, ...], separator: str, items: int
) -> None:
    column = profiled(*cells)
    assert (column.separator, column.is_list, len(column.items)) == (
        separator,
        bool(separator),
        items,
    )


def test_the_name_of_a_column_tells_lists_whose_parts_do_not_come_again() -> None:
    cells = ("Drama, Crime", "War")
    assert profiled(*cells, name="Film Genres").separator == ","
    assert profiled(*cells, name="remark").separator == ""


def test_a_few_values_in_many_rows_are_few_and_as_many_as_rows_are_not() -> None:
    assert profiled(*["paper", "cloth"] * 10).has_few_values
    assert not profiled("a", "b", "c").has_few_values
    assert not profiled(
        *(f"t{number}" for number in range(100)), *(f"t{number}" for number in range(100))
    ).has_few_values


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("AlbumId", ("album", "id")),
        ("imdbID", ("imdb", "id")),
        ("Author l-f", ("author", "l", "f")),
        ("Año de edición", ("ano", "de", "edicion")),
        ("average_rating", ("average", "rating")),
        ("", ()),
    ],
)
def test_the_words_of_a_name_are_the_same_however_they_are_joined(
    name: str, words: tuple[str, ...]
) -> None:
    assert name_words(name) == words


def test_a_cell_of_a_megabyte_is_profiled_at_once() -> None:
    column = profiled(" ".join(["word"] * 200_000), "1 " * 100_000)
    assert column.form is Form.TEXT
