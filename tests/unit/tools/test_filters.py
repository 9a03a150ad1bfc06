"""Filters as clients write them: the schema that says what is right, and the reading that refuses
what is wrong.
"""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.generic.filter_guide import MOST_CHARS, filter_guide
from stackroom.model.scope import KIND_FIELD, AllOf, AnyOf, NoneOf, Range
from stackroom.tools.filters import (
    filter_schema,
    filterable,
    parse_exclusions,
    parse_filters,
    require_excludable,
)

SHOP = """
name = "shop"
title = "Shop"
summary = "Things to buy."

[kinds.book]
[kinds.toy]

[fields]
title = { type = "text", role = "title" }
maker = { type = "text", filter = "equals" }
colours = { type = "text[]", filter = "any-of" }
marks = { type = "tag[]", filter = "all-of" }
state = { type = "enum", values = ["NEW", "USED"], filter = true, facet = true }
year = { type = "int", role = "time", filter = true }
price = { type = "float", filter = true }
weight = { type = "int", filter = true }
arrived = { type = "date", filter = true }
sold = { type = "date", filter = true }
blurb = { type = "text" }
"""

CARS = """
name = "cars"
title = "Cars"
summary = "Things to drive."

[kinds.car]
[kinds.van]

[fields]
title = { type = "text", role = "title" }
state = { type = "enum", values = ["NEW", "SCRAP"], filter = true, facet = true }
year = { type = "int", role = "time", filter = true }
doors = { type = "int", filter = true }
"""

GOOD: list[tuple[dict[str, Any], Any]] = [
    ({"maker": ["Ravensburger"]}, AnyOf("maker", ("Ravensburger",))),
    ({"colours": ["red", "blue"]}, AnyOf("colours", ("red", "blue"))),
    ({"marks": ["wood", "safe"]}, AllOf("marks", ("wood", "safe"))),
    ({"state": ["NEW", "USED"]}, AnyOf("state", ("NEW", "USED"))),
    ({"price": {"min": 1.5, "max": 9}}, Range("price", 1.5, 9.0)),
    ({"arrived": {"min": "2015-04-30"}}, Range("arrived", 735718.0, None)),
    ({"arrived": {"min": 2015, "max": 2015}}, Range("arrived", 735599.0, 735963.0)),
    ({"sold": {"min": "0001-01-01", "max": "0001-01-02"}}, Range("sold", 1.0, 2.0)),
    ({"kind": ["toy"]}, AnyOf(KIND_FIELD, ("toy",))),
]

REFUSED_BY_BOTH: list[tuple[dict[str, Any], str]] = [
    (
        {"prize": {"min": 1}},
        r"'filters.prize'.*did you mean 'price'\?.*filterable: kind, year\*, price\*, maker, ",
    ),
    ({"blurb": ["x"]}, r"'filters.blurb': 'shop' cannot be filtered by it"),
    (
        {"colours": {"min": 1}},
        r"'filters.colours' must be a list of strings, as in \[\"a\", \"b\"\]",
    ),
    ({"colours": ["red", 7]}, "'filters.colours' must be a list of strings"),
    ({"price": [1, 9]}, "'filters.price' must be a range"),
    (
        {"price": True},
        r"'filters.price' must be a range, as in {\"min\": 1, \"max\": 9}; either may be left out",
    ),
    ({"price": {"min": "cheap"}}, "'filters.price': 'cheap' is not a number"),
    ({"price": {"max": True}}, "'filters.price': 'True' is not a number"),
    ({"price": {"min": 1, "middle": 5}}, "'filters.price' must be a range"),
]

REFUSED_BY_THE_READING_ALONE: list[tuple[dict[str, Any], str]] = [
    ({"price": {"min": 9, "max": 1}}, "'filters.price': min is greater than max"),
    ({"price": {"min": float("nan")}}, "'filters.price': 'nan' is not a number"),
    ({"price": {"max": float("inf")}}, "'filters.price': 'inf' is not a number"),
    (
        {"arrived": {"min": "2016-01-01", "max": "2015-12-31"}},
        "'filters.arrived': min is greater than max",
    ),
    (
        {"arrived": {"min": "yesterday"}},
        "'yesterday' is not a date; right are 2015, 2015-04 and 2015-04-30",
    ),
    ({"arrived": {"min": "2015-02-29"}}, "'2015-02-29' is not a date"),
    ({"arrived": {"max": "2015-13"}}, "'filters.arrived': '2015-13' is not a date"),
]
"""What a schema cannot say, or only at a length that every turn of an assistant would pay for."""

