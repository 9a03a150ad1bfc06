"""Nested objects as columns: by their keys, or where the keys are data, as lists of what they
hold.
"""

from typing import Any

import pytest

from stackroom.ingest.values import flattened_rows, value_at

pytestmark = pytest.mark.row("N1")

CODES = ("EUR", "USD", "NOK", "JPY", "CHF", "KES", "BRL", "PLN", "NZD", "CUP")


def country(code: str) -> dict[str, Any]:
    """Return a country, with an object whose keys are codes, and one whose keys are columns."""
    return {
        "name": {"common": f"Land of {code}", "official": f"State of {code}"},
        "currencies": {code: {"name": f"{code} money", "symbol": code[0]}},
        "languages": {code.lower(): f"{code}ish"},
    }


def test_the_keys_of_an_object_are_columns_where_rows_have_them_in_common() -> None:
    rows = flattened_rows([country(code) for code in CODES])
    assert rows[2]["name.common"] == "Land of NOK"
    assert rows[2]["name.official"] == "State of NOK"


def test_an_object_with_other_keys_in_every_row_is_a_list_of_what_it_holds() -> None:
    rows = flattened_rows([country(code) for code in CODES])
    assert {"currencies.*.name", "currencies.*.symbol", "languages.*"} <= set(rows[2])
    assert len(rows[2]) == 5
    assert rows[2]["currencies.*.name"] == ["NOK money"]
    assert rows[2]["languages.*"] == ["NOKish"]


def test_a_column_of_a_flattened_row_is_the_path_of_its_value_in_the_row() -> None:
    rows = [country(code) for code in CODES] + [{"name": {"common": "Nowhere"}, "currencies": {}}]
    for row, flat in zip(rows, flattened_rows(rows), strict=True):
        assert {path: value_at(row, path) for path in flat} == flat


def test_few_keys_are_columns_even_if_each_row_has_others() -> None:
    rows = flattened_rows([country(code) for code in CODES[:5]])
    assert "currencies.NOK.name" in rows[2]


def test_a_row_without_nested_objects_is_as_it_was() -> None:
    assert flattened_rows([{"a": 1, "b": [{"c": 2}], "d": {}}]) == [
        {"a": 1, "b": [{"c": 2}], "d": {}}
    ]
