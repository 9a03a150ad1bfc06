"""Rows from spreadsheets as people make them: titles, merged cells, formulas, several sheets, notes
below.
"""

from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.sources.location import ReadOptions
from stackroom.sources.opener import open_file, open_source
from stackroom.sources.sheet_rows import SheetRows
from support.reading import told, written
from support.spreadsheets import with_cached_values, write_ods, write_xls, write_xlsx

pytestmark = pytest.mark.row("N1")

WINES = [["name", "price", "since"], ["Barolo", 30, 1980], ["Rioja", 12.5, 1990], ["Cava", 9, 1975]]


def values(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [dict(row.values) for row in SheetRows(path, ReadOptions(**options)).iter_rows()]


def write(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    return write_ods(path, sheets) if path.suffix == ".ods" else write_xlsx(path, sheets)


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods"])
def test_dates_times_and_truth_values_are_themselves(tmp_path: Path, name: str) -> None:
    moment = datetime(2024, 5, 1, 18, 30)
    row = ["Fair", moment.date(), moment, time(9, 5), True, 1.0, "#N/A", "007"]
    names = ["what", "day", "start", "at", "open", "count", "bad", "code"]
    source = SheetRows(write(tmp_path / name, {"a": [names, row]}))
    assert told(source).splitlines()[0] == (
        "row 2: what='Fair', day=datetime.date(2024, 5, 1), start=datetime.datetime(2024, 5, 1, 18,"
        " 30), at='09:05', open=True, count=1, bad=None, code='007'"
    )


def test_formulas_have_the_values_that_they_were_saved_with_and_errors_none(tmp_path: Path) -> None:
    rows = [
        ["name", "price", "double", "bad"],
        ["Barolo", 30, "=B2*2", "=1/0"],
        ["Rioja", 12, "=B3*2", "=NA()"],
    ]
    path = write_xlsx(tmp_path / "a.xlsx", {"a": rows})
    with_cached_values(path, {"C2": "60", "C3": "24"})
    assert [(row["double"], row["bad"]) for row in values(path)] == [(60, None), (24, None)]


@pytest.mark.parametrize(
    ("rows", "merged", "options", "shown"),
    [
        pytest.param(
            [["region", "from", "to"], ["Piedmont", 1, 9], [None, 5, 6], ["Rioja", "x", None]],
            ["A2:A3", "B4:C4"],
            {},
            "row 2: region='Piedmont', from=1, to=9\nrow 3: region='Piedmont', from=5, to=6\n"
            "row 4: region='Rioja', from='x', to=None",
            id="over rows in each of them, and over columns in the first",
        ),
        pytest.param(
            [["Product", "Price", None], [None, "net", "gross"], ["Cake", 20, 24]],
            ["A1:A2", "B1:C1"],
            {"header_rows": 2},
            "row 3: Product='Cake', Price net=20, Price gross=24",
            id="over two rows of the header where that is said",
        ),
    ],
)
def test_a_value_merged_over_cells_is_read(
    tmp_path: Path, rows: Any, merged: list[str], options: dict[str, int], shown: str
) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", {"a": rows}, merged={"a": merged})
    assert told(SheetRows(path, ReadOptions(**options))) == shown


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods"])
def test_titles_empty_rows_and_columns_and_footnotes_are_left_out_and_it_is_said(
    tmp_path: Path, name: str
) -> None:
    wide = [[None, *row] for row in WINES]
    rows = [
        [None] * 4,
        [None, "Our wines"],
        [None] * 4,
        *wide,
        [None] * 4,
        [None, "without sparkling ones"],
    ]
    path = write(tmp_path / name, {"a": rows})
    source = SheetRows(path)
    assert [row.place for row in source.iter_rows()] == ["row 5", "row 6", "row 7"]
    assert list(values(path)[0]) == ["name", "price", "since"]
    assert source.notes == (
        "row 2, above the header, left out: 'Our wines'; --skip 0 reads all rows",
        "row 9, below the table, left out: 'without sparkling ones'",
    )
    assert values(path, skip=3) == values(path)


def test_the_sheet_with_the_most_cells_is_the_main_one_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    sheets = {
        "Read me": [["This file"], ["has wines"]],
        "Wines": WINES,
        "Empty": [],
        "Old": WINES * 9,
    }
    path = write_xlsx(tmp_path / "a.xlsx", sheets, hidden=["Old"])
    source = SheetRows(path)
    assert (source.name, source.other_tables) == (f"{path.resolve()}#Wines", ("Read me", "Old"))
    assert len(values(path, table="old")) == 35
    assert open_source(source.name).name == source.name
    for options in (ReadOptions(table="WINES"), ReadOptions(table="Wines")):
        assert open_source(str(path), options=options).name == source.name


@pytest.mark.parametrize(
    ("sheets", "options", "says"),
    [
        ({"a": []}, {}, "the spreadsheet is empty"),
        ({"a": WINES}, {"table": "b"}, "no sheet 'b'.*; sheets: a"),
        ({"a": WINES, "b": []}, {"table": "b"}, "the sheet 'b' is empty"),
        ({"a": WINES[:1]}, {}, "the sheet 'a' has a header and no rows"),
        ({"a": WINES}, {"skip": 9}, "the sheet 'a' has no row below row 9"),
    ],
)
def test_a_sheet_without_rows_is_refused(
    tmp_path: Path, sheets: Any, options: Any, says: str
) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", sheets)
    with pytest.raises(InputError, match=rf"a\.xlsx: {says}"):
        values(path, **options)


@pytest.mark.parametrize("content", [b"name,price\n", b"", b"\xd0\xcf\x11\xe0" + bytes(600)])
def test_what_is_no_spreadsheet_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"a\.xlsx: cannot be read as a spreadsheet"):
        SheetRows(written(tmp_path, "a.xlsx", content))


def test_a_damaged_spreadsheet_is_never_an_unforeseen_error(tmp_path: Path) -> None:
    whole = write_xlsx(tmp_path / "a.xlsx", {"a": WINES}).read_bytes()
    path = tmp_path / "b.xlsx"
    for cut in range(0, len(whole), 97):
        for content in (whole[:cut], whole[:cut] + b"\xff" * 9 + whole[cut + 9 :]):
            path.write_bytes(content)
            try:
                list(SheetRows(path).iter_rows())
            except InputError:
                continue


def test_cells_that_are_repeated_as_programs_write_them_are_read(tmp_path: Path) -> None:
    padding = b"<table:table-cell table:style-name='a' table:number-columns-repeated='16381'/>"
    below = b"</table:table-row><table:table-row table:number-rows-repeated='1048570'>" + padding
    same = (
        b"<table:table-cell table:number-columns-repeated='2' office:value-type='float'"
        b" office:value='7'/>"
    )
    rows = [
        [*WINES[0], padding],
        *([*row, padding] for row in WINES[1:]),
        ["Sekt", same, padding, below],
    ]
    path = write_ods(tmp_path / "a.ods", {"a": rows, "b": rows})
    assert values(path)[-1] == {"name": "Sekt", "price": 7, "since": 7}
    assert len(values(path)) == 4


def test_a_workbook_of_before_2007_is_read_and_an_encrypted_one_of_today_is_told_from_it(
    tmp_path: Path,
) -> None:
    rows = [["Wines of the house"], ["name", "price"], ["Zürcher Räuschling", 12.5], ["Fendant", 9]]
    path = write_xls(tmp_path / "wines.xls", {"Wines": rows, "Empty": []})
    assert told(open_file(path)) == (
        "row 3: name='Zürcher Räuschling', price=12.5\nrow 4: name='Fendant', price=9\n"
        "NOTE row 1, above the header, left out: 'Wines of the house'; --skip 0 reads all rows"
    )
    with pytest.raises(InputError, match="it is encrypted; save it without a password"):
        open_file(write_xls(tmp_path / "locked.xlsx", {"Wines": rows}, stream="EncryptedPackage"))
