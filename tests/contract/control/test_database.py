"""The control database on SQLite and PostgreSQL: made once, brought up to date, and honest about
failures.
"""

import logging
import os
import sqlite3
import stat
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, text

from stackroom.control.control import Control
from stackroom.control.database import engine as database_module
from stackroom.control.database.engine import SCHEMA_VERSION, ControlDatabase
from stackroom.errors import InputError, StorageError
from stackroom.settings import Settings
from stackroom_catalogues.music import tables as music_tables
from support.control import Place

OPENS = """
import sys
from stackroom.control.database.engine import ControlDatabase
print("ready", flush=True)
sys.stdin.readline()
database = ControlDatabase.open(sys.argv[1])
print(database.version())
database.close()
"""
PASSWORD = "hunter2-secret"
FORMER_PASSWORD = "correct horse battery 77"
FORMER_TOKEN = "pnk_t_Xc1N_eFzByr2c_VazG7BJo61bpwhpvFfLN8aCZKNlH4"
"""Both of the user in `version_7.sql`, which is a control database as the last commit with that
version made it.
"""
FORMER_ROWS = {
    "name FROM roles ORDER BY name": [("admin",), ("agent",), ("curator",), ("editor",), ("user",)],
    "catalogue, user_id FROM restriction_users": [("films", 1)],
    "name, enabled FROM job_settings": [("backup", 0)],
    "job, state FROM job_runs": [("prune_logs", "done")],
    "user_id, record_id FROM likes": [(1, "track-1")],
    "name FROM playlists": [("Morning",)],
    "track_id FROM playlist_tracks": [("track-1",)],
}


@pytest.fixture
def place(request: pytest.FixtureRequest, place: Place) -> Iterator[Place]:
    """An empty place on every kind of database."""
    url = place.url if place.is_sqlite else request.getfixturevalue("postgresql").new_url()
    with closing(Place(url=url)) as empty:
        yield empty


def test_processes_that_start_at_once_make_one_database(place: Any) -> None:
    assert place.run_together(OPENS, 3) == ["1", "1", "1"]
    with place.open().read() as connection:
        assert connection.execute(text("SELECT count(*) FROM roles")).scalar_one() == 4
        assert connection.execute(text("SELECT count(*) FROM audit_head")).scalar_one() == 1


def test_a_creation_that_fails_leaves_nothing_behind(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half_done (id INTEGER)"))
        raise ArithmeticError

    monkeypatch.setattr(database_module, "create_tables", fails)
    with pytest.raises(ArithmeticError):
        place.open()
    monkeypatch.undo()
    with place.open().read() as connection:
        assert "half_done" not in inspect(connection).get_table_names()


@pytest.mark.parametrize(
    ("version", "problem"),
    [(SCHEMA_VERSION + 1, "is newer than this Stackroom"), (8, "was never released")],
)
def test_a_database_of_another_version_is_refused(
    database: ControlDatabase,
    place: Any,
    execute: Callable[..., list[Any]],
    version: int,
    problem: str,
) -> None:
    execute("UPDATE schema_version SET version = :other", other=version)
    with pytest.raises(
        StorageError, match=f"version {version}, which {problem}; .* version {SCHEMA_VERSION}: use"
    ):
        place.open()


def test_a_database_of_version_7_opens_with_everything_in_it(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "control.sqlite")) as former:
        former.executescript(Path(__file__).with_name("version_7.sql").read_text(encoding="utf-8"))
    with closing(Control.open(Settings(home=tmp_path))) as control:
        control.database.create_missing(music_tables.METADATA)
        report = control.audit.verify()
        assert (report.rows, report.first_problem) == (8, None)
        ada = control.accounts.check_login("ada", FORMER_PASSWORD)
        assert control.accounts.list_users() == ([ada], 1)
        assert control.credentials.find(FORMER_TOKEN) is not None
        with control.database.read() as connection:
            assert {name: content_of(connection, name) for name in FORMER_ROWS} == FORMER_ROWS
    with closing(sqlite3.connect(tmp_path / "control.sqlite.layout-7")) as kept:
        assert kept.execute("SELECT max(version) FROM schema_version").fetchall() == [(7,)]


def content_of(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(text(f"SELECT {query}"))]


def test_packages_create_their_tables_once(place: Any, at_once: Callable[..., list[Any]]) -> None:
    weather = MetaData()
    Table("weather", weather, Column("day", Text, primary_key=True))
    opened = [place.open() for _ in range(4)]
    assert at_once([lambda one=one: one.create_missing(weather) for one in opened]) == [None] * 4
    with opened[0].begin() as connection:
        connection.execute(text("INSERT INTO weather VALUES ('monday')"))
    opened[1].create_missing(weather)
    with opened[2].read() as connection:
        assert connection.execute(text("SELECT day FROM weather")).scalar_one() == "monday"


