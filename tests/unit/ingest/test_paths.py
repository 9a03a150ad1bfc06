"""Where a field's value stands in a row."""

from typing import Any

import pytest

from stackroom.ingest.values import has_path, value_at

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
