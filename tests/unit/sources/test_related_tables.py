"""Sheets and files that belong together: which columns are keys, what is joined, and that the rows
stay as they are.
"""

import csv
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.sources.opener import open_file, open_related, open_source
from stackroom.sources.relations import Table, find_referred
from support.made_tables import write_shop_files
from support.spreadsheets import write_ods, write_xlsx

pytestmark = pytest.mark.row("N1")

BREWERIES = [
    ["brew_id", "name", "city"],
    [7, "Halle", "Graz"],
    [8, "Stern", "Linz"],
    [9, "Alt", "Wels"],
]
BEERS = [
    ["name", "brewery_id", "notes"],
    ["Pils", 7, "dry and long"],
    ["Bock", 8, "sweet"],
    ["Lost", None, "none"],
]
SIZES = [["name", "price"], ["small", 2], ["large", 3]]


def written(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.mark.parametrize("suffix", ["xlsx", "ods"])
def test_sheets_that_a_key_relates_are_joined_and_others_are_not(
    tmp_path: Path, suffix: str
) -> None:
    write = write_ods if suffix == "ods" else write_xlsx
    path = write(tmp_path / f"a.{suffix}", {"breweries": BREWERIES, "beers": BEERS, "sizes": SIZES})
    source = open_source(str(path))
    assert source.name.endswith("#beers")
    rows = [(row.place, row.values["breweries"], row.values["city"]) for row in source.iter_rows()]
    assert rows == [("row 2", "Halle", "Graz"), ("row 3", "Stern", "Linz"), ("row 4", None, None)]
    assert (
        source.origins["breweries"]
        == "name of breweries, by brewery_id (100 % of its values are there)"
    )
    assert set(source.other_tables) == {"breweries", "sizes"}
    chosen = open_source(f"{path}#breweries")
    assert [row.values["beers_count"] for row in chosen.iter_rows()] == [1, 1, 0]
    assert open_source(f"{path}#sizes").origins == {}


@pytest.mark.parametrize(
    ("column", "table", "other", "keys", "referred"),
    [
        ("customer_id", "orders", "customers", ["id"], "id"),
        ("CustomerID", "Orders", "clients", ["CustomerID"], "CustomerID"),
        ("customerid", "orders", "customers", ["customerid"], "customerid"),
        ("customer", "orders", "customers", ["id"], "id"),
        ("home_team_id", "games", "teams", ["team_id", "stadium_id"], "team_id"),
        ("country_code", "cities", "lands", ["name", "country_code"], "country_code"),
        ("brewery_id", "beers", "breweries", ["count", "brew_id"], "brew_id"),
        ("id", "orders", "customers", ["id"], None),
        ("order_id", "orders", "returns", ["order_id"], None),
        ("name", "orders", "customers", ["name"], None),
        ("city", "orders", "customers", ["city"], None),
        ("%", "orders", "customers", ["id", "#"], None),
    ],
)
def test_a_column_refers_to_a_key_of_its_name_or_to_that_of_the_table_it_names(
    column: str, table: str, other: str, keys: list[str], referred: str | None
) -> None:
    target = Table(name=other, columns=tuple(keys), uniques=tuple(keys))
    assert find_referred(column, Table(name=table, columns=(column,)), target) == referred


def test_files_that_belong_together_are_opened_again_by_their_name(tmp_path: Path) -> None:
    first, *others = write_shop_files(tmp_path)
    source = open_related(open_file(first), others, is_chosen=False)
    assert source.location == str(tmp_path / "Orders.csv")
    again = open_source(source.name)
    assert (again.name, list(again.iter_rows())) == (source.name, list(source.iter_rows()))
    (row,) = (row for row in again.iter_rows() if row.values["OrderID"] == "502")
    assert (row.place, row.values["EmployeeID"], row.values["employees"]) == (
        "line 3",
        "2",
        "Jonas Quist",
    )
    assert (row.values["revenue"], row.values["order_details_count"]) == (344.261, 4)
    assert (
        again.origins["revenue"]
        == "the sum of UnitPrice × Quantity × (1 − Discount) in Order Details"
    )


@pytest.mark.parametrize(
    ("cells", "quantity", "revenue"),
    [
        ([["a", "1,000", "€ 2,50", "9"], ["a", "n/a", "1,00 €", "free"]], 1000, 2500),
        ([["a", "1.500", "2,50", ""], ["a", "2.644", "1", "free"]], 4144, 6394),
    ],
)
def test_numbers_are_added_up_as_they_are_written_and_a_column_with_a_word_is_not(
    tmp_path: Path, cells: list[list[str]], quantity: int, revenue: int
) -> None:
    bills = written(
        tmp_path / "bills.csv",
        [["id", "note"], ["a", "the first bill of all"], ["b", "another one"]],
    )
    lines = written(tmp_path / "lines.csv", [["bill_id", "quantity", "price", "amount"], *cells])
    first, second = open_related(open_file(bills), [lines], is_chosen=True).iter_rows()
    assert first.values == {
        **{"id": "a", "note": "the first bill of all", "lines_count": 2},
        **{"quantity": quantity, "revenue": revenue},
    }
    assert (second.values["lines_count"], second.values["revenue"]) == (0, None)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    beers, breweries = (
        written(tmp_path / "beers.csv", BEERS),
        written(tmp_path / "breweries.csv", BREWERIES),
    )
    source = open_related(open_file(beers), [breweries], is_chosen=True)
    written(beers, [BEERS[0], ["New", 9, "first"], *BEERS[1:]])
    with pytest.raises(InputError, match="the file was changed while it was read"):
        list(source.iter_rows())
