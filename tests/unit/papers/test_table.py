"""The table of papers: as documented, whole, and readable without this project."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.errors import InputError, StorageError
from stackroom.ingest.pipeline import ListRows
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.sources.sqlite_rows import SqliteRows
from stackroom_catalogues.papers.rows import record_of
from stackroom_catalogues.papers.table_command import export_paper_table
from support.libraries import add_package

pytestmark = pytest.mark.row("P6")

SPEC = PACKAGES.get("papers").spec
ADA = {"name": "Ada", "affiliations": ["Analytical Engines", "Überall"]}


@pytest.fixture
def papers(new_shelved: Callable[..., Any]) -> Any:
    made = new_shelved(SPEC)
    made.put(
        *(
            record_of(
                {
                    "id": f"p{n}",
                    "title": f"Paper {n}",
                    "abstract": f"About {n}.",
                    "year": 2000 + n,
                    "authors": [ADA],
                }
            )
            for n in range(9)
        )
    )
    made.put(record_of({"id": "bare", "title": "Bare"}), embed=False)
    return made


def test_the_table_is_as_documented_with_every_paper_and_its_vector_as_plain_float32(
    papers: Any, tmp_path: Path
) -> None:
    reader = papers.shelf.reader()
    assert export_paper_table(reader, SPEC.name, tmp_path / "p.sqlite") == 10
    table = sqlite3.connect(tmp_path / "p.sqlite")
    rows = table.execute("SELECT * FROM papers ORDER BY id").fetchall()
    columns = [
        (name, kind, is_key)
        for _, name, kind, _, _, is_key in table.execute("PRAGMA table_info(papers)")
    ]
    checked = table.execute("PRAGMA integrity_check").fetchone()
    table.close()
    assert columns == [
        ("id", "INTEGER", 1),
        ("title", "TEXT", 0),
        ("authors", "TEXT", 0),
        ("abstract", "TEXT", 0),
        ("publish_year", "INTEGER", 0),
        ("embedding", "BLOB", 0),
    ]
    assert checked == ("ok",)
    assert [row[1] for row in rows] == [*(f"Paper {n}" for n in range(9)), "Bare"]
    assert json.loads(rows[3][2]) == [ADA]
    assert rows[3][3:5] == ("About 3.", 2003)
    stored = reader.vectors(reader.scan(scope=WHOLE, limit=9))
    read = np.array([np.frombuffer(row[5], dtype=np.float32) for row in rows[:9]])
    assert np.array_equal(read, stored)
    assert rows[9][2:] == ("[]", None, None, None)


@pytest.mark.row("P6")
def test_the_config_has_the_mean_that_queries_need_where_vectors_are_centred(
    papers: Any, tmp_path: Path
) -> None:
    reader = papers.shelf.reader()
    reader.mean = np.full(64, 0.25, np.float32)
    export_paper_table(reader, SPEC.name, tmp_path / "p.sqlite")
    assert json.loads((tmp_path / "p.json").read_text())["mean"] == [0.25] * 64


@pytest.mark.parametrize("taken", ["p.sqlite", "p.json"])
def test_a_file_that_is_there_is_written_over_only_by_force(
    papers: Any, tmp_path: Path, taken: str
) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(InputError, match=f"{taken} already exists; give --force to overwrite it"):
        export_paper_table(papers.shelf.reader(), SPEC.name, tmp_path / "p.sqlite")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(taken, "mine")]
    assert (
        export_paper_table(papers.shelf.reader(), SPEC.name, tmp_path / "p.sqlite", replace=True)
        == 10
    )
    assert {path.name for path in tmp_path.iterdir()} == {"p.sqlite", "p.json"}


def test_a_failure_leaves_what_was_there_and_nothing_else(papers: Any, tmp_path: Path) -> None:
    export_paper_table(papers.shelf.reader(), SPEC.name, tmp_path / "p.sqlite")
    before = (tmp_path / "p.sqlite").read_bytes()

    def fail(*_keys: object) -> None:
        raise OSError("disk full")

    reader = papers.shelf.reader()
    reader.vectors = fail
    with pytest.raises(StorageError, match="could not be written: disk full"):
        export_paper_table(reader, SPEC.name, tmp_path / "p.sqlite", replace=True)
    assert (tmp_path / "p.sqlite").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"p.sqlite", "p.json"}


def test_other_catalogues_and_impossible_names_are_refused(papers: Any, tmp_path: Path) -> None:
    (tmp_path / "f.sqlite").mkdir()
    for name, file, said in (
        ("anime", "p.sqlite", "a catalogue of 'anime' cannot be exported to a table of papers"),
        (SPEC.name, "p.json", r"reserved for the config; a name such as .*p\.sqlite is right"),
        (SPEC.name, "nowhere/p.sqlite", "there is no such folder"),
        (SPEC.name, "f.sqlite", "is a folder; give a file"),
    ):
        with pytest.raises(InputError, match=said):
            export_paper_table(papers.shelf.reader(), name, tmp_path / file)


@pytest.mark.row("A10")
def test_an_exported_table_is_read_back_with_its_authors(papers: Any, tmp_path: Path) -> None:
    export_paper_table(papers.shelf.reader(), SPEC.name, tmp_path / "p.sqlite")
    first, *_ = SqliteRows(tmp_path / "p.sqlite").iter_rows()
    assert record_of(first.values).get("authors") == [ADA]


def test_the_command_writes_the_papers_of_the_library_and_says_what_it_wrote(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "home"))
    app, target = App(Settings(home=tmp_path / "home")), tmp_path / "p.sqlite"
    add_package(app, "papers", ListRows([{"id": "a", "title": "On Computable Numbers"}]))
    app.close()
    told = run(["paper-table", "papers", "--to", str(target)])
    assert (told.code, f"1 papers written to {target}; the model" in told.out) == (0, True)
    done = run(["paper-table", "papers", "--to", str(target), "--json", "--force"])
    config = tmp_path / "p.json"
    assert done.json == {"file": str(target), "config": str(config), "papers": 1}
    assert json.loads(config.read_text()) == {"model": None, "dimension": None}
    assert run(["paper-table", "pappers", "--to", str(target)]).code == 3
