"""Rows that are one record together."""

from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.ingest.grouping import iter_records
from stackroom.ingest.pipeline import remove_source
from support.ingesting import IngestBench, ListedRows

pytestmark = pytest.mark.row("N1")

DRINKS = """
name = "drinks"
title = "Drinks"
summary = "For tests."
group = "id_drink"
[fields.drink]
type = "text"
role = "title"
[fields.glass]
type = "text"
[fields.strength]
type = "int"
[fields.ingredients]
type = "text[]"
template = "{measure} {ingredient}"
[fields.kinds_of]
type = "tag[]"
path = "kind_of"
split = ","
"""


def ingredient(drink: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id_drink": drink, "drink": f"Drink {drink}", "ingredient": name, **more}


MIXED = [
    ingredient("7", "Gin", measure="4 cl", glass="", kind_of="Cocktail"),
    ingredient("8", "Rum", measure="2 cl", glass="Highball"),
    ingredient("7", "Tonic", glass="Tumbler", kind_of="Long, Cocktail"),
    ingredient("7", "Gin", measure="4 cl", glass="Bucket"),
]


@pytest.fixture
def drinks() -> IngestBench:
    return IngestBench(spec=compile_text(DRINKS, origin="drinks.toml"))


def test_rows_with_the_same_value_are_one_record_with_that_id(drinks: IngestBench) -> None:
    report = drinks.add(ListedRows(MIXED))
    assert (report.rows, report.written, report.rejected, report.duplicates) == (4, 2, 0, 0)
    reason = "'glass' is 'Bucket'; the record has 'Tumbler' of an earlier row"
    assert report.cells == [("line 4", "glass", reason)]
    seven = drinks.records()["7"]
    assert seven.get("drink") == "Drink 7"
    assert seven.get("glass") == "Tumbler"
    assert seven.get("ingredients") == ("4 cl Gin", "Tonic")
    assert [tag.value for tag in seven.fields["kinds_of"]] == ["Cocktail", "Long"]


def test_the_place_of_a_grouped_record_names_all_its_rows(drinks: IngestBench) -> None:
    drinks.add(ListedRows(MIXED))
    places = {one: origin.row for one, origin in drinks.ledger.origins("rows.jsonl").items()}
    assert places == {"7": "lines 1, 3–4", "8": "line 2"}


def test_a_row_without_the_value_is_a_record_of_its_own(drinks: IngestBench) -> None:
    report = drinks.add(ListedRows([{"drink": "Nameless", "ingredient": "Ice"}, *MIXED]))
    assert (report.written, report.rejected) == (3, 0)
    assert {"7", "8"} < set(drinks.records())


def test_an_unreadable_cell_of_a_group_is_listed_with_its_own_row(drinks: IngestBench) -> None:
    report = drinks.add(ListedRows([MIXED[0], ingredient("7", "Ice", strength="strong")]))
    assert report.cells == [("line 2", "strength", "'strength' is 'strong', not a number")]
    assert drinks.ledger.cells() == [
        ("rows.jsonl", "line 2", "strength", "'strength' is 'strong', not a number")
    ]
    assert report.notes == [
        "strength: 1 cell is left out; line 2: 'strength' is 'strong', not a number"
    ]
    assert drinks.records()["7"].get("ingredients") == ("4 cl Gin", "Ice")


def test_a_preview_shows_groups_as_records() -> None:
    spec = compile_text(DRINKS, origin="drinks.toml")
    found = {
        record.id: record.get("ingredients")
        for record in iter_records([{"id_drink": ""}, *MIXED], spec)
    }
    assert found == {"7": ("4 cl Gin", "Tonic"), "8": ("2 cl Rum",)}


def test_a_required_field_may_be_in_any_row_of_a_group(drinks: IngestBench) -> None:
    required = DRINKS.replace(
        '[fields.strength]\ntype = "int"', '[fields.strength]\ntype = "int"\nrequired = true'
    )
    shelf = IngestBench(spec=compile_text(required, origin="drinks.toml"))
    report = shelf.add(ListedRows([*MIXED, ingredient("7", "Ice", strength="12")]))
    assert shelf.records()["7"].get("strength") == 12
    assert report.rejects == [("line 2", "'strength' is missing; every record needs one")]


def test_a_key_that_no_file_can_have_is_rejected_and_stops_nothing(drinks: IngestBench) -> None:
    report = drinks.add(ListedRows([ingredient("half \ud800", "Ice"), *MIXED]))
    assert (report.written, report.rejected) == (2, 1)


def test_a_source_that_is_removed_takes_its_groups_and_cells_with_it(drinks: IngestBench) -> None:
    drinks.add(ListedRows([*MIXED, ingredient("7", "Ice", strength="strong")]))
    assert remove_source("rows.jsonl", drinks.target()) == 2
    assert (drinks.records(), drinks.ledger.cells()) == ({}, [])
