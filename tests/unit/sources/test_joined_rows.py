"""Several files as one table: a list, a pattern or a folder of them."""

from pathlib import Path

import pytest

from stackroom.errors import InputError
from stackroom.sources.joined_rows import has_telling_names
from stackroom.sources.location import ReadOptions, join_locations, stem_of
from stackroom.sources.opener import holds_tables, open_source
from stackroom.sources.port import notes_of
from support.spreadsheets import write_xlsx

pytestmark = pytest.mark.row("N1")


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    folder = tmp_path / "sales"
    folder.mkdir()
    (folder / "sales-2023.csv").write_text("product,sold\nBread,3\nCake,1\n")
    (folder / "sales-2024.csv").write_text("product,sold,returned\nBread,4,1\n")
    return folder


def test_a_folder_a_pattern_and_a_list_of_files_are_one_table(sales: Path) -> None:
    files = tuple(str(sales / name) for name in ("sales-2023.csv", "sales-2024.csv"))
    for location in (str(sales), str(sales / "*.csv"), join_locations(files)):
        source = open_source(location)
        assert [(row.place, dict(row.values)) for row in source.iter_rows()] == [
            ("sales-2023.csv, line 2", {"product": "Bread", "sold": "3", "file": "sales-2023"}),
            ("sales-2023.csv, line 3", {"product": "Cake", "sold": "1", "file": "sales-2023"}),
            ("sales-2024.csv, line 2", {"product": "Bread", "sold": "4", "returned": "1", "file": "sales-2024"}),
        ]
        assert (source.name, source.is_whole, source.count_rows()) == (location, True, 3)
        assert [row.place for row in source.iter_rows(start=2)] == ["sales-2024.csv, line 2"]
        assert notes_of(source) == (
            "2 files are read as one table: sales-2023.csv, sales-2024.csv",
            "the column 'returned' is in 1 of 2 files only: sales-2024.csv",
        )


def test_the_name_of_several_files_is_the_same_from_anywhere(sales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sales)
    assert open_source("*.csv").name == str(sales / "*.csv")
    both = open_source("sales-2023.csv + sales-2024.csv", options=ReadOptions(header_rows=1))
    assert both.name == f"{sales}/sales-2023.csv + {sales}/sales-2024.csv#?header_rows=1"
    assert list(open_source(both.name).iter_rows()) == list(both.iter_rows())


def test_a_new_file_of_a_pattern_is_read_with_the_others(sales: Path) -> None:
    name = open_source(str(sales / "sales-*.csv")).name
    (sales / "sales-2025.csv").write_text("product,sold\nTart,7\n")
    assert open_source(name).count_rows() == 4


def test_files_of_several_formats_are_one_table_too(sales: Path) -> None:
    write_xlsx(sales / "sales-2022.xlsx", {"a": [["product", "sold"], ["Rolls", 2]]})
    (sales / "README.md").write_text("# Sales")
    assert [row.values["product"] for row in open_source(str(sales)).iter_rows()] == ["Rolls", "Bread", "Cake", "Bread"]


def test_files_with_other_columns_are_refused_by_name(sales: Path) -> None:
    (sales / "towns.csv").write_text("town,people\nUlm,100\n")
    with pytest.raises(
        InputError, match=r"'towns\.csv' and 'sales-2023\.csv' have different columns \(town, people and"
    ):
        list(open_source(str(sales)).iter_rows())


def test_a_pattern_that_matches_nothing_is_refused(sales: Path) -> None:
    with pytest.raises(InputError, match=r"no file of a supported type matches"):
        open_source(str(sales / "*.parquet"))
    with pytest.raises(InputError, match=r"nothing\.csv: no such file"):
        open_source(f"{sales / 'sales-2023.csv'} + {sales / 'nothing.csv'}")


@pytest.mark.parametrize(
    ("files", "is_of_tables"),
    [
        (["a.csv", "b.csv"], True),
        (["a.csv", "README.md"], True),
        (["a.md", "b.md", "c.csv"], False),
        (["a.md", "a.csv"], False),
        (["a.png"], False),
        ([], False),
    ],
)
def test_a_folder_is_of_tables_or_of_documents_by_what_it_holds(
    tmp_path: Path, files: list[str], is_of_tables: bool
) -> None:
    for file in files:
        (tmp_path / file).write_text("a,b\n1,2\n")
    assert holds_tables(tmp_path) is is_of_tables


@pytest.mark.parametrize(
    ("stems", "is_telling"),
    [
        (["part-00001", "part-00002"], False),
        (["train-1-of-3", "train-2-of-3"], False),
        (["2023", "2024"], True),
        (["sales_2023", "sales_2024"], True),
        (["north", "south"], True),
        (["a", "a"], False),
    ],
)
def test_names_of_files_are_a_column_where_they_tell_something(stems: list[str], is_telling: bool) -> None:
    assert has_telling_names(stems) is is_telling


@pytest.mark.parametrize(
    ("location", "stem"),
    [
        ("data/films.csv.gz", "films"),
        ("data/sales-2023.csv + data/sales-2024.csv", "sales"),
        ("data/a.csv + data/b.csv", "data"),
        ("data/sales-*.csv", "sales"),
        ("data/*.csv", "data"),
        ("data/", "data"),
        ("https://example.org/x/films.csv?raw=1", "films"),
    ],
)
def test_a_location_is_called_by_its_file_or_by_what_its_files_share(location: str, stem: str) -> None:
    assert stem_of(location) == stem


def test_the_folder_one_is_in_is_called_by_its_name(sales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sales)
    assert (stem_of("."), stem_of("..")) == ("sales", sales.parent.name)