def test_a_block_that_fails_changes_nothing(database: ControlDatabase) -> None:
    before = database.version()
    with pytest.raises(ArithmeticError), database.change():
        raise ArithmeticError
    assert database.version() == before


def test_the_version_grows_with_changes_of_rights_only(
    database: ControlDatabase, place: Any
) -> None:
    before = database.version()
    with database.begin():
        pass
    assert place.open().version() == before
    with database.change():
        pass
    assert place.open().version() == before + 1


def test_reads_of_one_block_see_one_moment(database: ControlDatabase, place: Any) -> None:
    number = text("SELECT number FROM control_version")
    with database.read() as connection:
        before = connection.execute(number).scalar_one()
        with place.open().change():
            pass
        assert connection.execute(number).scalar_one() == before
    assert database.version() == before + 1


def test_a_table_that_is_gone_is_a_storage_error(
    database: ControlDatabase, execute: Callable[..., list[Any]]
) -> None:
    execute("ALTER TABLE control_version RENAME TO gone")
    with pytest.raises(StorageError, match="the control database failed") as failed:
        database.version()
    assert "control_version" in failed.value.detail
    assert database.name not in failed.value.message
    execute("ALTER TABLE gone RENAME TO control_version")
    assert database.version() == 1


def test_a_statement_that_is_wrong_is_a_bug_whose_message_has_no_values(
    database: ControlDatabase,
) -> None:
    values = {"quota": int("4242" * 2)}
    with (
        pytest.raises(Exception, match=r"UNIQUE|duplicate") as caught,
        database.begin() as connection,
    ):
        connection.execute(
            text("INSERT INTO roles (name, read_quota) VALUES ('user', :quota)"), values
        )
    assert not isinstance(caught.value, StorageError)
    assert "42424242" not in "".join(traceback.format_exception(caught.value))


def test_a_writer_waits_for_another(database: ControlDatabase, place: Any) -> None:
    other = place.open()
    is_done = threading.Event()

    def change() -> None:
        with other.change():
            is_done.set()

    thread = threading.Thread(target=change)
    with database.change():
        thread.start()
        assert not is_done.wait(0.2)
    thread.join()
    assert is_done.is_set()


def test_broken_connections_are_made_anew(postgresql: Any) -> None:
    database = ControlDatabase.open(postgresql.new_url())
    postgresql.end_connections()
    assert database.version() == 1
    database.close()


def test_a_sqlite_file_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "control.sqlite"
    before = os.umask(0)
    try:
        database = ControlDatabase.open(f"sqlite:///{path}")
        with database.change():
            pass
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        database.close()
    finally:
        os.umask(before)
    assert modes == {
        "control.sqlite": 0o600,
        "control.sqlite-wal": 0o600,
        "control.sqlite-shm": 0o600,
    }


def test_a_sqlite_file_is_written_through(tmp_path: Path) -> None:
    database = ControlDatabase.open(f"sqlite:///{tmp_path / 'control.sqlite'}")
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
    with database.begin() as connection:
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in wanted}
    database.close()
    assert found == wanted


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "control.sqlite"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(StorageError, match=r"control\.sqlite: cannot be opened .*not a database"):
        ControlDatabase.open(f"sqlite:///{path}")


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        ControlDatabase.open(f"sqlite:///{tmp_path / 'file' / 'control.sqlite'}")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"postgresql//user:{PASSWORD}@host/name", "is not the address of a database"),
        (f"postgresql://user:{PASSWORD}@host:port/name", "is not the address of a database"),
        (f"mysql://user:{PASSWORD}@host/name", "no kind of database 'mysql'"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(
    url: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ControlDatabase.open(url)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://user:{PASSWORD}@127.0.0.1:1/name",
        f"postgres://127.0.0.1:1/name?user=user&password={PASSWORD}",
    ],
)
def test_a_server_that_does_not_answer_is_named_without_its_password(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(StorageError, match="failed") as caught:
        ControlDatabase.open(url)
    assert caught.value.detail.startswith("127.0.0.1:1/name: ")
    assert "127.0.0.1" not in caught.value.message
    assert (
        PASSWORD
        not in caught.value.full_message
        + "".join(traceback.format_exception(caught.value))
        + caplog.text
    )


def test_a_glance_is_another_after_every_change_and_the_same_after_anything_else(
    place: Any,
) -> None:
    here, elsewhere = place.open(), place.open()
    before = here.change_stamp()
    here.version()
    with here.begin() as connection:
        connection.execute(text("DELETE FROM restrictions"))
    assert here.change_stamp() == before
    with here.change():
        pass
    changed = here.change_stamp()
    with elsewhere.change():
        pass
    assert changed not in (None, before)
    assert (here.change_stamp() != changed) is place.is_sqlite


def test_a_glance_waits_for_nobody_and_sees_what_is_committed(place: Any) -> None:
    database = place.open()
    before = database.change_stamp()
    with database.change():
        assert database.change_stamp() == before
    assert database.change_stamp() != before