ALSO_READ: list[tuple[dict[str, Any], Any]] = [
    ({"year": 2015}, Range("year", 2015.0, 2015.0)),
    ({"year": {"min": "2015", "max": " 2016 "}}, Range("year", 2015.0, 2016.0)),
    ({"arrived": "2015-04-30"}, Range("arrived", 735718.0, 735718.0)),
    ({"arrived": "2015-04"}, Range("arrived", 735689.0, 735718.0)),
    ({"arrived": {"min": "2015", "max": "2016"}}, Range("arrived", 735599.0, 736329.0)),
    ({"arrived": {"max": "2016-02"}}, Range("arrived", None, 736023.0)),
    ({"price": {"max": "$1,000"}}, Range("price", None, 1000.0)),
    ({"price": {"max": "12,50 EUR"}}, Range("price", None, 12.5)),
    ({"state": "NEW"}, AnyOf("state", ("NEW",))),
    ({"marks": "wood"}, AllOf("marks", ("wood",))),
]
"""Forms that the schema does not mention, and whose meaning is plain."""

EMPTY: list[dict[str, Any]] = [
    {"colours": []},
    {"kind": []},
    {"price": {}},
    {"colours": None, "price": None},
]


@pytest.fixture(scope="module")
def shop() -> CatalogueSpec:
    return compile_text(SHOP, origin="shop")


@pytest.fixture(scope="module")
def cars() -> CatalogueSpec:
    return compile_text(CARS, origin="cars")


def validator(spec: CatalogueSpec) -> Draft202012Validator:
    """Return a validator of the filters of a catalogue, as a tool's input schema has them."""
    schema, definitions = filter_schema(spec)
    whole = {**schema, "$defs": definitions}
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(whole)


@pytest.mark.parametrize(("filters", "wanted"), GOOD, ids=str)
def test_a_right_filter_becomes_its_condition_and_fits_the_schema(
    shop: CatalogueSpec, filters: dict[str, Any], wanted: Any
) -> None:
    assert parse_filters(filters, shop) == [wanted]
    assert validator(shop).is_valid(filters)


@pytest.mark.parametrize(("filters", "wanted"), ALSO_READ, ids=str)
def test_years_months_texts_of_numbers_and_single_values_are_read_as_what_they_state(
    shop: CatalogueSpec, filters: dict[str, Any], wanted: Any
) -> None:
    assert parse_filters(filters, shop) == [wanted]


