"""`stackroom add` on files as people have them: what was decided is said, and remembered when they
are added again.
"""

from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.settings import Settings
from stackroom_catalogues import judoka
from support.made_tables import write_shop_files
from support.spreadsheets import write_xlsx
from support.terminals import Run

pytestmark = pytest.mark.row("N1")

WINES = [
    ["name", "country", "price", "notes"],
    ["Barolo", "Italy", 30, "tar and roses"],
    ["Rioja", "Spain", 12.5, "vanilla and leather"],
    ["Cava", "Spain", 9, "apples and bread"],
]


def written(path: Path, rows: list[list[Any]]) -> Path:
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def sources(tmp_path: Path, name: str) -> tuple[str, ...]:
    return tuple(App(Settings(home=tmp_path / "home")).library.get_installed(name).sources)


def test_a_spreadsheet_is_built_and_searched_and_the_other_sheets_are_named(
    tmp_path: Path, run: Run, find_records: Run
) -> None:
    rows = [["Our wines, 2024"], [], *WINES, [], ["Prices without tax"]]
    path = write_xlsx(
        tmp_path / "wines.xlsx",
        {"Stock": rows, "Read me": [["about"]]},
        merged={"Stock": ["A1:D1"]},
    )
    ran = run(f"add {path} --yes --no-embed")
    assert ran.code == 0, ran.err
    for said in (
        "row 1, above the header, left out: 'Our wines, 2024'; --skip 0 reads all rows",
        "row 8, below the table, left out: 'Prices without tax'",
        "other tables: Read me; choose with --sheet",
        "3 rows: 3 written",
    ):
        assert said in ran.out
    (wine,) = find_records("wines", "vanilla")
    assert (wine["name"], wine["price"]) == ("Rioja", 12.5)
    assert sources(tmp_path, "wines") == (f"{path.resolve()}#Stock",)


def test_a_folder_for_a_package_is_not_taken_for_tables_that_belong_together(run: Run) -> None:
    ran = run(f"add {Path(judoka.__file__).parent / 'sample'} --as judoka --no-embed")
    assert ran.code == 0, ran.err


def test_options_are_remembered_when_a_file_is_added_again(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "wines.csv", [["a", "b", "c", "d"], [1, 2, 3, 4], *WINES])
    run(f"add {path} --skip 2 --yes --no-embed")
    written(path, [["a", "b", "c", "d"], [1, 2, 3, 4], *WINES, ["Port", "Portugal", 20, "plums"]])
    ran = run(f"add {path} --no-embed")
    assert ran.code == 0, ran.err
    assert "4 rows: 1 written, 3 unchanged" in ran.out
    assert sources(tmp_path, "wines") == (f"{path.resolve()}#?skip=2",)


def test_a_table_read_with_other_options_takes_the_place_of_the_former_reading(
    tmp_path: Path, run: Run, find_records: Run
) -> None:
    path = written(tmp_path / "wines.csv", [WINES[0], ["of", "all", 0, "lands"], *WINES[1:]])
    run(f"add {path} --yes --no-embed")
    written(path, [["name", "country", "price", "notes"], *WINES])
    ran = run(f"add {path} --skip 1 --no-embed")
    assert ran.code == 0, ran.err
    assert (
        "the table is read with other options; removed records of the former reading: 1" in ran.out
    )
    assert {wine["name"] for wine in find_records("wines", "and")} == {"Barolo", "Rioja", "Cava"}
    assert sources(tmp_path, "wines") == (f"{path.resolve()}#?skip=1",)


@pytest.mark.parametrize("given", ["files", "folder", "join"])
def test_files_that_belong_together_are_one_catalogue_whose_numbers_are_those_of_now(
    tmp_path: Path, run: Run, given: str
) -> None:
    (tmp_path / "shop").mkdir()
    files = list(map(str, write_shop_files(tmp_path / "shop")))
    orders = str(tmp_path / "shop" / "Orders.csv")
    joined = [part for file in files if file != orders for part in ("--join", file)]
    locations = {"files": files, "folder": [str(tmp_path / "shop")], "join": [orders, *joined]}[
        given
    ]
    ran = run(["add", *locations, "--yes", "--no-embed", "--name", "shop"])
    assert ran.code == 0, ran.err
    assert "the sum of UnitPrice × Quantity × (1 − Discount) in Order Details" in ran.out
    details = tmp_path / "shop" / "Order Details.csv"
    details.write_text(
        details.read_text(encoding="utf-8").replace("501,2,5.0,4,0", "501,1,10,5,0.1"),
        encoding="utf-8",
    )
    assert "24 rows: 1 written, 23 unchanged" in run(f"add {orders} --name shop --no-embed").out
    groups = run("browse shop --by ship_country --of revenue --json").json["groups"]
    assert {group["values"]["ship_country"]: group["sum"] for group in groups}["France"] == 648.56


def test_several_locations_that_do_not_belong_together_are_refused_with_what_to_do(
    tmp_path: Path, run: Run
) -> None:
    path, other = (str(written(tmp_path / name, WINES)) for name in ("wines.csv", "other.csv"))
    for locations, says in (
        (
            [path, str(tmp_path)],
            "one location is added at a time, or several files with tables that belong together",
        ),
        ([str(tmp_path / "wi*.csv")], "wi*.csv: no file of a table"),
        ([path, other], "files with the same columns can be joined to one file first"),
    ):
        ran = run(["add", *locations, "--yes", "--no-embed"])
        assert (ran.code, ran.err.count("\n"), says in ran.err) == (2, 1, True)


WRONG_INPUTS = {
    "empty.csv": (b"", "the file is empty; expected column names and rows"),
    "nul.csv": (bytes(3_000), "NUL byte: this is not a text file; save it as UTF-8 text"),
    "header.csv": (
        b"name,price\n",
        "a header and no rows; for a file without a header: --header-rows 0",
    ),
    "wines.csv.zip": (b"PK", "archives are not read; unpack it"),
    "broken.json": (
        b'{"a": [1, 2',
        "not valid JSON at line 1, column 12: unexpected end of data; mend it there",
    ),
    "folder": (None, "no supported file in it; supported: .md"),
    "wins.csv": (None, "no such file (did you mean 'wines.csv'?); check the path"),
}


@pytest.mark.parametrize("name", WRONG_INPUTS)
def test_a_wrong_input_is_refused_in_a_line_that_says_what_would_be_right(
    name: str, tmp_path: Path, run: Run
) -> None:
    content, says = WRONG_INPUTS[name]
    written(tmp_path / "wines.csv", WINES)
    (tmp_path / "folder").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ran = run(f"add {tmp_path / name} --yes --no-embed")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert says in ran.err


def test_a_renamed_column_is_recognised_by_its_values(tmp_path: Path, run: Run) -> None:
    rows = [
        [f"Wine {number}", ("Italy", "Spain")[number % 2], f"plum {number % 3}"]
        for number in range(12)
    ]
    path = written(tmp_path / "wines.csv", [["name", "origin", "taste"], *rows])
    run(f"add {path} --yes --no-embed")
    written(path, [["name", "country", "taste"], *rows])
    ran = run(f"add {path} --yes --no-embed")
    assert "'country' looks like the column of 'origin' renamed" in ran.out
    assert "12 rows: 0 written, 12 unchanged" in ran.out
    assert "note:" not in ran.out
