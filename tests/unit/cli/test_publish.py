"""`pinakes publish`: what it says, and to whom."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lancedb", reason="LanceDB is not installed: pip install 'pinakes[lance]'")

Run = Callable[..., Any]


@pytest.fixture
def library(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with a small catalogue, and a folder for a database beside it."""
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path / "home"))
    (tmp_path / "books.jsonl").write_text('{"id": "1", "title": "Ulysses"}\n{"id": "2", "title": "Emma"}\n')
    assert run(["add", str(tmp_path / "books.jsonl"), "--yes", "--no-embed"]).code == 0
    return tmp_path


def test_a_catalogue_is_published_synced_and_left_alone_when_up_to_date(library: Path, run: Run) -> None:
    database = str(library / "lancedb")
    assert run(["publish", "books", database]).out == f"2 records written to {database}, table books_documents\n"
    again = run(["publish", "books", database, "--json"]).json
    assert (again["table"], again["rows"], again["written"]) == ("books_documents", 2, False)
    assert f"{database}: table books_documents is up to date (2 records)" in run(["publish", "books", database]).out
    synced = run(["add", f"lancedb:{database}#books", "--name", "copy", "--yes", "--no-embed", "--json"]).json
    assert (synced["written"], synced["rejected"]) == (2, 0)
    assert run(["get", "copy", "2", "--json"]).json["title"] == "Emma"


def test_a_music_catalogue_is_synced_from_a_table(library: Path, run: Run) -> None:
    (library / "music.jsonl").write_text('{"id": "artist-1", "kind": "artist", "name": "Clara Schumann"}\n')
    assert run(["add", str(library / "music.jsonl"), "--as", "music", "--no-embed"]).code == 0
    assert run(["publish", "music", str(library / "lancedb")]).code == 0
    sync = ["add", f"lancedb:{library / 'lancedb'}#music", "--as", "music", "--name", "copy", "--no-embed"]
    for told in (run(sync), run(sync)):
        assert told.code == 0, told.err
    assert run(["get", "copy", "artist-1", "--json"]).json["name"] == "Clara Schumann"


def test_a_catalogue_that_does_not_exist_is_refused_before_a_database_is_made(library: Path, run: Run) -> None:
    refused = run(["publish", "boks", str(library / "lancedb")])
    assert refused.code != 0
    assert "did you mean 'books'?" in refused.err
    assert not (library / "lancedb").exists()


def test_an_empty_database_is_refused(library: Path, run: Run) -> None:
    assert "the LanceDB database is missing" in run(["publish", "books", " "]).err