@pytest.mark.parametrize(("filters", "message"), REFUSED_BY_BOTH, ids=str)
def test_a_wrong_form_is_refused_by_its_name_with_what_would_be_right_and_by_the_schema(
    shop: CatalogueSpec, filters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parse_filters(filters, shop)
    assert not validator(shop).is_valid(filters)


@pytest.mark.parametrize(("filters", "message"), REFUSED_BY_THE_READING_ALONE, ids=str)
def test_a_value_that_cannot_be_is_refused_by_its_name_with_what_would_be_right(
    shop: CatalogueSpec, filters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parse_filters(filters, shop)


@pytest.mark.parametrize("filters", EMPTY, ids=str)
def test_a_filter_with_nothing_in_it_filters_nothing(
    shop: CatalogueSpec, filters: dict[str, Any]
) -> None:
    assert parse_filters(filters, shop) == []
    assert validator(shop).is_valid(
        {name: asked for name, asked in filters.items() if asked is not None}
    )


@pytest.mark.parametrize(
    "number", [10**400, -(10**400), 10**5_000], ids=["great", "small", "endless"]
)
def test_a_number_too_great_for_any_column_is_refused(shop: CatalogueSpec, number: int) -> None:
    with pytest.raises(InputError, match=r"'filters\.price': the number is too large"):
        parse_filters({"price": {"min": number}}, shop)


def test_a_long_value_is_not_repeated_whole_in_the_refusal(shop: CatalogueSpec) -> None:
    for filters in ({"price": {"min": "x" * 10_000}}, {"arrived": {"min": "x" * 10_000}}):
        with pytest.raises(InputError) as caught:
            parse_filters(filters, shop)
        assert len(caught.value.message) < 300


def test_the_schema_names_every_field_that_can_be_filtered_by_and_no_other(
    shop: CatalogueSpec,
) -> None:
    schema, _ = filter_schema(shop)
    assert set(schema["properties"]) == {field.name for field in filterable(shop)} | {"kind"}
    assert schema["additionalProperties"] is False
    assert "blurb" not in schema["properties"]


def test_the_schema_lists_the_values_of_an_enum_and_the_kinds(shop: CatalogueSpec) -> None:
    properties = filter_schema(shop)[0]["properties"]
    assert properties["state"] == {"type": "array", "items": {"enum": ["NEW", "USED"]}}
    assert properties["kind"] == {"type": "array", "items": {"enum": ["book", "toy"]}}


def test_a_form_that_several_fields_have_is_written_once_and_referred_to(
    shop: CatalogueSpec,
) -> None:
    schema, definitions = filter_schema(shop)
    properties = schema["properties"]
    assert properties["price"] == properties["weight"]
    assert properties["arrived"] == properties["sold"]
    assert properties["maker"] == properties["colours"] == properties["marks"]
    used = {form["$ref"].removeprefix("#/$defs/") for form in properties.values() if "$ref" in form}
    assert used == set(definitions)
    assert len(definitions) == 3


def test_a_form_that_one_field_has_stands_in_its_place(cars: CatalogueSpec) -> None:
    one_number = compile_text(CARS.split("doors = ", maxsplit=1)[0], origin="cars")
    schema, definitions = filter_schema(one_number)
    assert definitions == {}
    assert schema["properties"]["year"]["properties"] == {
        "min": {"type": "number"},
        "max": {"type": "number"},
    }


def test_catalogues_with_the_same_filters_share_an_entry(
    shop: CatalogueSpec, cars: CatalogueSpec
) -> None:
    assert "old, new: kind, year*, doors*, state" in filter_guide(
        {"old": cars, "shop": shop, "new": cars}
    )


def test_the_filters_of_many_catalogues_stay_short_and_end_with_where_the_rest_is(
    shop: CatalogueSpec,
) -> None:
    fields = "".join(
        f'[fields.number_{letter}]\ntype = "int"\nfilter = true\n' for letter in "abcdef"
    )
    many = {
        f"catalogue_{number}": compile_text(
            f"{CARS}{fields}[fields.only_{number}]\ntype = 'int'\nfilter = true\n", origin="many"
        )
        for number in range(22)
    }
    guide = filter_guide({"shop": shop, **many})
    assert len(guide) <= MOST_CHARS
    assert guide.endswith("…")
    assert "browse" in guide


def test_a_field_in_another_case_is_the_field_that_is_meant(shop: CatalogueSpec) -> None:
    assert parse_filters({"Maker": ["A"], "PRICE": {"min": 1}, "Kind": ["toy"]}, shop) == [
        AnyOf("maker", ("A",)),
        Range("price", 1.0, None),
        AnyOf(KIND_FIELD, ("toy",)),
    ]
    assert parse_exclusions({"Maker": ["A"]}, shop) == [NoneOf("maker", ("A",))]
    require_excludable({"Maker": ["A"]}, [shop])


def test_a_catalogue_without_filters_allows_only_no_filter() -> None:
    bare = compile_text(
        'name = "bare"\ntitle = "Bare"\nsummary = "x"\n[fields.title]\ntype = "text"\nrole ='
        ' "title"\n',
        origin="bare",
    )
    assert validator(bare).is_valid({})
    assert not validator(bare).is_valid({"kind": ["record"]})
    with pytest.raises(InputError, match=r"'filters.kind': 'bare' cannot be filtered by it"):
        parse_filters({"kind": ["record"]}, bare)
