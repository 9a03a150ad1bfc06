"""Rows into records by a spec alone: what costs a cell, what costs a row, and how fields are
read.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.ingest.mapping import ReadRow, build_mapping

pytestmark = pytest.mark.row("N1")

FILMS = """
name = "films"
title = "Films"
summary = "For tests."
id = "id"
[fields.name]
type = "text"
role = "title"
[fields.year]
type = "int"
[fields.rated]
type = "enum"
values = ["PG", "R"]
[fields.minutes]
type = "int"
at_least = 1
"""


def spec_of(addition: str = "", *, within: str = FILMS) -> CatalogueSpec:
    return compile_text(within + addition, origin="films.toml")


def read(row: Mapping[str, Any], spec: CatalogueSpec) -> ReadRow:
    mapping = build_mapping(spec)
    assert mapping.read_row is not None
    return mapping.read_row(row)


def fields_of(row: Mapping[str, Any], addition: str = "") -> Mapping[str, Any]:
    return read({"id": "1", **row}, spec_of(addition)).records[0].fields


def test_a_record_without_a_title_is_named_by_its_id() -> None:
    spec = spec_of()
    ((record,), unread, _) = read({"id": "tt1", "name": "", "year": 1979}, spec)
    assert spec.title_of(record) == "tt1"
    assert not unread


def test_a_record_has_the_tags_of_the_columns_that_say_yes() -> None:
    marked = (
        '[fields.has]\ntype = "tag[]"\nmarked = { barn = "barn", bush = "a bush", boat = "boat",'
        ' bay = "bay" }'
    )
    cells = {"name": "Dawn", "barn": "1", "bush": "X", "boat": "no", "bay": ""}
    assert [tag.value for tag in fields_of(cells, marked)["has"]] == ["barn", "a bush"]


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("year", "n.n.", "'year' is 'n.n.', not a number"),
        ("rated", "X", "'rated' is 'X'; expected one of PG, R"),
        ("minutes", "0", "'minutes' is 0; expected 1 or more"),
    ],
)
def test_a_cell_that_does_not_fit_costs_the_cell_and_not_the_record(
    column: str, cell: str, reason: str
) -> None:
    ((record,), unread, _) = read({"id": "1", "name": "Alien", column: cell}, spec_of())
    assert record.fields == {"name": "Alien"}
    assert [(one.field, one.reason) for one in unread] == [(column, reason)]


def test_a_cell_of_a_required_field_that_does_not_fit_costs_the_record() -> None:
    spec = spec_of(
        within=FILMS.replace(
            '[fields.year]\ntype = "int"', '[fields.year]\ntype = "int"\nrequired = true'
        )
    )
    with pytest.raises(InputError, match=r"'year' is 'n\.n\.', not a number"):
        read({"id": "1", "name": "Alien", "year": "n.n."}, spec)


def test_a_row_without_any_value_is_rejected_as_empty() -> None:
    with pytest.raises(InputError, match="empty row"):
        read({"id": "", "name": " ", "year": None}, spec_of())
    with pytest.raises(InputError, match="empty row"):
        read({"name": "", "note": "in no field"}, spec_of(within=FILMS.replace('id = "id"', "")))


def test_a_title_is_composed_of_columns() -> None:
    trains = FILMS.replace('role = "title"', 'role = "title"\ntemplate = "{from} – {to}, {month}"')
    spec = spec_of(within=trains)
    ((record,), *_) = read({"id": 1, "from": "Paris", "to": "<b>Lyon</b>", "month": 3}, spec)
    assert spec.title_of(record) == "Paris – Lyon, 3"
    ((record,), *_) = read({"id": 1, "from": "Paris", "to": "", "year": 2018}, spec)
    assert record.fields == {"name": "Paris", "year": 2018}
    ((record,), *_) = read({"id": 1, "year": 2018}, spec)
    assert record.fields == {"year": 2018}


@pytest.mark.parametrize(
    ("cell", "year"),
    [
        ("2013-09-13", 2013),
        ("13 September 2013", 2013),
        ("Alien (1979)", 1979),
        ("1990-1995", 1990),
        (1979, 1979),
    ],
)
def test_a_year_is_taken_from_a_date_or_a_text(cell: Any, year: int) -> None:
    declared = '[fields.made]\ntype = "int"\npath = "released"\ntake = "year"'
    assert fields_of({"released": cell}, declared)["made"] == year


def test_a_text_without_a_year_costs_the_cell() -> None:
    declared = '[fields.made]\ntype = "int"\npath = "released"\ntake = "year"'
    ((record,), unread, _) = read({"id": 1, "name": "Alien", "released": "soon"}, spec_of(declared))
    assert "made" not in record.fields
    assert [one.field for one in unread] == ["made"]
