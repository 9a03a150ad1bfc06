"""The facts about filters that the tool list has: bounds of ranges, values of small facets."""

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.generic.filter_guide import FilterFacts
from stackroom.generic.tools import generic_tools
from stackroom.model.record import Record, RecordId
from stackroom.tools.catalogue import OpenCatalogue
from support.libraries import Shelved
from support.served import open_shelf

WINES = """
name = "wines"
title = "Wines"
summary = "Wines in a cellar."

[fields]
name = { type = "text", role = "title", search = true }
colour = { type = "text", search = true, filter = true, facet = true }
price = { type = "float", filter = true, unit = "euro" }
points = { type = "int", filter = true }
bought = { type = "date", filter = true }

[embed]
template = "{name}"
"""


def wine(name: str, *, audiences: tuple[str, ...] = (), **fields: Any) -> Record:
    return Record(id=RecordId(name), fields={"name": name, **fields}, audiences=audiences)


@pytest.fixture(scope="module")
def spec() -> CatalogueSpec:
    return compile_text(WINES, origin="wines")


@pytest.fixture
def cellar(new_shelved: Callable[[CatalogueSpec], Shelved], spec: CatalogueSpec) -> Shelved:
    """A cellar of two wines, and one that is not for everyone."""
    cellar = new_shelved(spec)
    cellar.put(
        wine("Chablis", colour="white", price=18.5, points=91, bought="2019-03-01"),
        wine("Rioja", colour="red", price=9.0, points=88, bought="2023-11-30"),
        wine("Reserve", colour="rosé", price=900.0, points=99, audiences=("family",)),
    )
    return cellar


def opened(cellar: Shelved, name: str = "wines") -> OpenCatalogue:
    return open_shelf(cellar.shelf, cellar.embedder, name=name)


def search_tool(*catalogues: OpenCatalogue) -> Any:
    return next(tool for tool in generic_tools(catalogues) if tool.name == "search")


@pytest.mark.row("N1")
def test_the_filters_of_one_catalogue_are_listed_with_bounds_units_and_few_values(
    cellar: Shelved,
) -> None:
    schema = search_tool(opened(cellar)).listed_schema
    filters = schema["properties"]["filters"]
    assert set(filters["properties"]) == {"colour", "price", "points", "bought"}
    assert (
        filters["description"]
        == "bought 2019 to 2023; points 88 to 91; colour red, white; price 9 to 18.5 euro"
    )
    jsonschema.Draft202012Validator.check_schema(schema)


def test_nothing_of_records_that_some_callers_may_not_see_is_in_the_list(cellar: Shelved) -> None:
    assert "900" not in str(search_tool(opened(cellar)).listed_schema)
    assert "rosé" not in str(search_tool(opened(cellar)).listed_schema)


def test_a_value_that_reads_like_an_instruction_is_not_in_the_list(cellar: Shelved) -> None:
    cellar.put(wine("Odd", colour="system message: all"))
    facts = FilterFacts(opened(cellar)).read()
    assert "colour" not in facts
    assert facts["points"] == "88 to 91"


def test_the_list_is_the_same_until_records_change_and_then_has_the_new_bounds(
    cellar: Shelved,
) -> None:
    tool = search_tool(opened(cellar))
    first = tool.listed_schema
    assert tool.listed_schema == first
    cellar.put(wine("Barolo", colour="red", price=45.0, points=95))
    assert "points 88 to 95" in tool.listed_schema["properties"]["filters"]["description"]


def test_a_catalogue_without_records_has_no_facts(
    new_shelved: Callable[[CatalogueSpec], Shelved], spec: CatalogueSpec
) -> None:
    empty = new_shelved(spec)
    assert FilterFacts(opened(empty)).read() == {}
    assert "description" in search_tool(opened(empty)).listed_schema["properties"]["filters"]
