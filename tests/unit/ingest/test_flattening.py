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
