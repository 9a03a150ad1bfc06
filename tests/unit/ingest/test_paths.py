"""Where a field's value stands in a row; and nested objects as columns: by their keys, or where the
keys are data, as lists of what they hold.
"""

from typing import Any

import pytest

from stackroom.ingest.values import flattened_rows, has_path, value_at

pytestmark = pytest.mark.row("N1")

ROW: dict[str, Any] = {
    "title": "Bread",
    "first name": "Ann",
    "stats.power": "a column of that very name",
    "stats": {"power": 7, "of": {"speed": 9}, "none": None},
    "authors": [
        {"name": "Ann", "tags": ["a", "b"]},
        {"name": "Bo", "tags": ["c"]},
        {"age": 3},
        None,
    ],
    "tags": ["x", None, "y"],
    "money": {"EUR": {"name": "euro"}, "CHF": {"name": "franc"}},
    "empty": [],
    "nothing": None,
    "zero": 0,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("title", "Bread"),
        ("zero", 0),
        ("nothing", None),
        ("absent", None),
        ("stats.power", "a column of that very name"),
        ("stats.of", {"speed": 9}),
        ("stats.of.speed", 9),
        ("stats.none", None),
        ("stats.none.deeper", None),
        ("stats.absent.deeper", None),
        ("title.deeper", None),
        ("authors[].name", ["Ann", "Bo"]),
        ("authors[].tags[]", ["a", "b", "c"]),
        ("authors[].tags", ["a", "b", "c"]),
        ("authors[].absent", []),
        ("money.*.name", ["euro", "franc"]),
        ("stats.of.*", [9]),
        ("title.*", []),
        ("tags[]", ["x", "y"]),
        ("zero[].name", []),
        ("stats[].power", [7]),
        ("tags", ["x", None, "y"]),
        ("empty[]", []),
        ("nothing[].name", []),
        ("absent[].name", []),
        ("first name", "Ann"),
        ("", None),
    ],
)
def test_a_path_leads_to_its_value(path: str, value: Any) -> None:
    assert value_at(ROW, path) == value


@pytest.mark.parametrize(
    ("path", "is_there"),
    [
        ("title", True),
        ("nothing", True),
        ("absent", False),
        ("stats.none", True),
        ("stats.none.deeper", True),
        ("stats.absent", False),
        ("title.deeper", False),
        ("authors[].name", True),
        ("authors[].absent", False),
        ("money.*.name", True),
        ("money.*.symbol", False),
        ("empty[]", True),
        ("empty[].name", True),
        ("absent[].name", False),
        ("first name", True),
    ],
)
def test_a_path_is_there_also_where_it_leads_to_nothing(path: str, is_there: bool) -> None:
    row = {**ROW, "authors": ROW["authors"][:3]}
    assert has_path(row, path) == is_there


CODES = ("EUR", "USD", "NOK", "JPY", "CHF", "KES", "BRL", "PLN", "NZD", "CUP")


def country(code: str) -> dict[str, Any]:
    """Return a country, with an object whose keys are codes, and one whose keys are columns."""
    return {
        "name": {"common": f"Land of {code}", "official": f"State of {code}"},
        "currencies": {code: {"name": f"{code} money", "symbol": code[0]}},
        "languages": {code.lower(): f"{code}ish"},
    }


def test_a_column_of_a_flattened_row_is_the_path_of_its_value_in_the_row() -> None:
    rows = [country(code) for code in CODES] + [{"name": {"common": "Nowhere"}, "currencies": {}}]
    for row, flat in zip(rows, flattened_rows(rows), strict=True):
        assert {path: value_at(row, path) for path in flat} == flat
    assert flattened_rows(rows)[2].keys() == {
        "name.common",
        "name.official",
        "currencies.*.name",
        "currencies.*.symbol",
        "languages.*",
    }


def test_few_keys_are_columns_even_if_each_row_has_others() -> None:
    rows = flattened_rows([country(code) for code in CODES[:5]])
    assert "currencies.NOK.name" in rows[2]


def test_a_row_without_nested_objects_is_as_it_was() -> None:
    assert flattened_rows([{"a": 1, "b": [{"c": 2}], "d": {}}]) == [
        {"a": 1, "b": [{"c": 2}], "d": {}}
    ]
