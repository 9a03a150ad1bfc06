"""Counting and summing with `browse`, and lists by the query `*`, over a small table in memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError
from stackroom.gate.gate import Gate
from stackroom.generic.buckets import ScopedNumbers, bucket_numbers, parse_bucketing
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId
from stackroom.shelf.port import Put
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.toolbox import Toolbox
from support.memory_shelf import MemoryShelf
from support.served import Served, open_shelf

pytestmark = pytest.mark.row("N1")

WINES = """
name = "wines"
title = "Wines"
summary = "Wines and what they cost."

[fields]
title = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
notes = { type = "text", role = "body", search = true }
country = { type = "text", filter = true, facet = true }
grapes = { type = "text[]", filter = true, facet = true }
maker = { type = "text", facet = true }
price = { type = "float", filter = true, unit = "€" }
year = { type = "int", filter = true }
reviewed = { type = "date", filter = true }
votes = { type = "int", role = "popularity" }
shop = { type = "int" }
"""
TABLE: tuple[tuple[Any, ...], ...] = (
    (
        "Alpha",
        "dark plum and oak",
        "France",
        ("Merlot", "Syrah"),
        "Roche",
        12.1,
        1998,
        "2001-03-04",
        5,
    ),
    ("Beta", "plum, light", "France", ("Gamay",), "Roche", 30.2, 2003, "2001-07", 50),
    ("Gamma", "smoke", "Spain", ("Merlot",), "Sol", 30.2, 2003, "2004", 7),
    ("Delta", "smoke and oak", "Spain", (), "Sol", None, 2011, None, 1),
    ("Epsilon", "plum", None, ("Syrah",), None, 8.0, None, "1999-12-31", None),
)
NAMES = ("title", "notes", "country", "grapes", "maker", "price", "year", "reviewed", "votes")


class WineTools(Served):
    """The generic tools over tables of wines."""

    def browse(self, **arguments: Any) -> dict[str, Any]:
        (catalogue,) = self.ask("browse", **arguments)["catalogues"]
        found: dict[str, Any] = catalogue
        return found

    def counts(self, **arguments: Any) -> dict[Any, int]:
        """Return the count of each group, by its values."""
        return {
            tuple(one["values"].values()): one["count"]
            for one in self.browse(**arguments)["groups"]
        }

    def problem(self, **arguments: Any) -> str:
        """Return why `browse` refuses arguments."""
        code, text = self.refusal("browse", **arguments)
        assert code == InputError.code, text
        return text


def opened(
    table: Sequence[Sequence[Any]] = TABLE, *, name: str = "wines", declaration: str = WINES
) -> OpenCatalogue:
    spec = compile_text(declaration.replace('"wines"', f'"{name}"'), origin="test")
    shelf = MemoryShelf(spec)
    for row in table:
        fields = {
            field: value for field, value in zip(NAMES, row, strict=True) if value not in (None, ())
        }
        shelf.apply([Put(record=Record(id=RecordId(row[0].lower()), fields=fields))])
    return open_shelf(shelf)


def serve(*catalogues: OpenCatalogue) -> WineTools:
    return WineTools(gate=Gate(Toolbox(generic_tools(catalogues))))


@pytest.fixture
def served() -> WineTools:
    return serve(opened())


@pytest.fixture
def two_served() -> WineTools:
    return serve(opened(), opened(TABLE[:2], name="cellar"))


@pytest.mark.parametrize(
    ("arguments", "ranked"),
    [
        ({}, ["beta", "gamma", "alpha", "epsilon"]),
        ({"sort": "asc"}, ["epsilon", "alpha", "beta", "gamma"]),
        ({"sort": "min"}, ["epsilon", "alpha", "beta", "gamma"]),
        ({"sort": "Value ASC", "limit": 1}, ["epsilon"]),
        ({"query": "plum", "limit": 2}, ["beta", "alpha"]),
    ],
)
def test_records_are_ranked_by_a_number_the_highest_first_or_the_lowest(
    served: WineTools, arguments: dict[str, Any], ranked: list[str]
) -> None:
    assert [one["id"] for one in served.browse(of="price", **arguments)["ranked"]] == [
        f"wines/{one}" for one in ranked
    ]


def test_ranked_records_come_with_their_number_and_in_pages(served: WineTools) -> None:
    first = served.ask("browse", of="reviewed", limit=3, sort="asc")
    rest = served.ask("browse", of="reviewed", limit=3, sort="asc", cursor=first["cursor"])
    ranked = [one for page in (first, rest) for one in page["catalogues"][0]["ranked"]]
    assert ranked == [
        {"value": "1999-12-31", "id": "wines/epsilon", "title": "Epsilon"},
        {"value": "2001-03-04", "id": "wines/alpha", "title": "Alpha"},
        {"value": "2001-07", "id": "wines/beta", "title": "Beta"},
        {"value": "2004", "id": "wines/gamma", "title": "Gamma"},
    ]
    assert first["catalogues"][0]["group_count"] == 4
    assert "cursor" not in rest


def test_the_text_is_a_table_that_says_what_is_counted_and_how_to_list_the_records(
    served: WineTools,
) -> None:
    answer = served.gate.call(
        LOCAL_USER, "browse", {"by": ["country"], "of": "price", "query": "plum"}
    )
    assert answer.text.splitlines() == [
        "wines: Wines, 3 records",
        (
            "  price in €: count 3; min 8 (Epsilon [wines/epsilon]); max 30.2 (Beta [wines/beta]);"
            " mean 16.766667; median 12.1; sum 50.3"
        ),
        "  country | count | min | max | mean | median | sum | filters",
        (
            "  France | 2 | 12.1 (Alpha [wines/alpha]) | 30.2 (Beta [wines/beta]) | 21.15 | 21.15 |"
            ' 42.3 | {"country":["France"]}'
        ),
        "  1 record has no country",
        '  records: search with {"catalogue":"wines","query":"* plum"} and filters',
    ]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("year", {(1998,): 1, (2003,): 2, (2011,): 1}),
        ("Year/Decade", {("1990s",): 1, ("2000s",): 2, ("2010s",): 1}),
        ("year/5", {("1995 to 1999",): 1, ("2000 to 2004",): 2, ("2010 to 2014",): 1}),
        ("price", {(8,): 1, (12.1,): 1, (30.2,): 2}),
        ("price/10", {("0 to under 10",): 1, ("10 to under 20",): 1, ("30 to under 40",): 2}),
        ("reviewed", {("1999",): 1, ("2001",): 2, ("2004",): 1}),
        ("reviewed/month", {("1999-12",): 1, ("2001-03",): 1, ("2001-07",): 1, ("2004-01",): 1}),
    ],
)
def test_numbers_and_dates_are_counted_in_buckets_in_their_order(
    served: WineTools, by: str, groups: dict[Any, int]
) -> None:
    found = served.counts(by=[by])
    assert found == groups
    assert list(found) == list(groups)


def test_the_ends_of_dates_are_as_precise_as_they_are_known(served: WineTools) -> None:
    overall = served.browse(of="reviewed")["overall"]
    assert (overall["min"], overall["median"], overall["max"]) == (
        "1999-12-31",
        "2001-05-02",
        "2004",
    )
    assert "sum" not in overall
    assert "mean" not in overall


@pytest.mark.parametrize(
    ("sort", "countries"),
    [
        ("count", ["France", "Spain", "Italy", "Peru"]),
        ("count asc", ["Italy", "Peru", "Spain", "France"]),
        ("value", ["France", "Italy", "Peru", "Spain"]),
        ("max", ["Italy", "Spain", "France", "Peru"]),
        ("MEAN asc", ["France", "Spain", "Italy", "Peru"]),
    ],
)
def test_groups_come_in_the_order_that_is_asked_for_and_those_without_a_number_last(
    sort: str, countries: list[str]
) -> None:
    rows = [
        ("A", "France", 1),
        ("B", "France", 2),
        ("C", "France", None),
        ("D", "Spain", 10),
        ("E", "Spain", 5),
    ]
    table = [
        (name, "", country, (), None, price, None, None, None)
        for name, country, price in (*rows, ("F", "Italy", 90), ("G", "Peru", None))
    ]
    served = serve(opened(table))
    assert [one for (one,) in served.counts(by=["country"], of="price", sort=sort)] == countries


def test_a_field_that_cannot_be_filtered_by_gives_groups_without_filters(served: WineTools) -> None:
    groups = served.browse(by=["maker"])["groups"]
    assert [(one["values"]["maker"], one["count"], "filters" in one) for one in groups] == [
        ("Roche", 2, False),
        ("Sol", 2, False),
    ]


def test_fields_are_listed_and_counted_under_filters_and_words_too(served: WineTools) -> None:
    found = served.browse(filters={"country": ["France"]}, query="plum")
    fields = {one["field"]: one for one in found["fields"]}
    assert found["records"] == 2
    assert fields["maker"]["values"] == [{"value": "Roche", "count": 2}]
    assert (fields["year"]["min"], fields["year"]["max"]) == (1998, 2003)
    assert served.browse(field="country", query="oak")["fields"][0]["values"] == [
        {"value": "France", "count": 1},
        {"value": "Spain", "count": 1},
    ]


def test_a_field_with_a_number_or_without_a_list_is_grouped_by(served: WineTools) -> None:
    grouped = served.ask("browse", by=["country"], of="price")
    for arguments in ({"field": "country"}, {"by": "country"}):
        answer = served.gate.call(LOCAL_USER, "browse", {**arguments, "of": "price"})
        assert answer.structured == grouped


def test_several_catalogues_are_counted_by_words_alone_and_grouped_one_at_a_time(
    two_served: WineTools,
) -> None:
    found = two_served.ask("browse", query="smoke")["catalogues"]
    assert {one["name"]: one["records"] for one in found} == {"wines": 2, "cellar": 0}
    assert "'by' needs a 'catalogue'; there are wines, cellar" in two_served.problem(by=["country"])
    assert two_served.counts(catalogue="cellar", by=["country"]) == {("France",): 2}


def test_the_only_catalogue_that_has_the_fields_need_not_be_named() -> None:
    other = opened(TABLE, name="cellar", declaration=WINES.replace("\nprice = ", "\ncost = "))
    served = serve(opened(), other)
    assert served.browse(by=["country"], of="price")["name"] == "wines"
    assert served.browse(of="cost")["name"] == "cellar"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"by": ["contry"]},
            "'by': 'wines' has no field 'contry' (did you mean 'country'?); right are",
        ),
        ({"by": ["title"]}, "'by': 'wines' cannot be counted by 'title'"),
        ({"by": ["year", "year/decade"]}, "'by' names 'year' twice"),
        (
            {"by": ["country/10"]},
            "'by': 'country/10': the values of 'country' are no numbers; group by 'country'",
        ),
        ({"by": ["price/0"]}, "the width of a range must be a number above 0, as in 'price/10'"),
        ({"by": ["price/nan"]}, "the width of a range must be a number above 0"),
        ({"by": ["price/1e-30"]}, "the ranges are too narrow"),
        ({"by": ["price/decade"]}, "'price' is no date"),
        ({"by": ["year/month"]}, "'year' is no date"),
        ({"by": ["reviewed/10"]}, "right are reviewed/decade, reviewed/year, reviewed/month"),
        ({"by": ["country"], "field": "country"}, "give one of them"),
        (
            {"of": "country"},
            "'of': 'country' is text, not a number; numbers: price, year, reviewed, votes",
        ),
        ({"of": "shop"}, "'of': 'shop' has no column; numbers: price"),
        ({"of": "prize"}, "'of': 'wines' has no field 'prize' (did you mean 'price'?)"),
        (
            {"by": ["country"], "sort": "mean"},
            "'sort' is 'mean'; a figure needs 'of'; right are count, value",
        ),
        (
            {"by": ["country"], "of": "price", "sort": "cheapest"},
            "right are count, value, min, max, mean, median, sum",
        ),
        (
            {"of": "price", "sort": "count"},
            "without 'by' right are 'desc', the highest first, and 'asc'",
        ),
        ({"by": ["country"], "sort": "count up"}, "and 'asc' or 'desc' after it"),
        ({"by": ["country"], "filters": {"contry": ["France"]}}, "did you mean 'country'?"),
        ({"by": ["country"], "filters": {"country": ["Atlantis"]}}, "no value 'Atlantis'"),
        ({"by": ["country"], "query": "!!! ???"}, "has no word that a record could have"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_what_would_be_right(
    served: WineTools, arguments: dict[str, Any], says: str
) -> None:
    assert says in served.problem(**arguments)


# Lists


def test_an_asterisk_that_belongs_to_a_name_is_searched_for(served: WineTools) -> None:
    assert served.ask("search", query="*alpha")["results"][0]["id"] == "wines/alpha"


# Numbers and buckets


def test_sums_of_other_fractions_and_large_numbers_lose_nothing() -> None:
    column = ScopedNumbers(np.array([1e300, 1 / 3, -1e300, 2 / 3]))
    assert column.figures(column.order)["sum"] == 1.0
    whole = ScopedNumbers(np.full(3_000, 2.0**52))
    assert whole.figures(whole.order)["sum"] == 3_000 * 2**52


def number(kind: FieldType) -> FieldSpec:
    return FieldSpec(name="n", type=kind, filter=FilterKind.RANGE)


@pytest.mark.parametrize(
    ("numbers", "kind", "labels"),
    [
        (range(0, 101), FieldType.INT, ["0 to 9", "10 to 19", "90 to 99", "100 to 109"]),
        (range(-60, 60), FieldType.INT, ["-60 to -41", "-40 to -21", "20 to 39", "40 to 59"]),
        (
            np.linspace(0, 1, 64),
            FieldType.FLOAT,
            ["0 to under 0.1", "0.1 to under 0.2", "0.9 to under 1", "1 to under 1.1"],
        ),
    ],
)
def test_a_number_with_many_values_is_cut_at_round_edges(
    numbers: Any, kind: FieldType, labels: list[str]
) -> None:
    found = bucket_numbers(np.array(numbers, dtype=np.float64), number(kind), None).labels
    assert [*found[:2], *found[-2:]] == labels


def test_a_few_numbers_that_are_far_away_do_not_make_all_ranges_wide() -> None:
    prices = np.array([*range(5, 95), -400, 1_900, 2_500], dtype=np.float64)
    for kind, ranges in (
        (FieldType.INT, ["0 to 9", "10 to 19"]),
        (FieldType.FLOAT, ["0 to under 10", "10 to under 20"]),
    ):
        found = bucket_numbers(prices, number(kind), None)
        assert [*found.labels[:3], found.labels[-1]] == ["under 0", *ranges, "100 or more"]
        assert (found.bounds[0], found.bounds[-1]) == ((-400, -400), (1_900, 2_500))
        inside = [
            [low <= price <= high for low, high in found.bounds].index(True)
            for price in prices.tolist()
        ]
        assert inside == found.indexes.tolist()


def test_dates_at_the_ends_of_the_calendar_are_counted() -> None:
    field = number(FieldType.DATE)
    days = np.array([1.0, 3_652_059.0])
    for period in ("decade", "year", "month"):
        found = bucket_numbers(days, field, parse_bucketing(period, field))
        assert [
            low <= day <= high for day, (low, high) in zip(days, found.bounds, strict=True)
        ] == [True, True]


def test_a_list_is_sorted_by_title_without_regard_to_case_and_accents() -> None:
    rows = [
        (name, "", None, (), None, None, None, None, None)
        for name in ("beta", "Ämber", "Zeta", "alpha")
    ]
    listed = serve(opened(rows)).ask("search", query="*", sort="title")["results"]
    assert [one["title"] for one in listed] == ["alpha", "Ämber", "beta", "Zeta"]
