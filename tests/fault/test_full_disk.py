"""A disk without room: everything that reads works at the terminal, and nothing is called
damaged.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from stackroom.errors import StorageError
from stackroom.shelf.embedded import store_file
from stackroom.shelf.embedded.store_file import PUT_BACK, StoreFile
from support import launching
from support.disks import filled, small_disk

pytestmark = pytest.mark.row("T8")

WINES = "name,country,price\nAlpha,France,12\nBeta,Italy,9\nGamma lamp,Spain,15\n"
READS = {
    "search": ("search", "wines", "lamp"),
    "get": ("get", "wines", "Gamma lamp"),
    "list": ("list",),
    "browse": ("browse", "wines", "--by", "country"),
    "explain": ("explain", "wines", "lamp"),
    "rejects": ("rejects", "wines"),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path_factory.mktemp("small")
    with small_disk(folder, 8) as is_mounted:
        if not is_mounted:
            pytest.skip("a small file system cannot be mounted here: that needs root")
        yield folder


@pytest.fixture(scope="module")
def full(small: Path) -> Iterator[Path]:
    """A library whose disk was filled after a catalogue was added."""
    table = small / "wines.csv"
    table.write_text(WINES)
    added = run(small, "add", str(table), "--yes", "--no-embed")
    assert added.returncode == 0, added.stderr
    with filled(small):
        yield small


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "STACKROOM_HOME": str(folder / "home"), "STACKROOM_OFFLINE": "1"}
    return launching.run(*arguments, environment=environment)


@pytest.mark.parametrize("arguments", READS.values(), ids=READS)
def test_every_read_works_at_the_terminal(full: Path, arguments: tuple[str, ...]) -> None:
    done = run(full, *arguments)
    assert done.returncode == 0, done.stderr


def test_doctor_names_the_disk_and_finds_the_catalogue_whole(full: Path) -> None:
    done = run(full, "doctor")
    assert "BAD disk: writing fails: No space left on device" in done.stdout
    assert "ok  wines: records: 3" in done.stdout
    assert PUT_BACK not in done.stdout + done.stderr


def test_a_write_is_refused_for_want_of_room_and_not_for_damage(full: Path) -> None:
    done = run(full, "add", str(full / "wines.csv"), "--yes", "--no-embed")
    assert done.returncode == 4
    assert "No space left" in done.stderr
    assert "damaged" not in done.stderr


def refuse(*_given: object, **_named: object) -> None:
    raise apsw.IOError("disk I/O error")


def test_without_room_a_file_is_read_as_it_is_and_writable_again_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "records.sqlite"
    make_table(path)
    store = StoreFile(path)
    with monkeypatch.context() as patch:
        patch.setattr(StoreFile, "_connect_writable", refuse)
        patch.setattr(store_file, "is_full", lambda _path: True)
        assert list(store.rows("SELECT value FROM kept")) == [(7,)]
        with (
            pytest.raises(StorageError, match="the disk is full; nothing was changed"),
            store._writing() as db,
        ):
            db.execute("INSERT INTO kept VALUES (8)")
    with store._writing() as db:
        db.execute("INSERT INTO kept VALUES (8)")
    assert list(store.rows("SELECT count(*) FROM kept")) == [(2,)]
    store.close()


def test_a_file_that_cannot_be_read_now_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "records.sqlite"
    make_table(path)
    monkeypatch.setattr(StoreFile, "_connect_writable", refuse)
    with pytest.raises(StorageError) as refused:
        StoreFile(path).connect()
    assert "disk I/O error" in refused.value.message
    assert PUT_BACK not in refused.value.message


def test_a_file_that_is_no_database_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    path.write_bytes(b"no database at all" * 400)
    with pytest.raises(StorageError, match=PUT_BACK):
        StoreFile(path).connect()


def make_table(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute("CREATE TABLE kept (value); INSERT INTO kept VALUES (7)")
    db.pragma("user_version", 2)
    db.close()
