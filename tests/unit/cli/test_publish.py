"""`stackroom publish`: what it says, and to whom."""

from pathlib import Path

import pytest

from support.late import require_lance
from support.terminals import Run

require_lance()


@pytest.fixture
def library(tmp_path: Path, run: Run) -> Path:
    """A library with a small catalogue, and a folder for a database beside it."""
    (tmp_path / "books.jsonl").write_text(
        '{"id": "1", "title": "Ulysses"}\n{"id": "2", "title": "Emma"}\n'
    )
    assert run(f"add {tmp_path / 'books.jsonl'} --yes --no-embed").code == 0
    return tmp_path


# Collections


@pytest.mark.row("T7")
def test_a_library_publishes_to_the_default_folder_and_another_one_syncs_from_it(
    library: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library)
    assert run("publish books").out == "2 records written to ./vector_dbs, table books_documents\n"
    monkeypatch.setenv("STACKROOM_HOME", str(library / "other"))
    synced = run("sync")
    assert synced.code == 0, synced.err
    assert "books" in synced.out
    assert run("get books 2 --json").json["title"] == "Emma"
    (listed,) = run("sync --json").json["collections"]
    assert (listed["name"], listed["outcome"], listed["version"], listed["rows"]) == (
        "books",
        "synced",
        1,
        2,
    )


@pytest.mark.row("T4")
def test_a_missing_collection_is_named_by_sync_and_by_doctor(
    library: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("base_db_path", str(library / "lancedb"))
    monkeypatch.setenv("STACKROOM_COLLECTIONS", "books,poems")
    assert run("publish books").code == 0
    monkeypatch.setenv("STACKROOM_HOME", str(library / "other"))
    synced = run("sync")
    assert synced.code == 1
    assert "has no table poems_documents" in synced.out
    found = {
        one["what"]: one
        for one in run("doctor --json").json
        if one["what"].startswith("collection")
    }
    assert "1 synced" in found["collections"]["found"]
    assert not found["collection poems"]["ok"]
    assert "skipped: " in found["collection poems"]["found"]


@pytest.mark.row("T7")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            "sync",
            "there is no folder ./vector_dbs here; name one, as in stackroom sync s3://bucket/lancedb",
        ),
        ("sync https://minio.example/bucket", "AWS_ENDPOINT_URL"),
        (
            "sync ./nowhere",
            "nowhere: no such folder; to write a collection to it, run: stackroom publish NAME",
        ),
    ],
)
def test_a_place_that_cannot_work_is_refused_with_the_command_that_does(
    library: Path, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: str, problem: str
) -> None:
    monkeypatch.chdir(library)
    refused = run(arguments)
    assert refused.code != 0
    assert problem in refused.err
