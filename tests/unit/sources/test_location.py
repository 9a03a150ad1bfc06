"""A source's name is enough to read it again, with the options that it was read with."""

from pathlib import Path

import pytest

from stackroom.sources.location import ReadOptions, SourceLocation, shown_name, without_settings
from stackroom.sources.opener import open_source

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("part", "options"),
    [
        ("", ReadOptions()),
        ("#films", ReadOptions(table="films")),
        ("#a#b?c", ReadOptions(table="a#b?c")),
        (
            "#SELECT a FROM b WHERE c = '?skip=1'",
            ReadOptions(query="SELECT a FROM b WHERE c = '?skip=1'"),
        ),
        ("#?skip=1", ReadOptions(skip=1)),
        ("#Sheet 1?skip=2&header_rows=0", ReadOptions(table="Sheet 1", skip=2, header_rows=0)),
        ("#?records=data.my%26items", ReadOptions(records="data.my&items")),
    ],
)
@pytest.mark.parametrize("file", ["a.csv", "a#b.csv", "a?skip=1.csv", "a + b.csv"])
def test_a_name_is_taken_apart_and_put_together_again(
    tmp_path: Path, file: str, part: str, options: ReadOptions
) -> None:
    (tmp_path / file).write_text("title\nBread\n")
    name = f"{tmp_path / file}{part}"
    place = SourceLocation.parse(name)
    assert (place.location, place.options) == (str(tmp_path / file), options)
    assert place.name == name


@pytest.mark.parametrize(
    ("name", "location", "options"),
    [
        (
            "https://example.org/a.csv?b=1#c",
            "https://example.org/a.csv?b=1",
            ReadOptions(table="c"),
        ),
        ("nothing.csv#films", "nothing.csv#films", ReadOptions()),
    ],
)
def test_addresses_have_options_after_them(name: str, location: str, options: ReadOptions) -> None:
    assert SourceLocation.parse(name) == SourceLocation(location=location, options=options)


def test_a_source_is_read_again_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Report of 2024\n\nname,price,\n,net,gross\nBread,1,2\n")
    source = open_source(str(path), options=ReadOptions(skip=2, header_rows=2))
    assert source.name == f"{path.resolve()}#?skip=2&header_rows=2"
    assert [dict(row.values) for row in source.iter_rows()] == [
        {"name": "Bread", "price net": "1", "price gross": "2"}
    ]
    assert list(open_source(source.name).iter_rows()) == list(source.iter_rows())


@pytest.mark.parametrize(
    ("name", "shown", "bare"),
    [
        ("/data/films.csv", "films.csv", "/data/films.csv"),
        ("/data/films.csv#?skip=1", "films.csv", "/data/films.csv"),
        (
            "/data/films.xlsx#Sheet 1?skip=1&header_rows=2",
            "films.xlsx#Sheet 1",
            "/data/films.xlsx#Sheet 1",
        ),
        ("/data/all.sqlite#films", "all.sqlite#films", "/data/all.sqlite#films"),
        ("/data/all.sqlite#SELECT a/b FROM c", "all.sqlite", "/data/all.sqlite#SELECT a/b FROM c"),
        (
            "https://example.org/x/films.csv?token=abc#?skip=1",
            "films.csv",
            "https://example.org/x/films.csv?token=abc",
        ),
        ("/data/notes", "", "/data/notes"),
    ],
)
def test_a_name_is_shown_without_folders_options_and_secrets(
    name: str, shown: str, bare: str
) -> None:
    assert (shown_name(name), without_settings(name)) == (shown, bare)
