"""`stackroom export`: a table of papers beside the library."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.ingest.pipeline import ListRows
from stackroom.settings import Settings
from support.libraries import add_package

pytestmark = pytest.mark.row("P6")

PAPERS = [
    {"id": "a", "title": "On Computable Numbers", "year": 1936, "authors": ["Alan Turing"]},
    {"id": "b", "title": "on computable  numbers"},
    {"id": "c", "title": "Computing Machinery and Intelligence", "year": 1950},
]
ANIME = [{"title": "Mushishi", "sources": ["https://myanimelist.net/anime/457"]}]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a catalogue of papers and one of anime, both without vectors."""
    home = tmp_path_factory.mktemp("library")
    app = App(Settings(home=home))
    for name, rows in (("papers", PAPERS), ("anime", ANIME)):
        add_package(app, name, ListRows(rows))
    app.close()
    return home


@pytest.fixture
def export(
    home: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Run `stackroom export` in that library."""
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    return lambda *arguments: run(["paper-table", *(str(argument) for argument in arguments)])


def test_the_papers_of_the_store_are_written_and_counted(
    export: Callable[..., Any], tmp_path: Path
) -> None:
    done = export("papers", "--to", tmp_path / "p.sqlite")
    assert done.code == 0, done.err
    assert f"2 papers written to {tmp_path / 'p.sqlite'}" in done.out
    table = sqlite3.connect(tmp_path / "p.sqlite")
    rows = table.execute(
        "SELECT title, authors, publish_year, embedding FROM papers ORDER BY id"
    ).fetchall()
    table.close()
    assert rows == [
        ("On Computable Numbers", '[{"name":"Alan Turing","affiliations":[]}]', 1936, None),
        ("Computing Machinery and Intelligence", "[]", 1950, None),
    ]
    assert json.loads((tmp_path / "p.json").read_text()) == {"model": None, "dimension": None}


def test_for_programs_it_says_what_it_wrote(export: Callable[..., Any], tmp_path: Path) -> None:
    done = export("papers", "--to", tmp_path / "p.sqlite", "--json")
    assert done.json == {
        "file": str(tmp_path / "p.sqlite"),
        "config": str(tmp_path / "p.json"),
        "papers": 2,
    }


def test_a_catalogue_that_is_not_there_is_not_found(
    export: Callable[..., Any], tmp_path: Path
) -> None:
    assert export("pappers", "--to", tmp_path / "p.sqlite").code == 3
