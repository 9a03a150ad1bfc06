"""The control database whose file is removed, replaced or restored while it is open."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Column, MetaData, Table, Text

from stackroom.control.control import Control
from stackroom.control.database.engine import ControlDatabase, copy_database
from stackroom.control.database.tables import utc_now
from stackroom.errors import StorageError
from stackroom.model.principal import LOCAL_USER, AuditEntry, Identity, Outcome
from stackroom.settings import CONTROL_FILE, Settings

pytestmark = pytest.mark.row("T6")

READER = "anna"


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    with closing(Control.open(Settings(home=tmp_path))) as opened:
        opened.accounts.create_first_admin()
        opened.accounts.create_user(LOCAL_USER, READER, password=None)
        yield opened


@pytest.fixture
def secret(control: Control) -> str:
    return control.credentials.issue_token(
        LOCAL_USER, READER, name="reader", expires_in=timedelta(days=1)
    ).secret


@pytest.fixture
def backup(control: Control, secret: str, tmp_path: Path) -> Path:
    """A copy of the database, with the user and the token."""
    target = tmp_path / "backups" / CONTROL_FILE
    target.parent.mkdir()
    copy_database(tmp_path / CONTROL_FILE, target, lambda: None)
    return target


def remove(home: Path) -> None:
    for path in home.glob(f"{CONTROL_FILE}*"):
        path.unlink()


def replace(home: Path, backup: Path) -> None:
    remove(home)
    shutil.copy(backup, home / CONTROL_FILE)


def disable_elsewhere(home: Path, name: str) -> None:
    """Disable a user as `stackroom user disable` does, in a database opened by its path."""
    with closing(Control.open(Settings(home=home))) as other:
        other.accounts.set_disabled(LOCAL_USER, name, disabled=True)


def entry(call_id: str) -> AuditEntry:
    return AuditEntry(
        at=utc_now(),
        call_id=call_id,
        principal=READER,
        via="mcp",
        operation="tools/call",
        target="search",
        parameters={},
        outcome=Outcome.OK,
    )


def audited(home: Path) -> list[str]:
    """Return the calls in the audit of the file that has the path."""
    with closing(sqlite3.connect(home / CONTROL_FILE)) as connection:
        return [row[0] for row in connection.execute("SELECT call_id FROM audit ORDER BY number")]


def resolve(control: Control, secret: str) -> Identity | None:
    return control.identities.recall(secret) or control.identities.identify(secret)


def test_a_user_who_is_disabled_after_the_file_was_replaced_is_refused(
    control: Control, secret: str, backup: Path, tmp_path: Path
) -> None:
    assert resolve(control, secret) is not None
    replace(tmp_path, backup)
    disable_elsewhere(tmp_path, READER)
    assert resolve(control, secret) is None


def test_rights_of_the_former_file_end_with_it_although_both_have_the_same_version(
    control: Control, secret: str, backup: Path, tmp_path: Path
) -> None:
    assert resolve(control, secret) is not None
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("UPDATE credentials SET revoked_at = created_at")
    replace(tmp_path, backup)
    assert control.identities.refresh()
    assert resolve(control, secret) is None


def test_a_call_is_audited_in_the_file_that_has_the_path(
    control: Control, backup: Path, tmp_path: Path
) -> None:
    control.audit.write(entry("before"), durable=True)
    replace(tmp_path, backup)
    control.audit.write(entry("after"), durable=True)
    assert audited(tmp_path) == ["after"]
    assert control.audit.verify().first_problem is None


def test_while_the_file_is_away_nothing_is_answered_audited_or_made_and_all_is_well_when_it_is_back(
    control: Control, secret: str, tmp_path: Path
) -> None:
    control.audit.write(entry("before"), durable=True)
    (tmp_path / CONTROL_FILE).rename(tmp_path / "away")
    assert control.database.change_stamp() is None
    with pytest.raises(StorageError, match="its file is missing; put it back"):
        control.audit.write(entry("meanwhile"), durable=True)
    with pytest.raises(StorageError):
        resolve(control, secret)
    assert not (tmp_path / CONTROL_FILE).exists()
    (tmp_path / "away").rename(tmp_path / CONTROL_FILE)
    control.audit.write(entry("after"), durable=True)
    assert audited(tmp_path) == ["before", "after"]
    assert resolve(control, secret) is not None


def test_a_change_that_was_written_into_a_file_that_is_gone_is_not_acknowledged(
    control: Control, backup: Path, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match="the change may be lost"), control.database.begin():
        replace(tmp_path, backup)


def test_a_file_beside_the_log_of_the_former_one_is_refused_with_what_to_do(
    control: Control, backup: Path, tmp_path: Path
) -> None:
    control.audit.write(entry("before"), durable=True)
    control.database.version()
    (tmp_path / CONTROL_FILE).unlink()
    shutil.copy(backup, tmp_path / CONTROL_FILE)
    with pytest.raises(StorageError, match=r"delete control\.sqlite-wal and -shm"):
        control.database.version()


def test_an_empty_file_in_its_place_is_refused(control: Control, tmp_path: Path) -> None:
    remove(tmp_path)
    (tmp_path / CONTROL_FILE).touch()
    with pytest.raises(StorageError, match="by an empty one"):
        control.database.version()


def test_tables_of_packages_are_made_in_the_file_that_took_its_place(
    database: ControlDatabase, tmp_path: Path
) -> None:
    more = MetaData()
    notes = Table("notes", more, Column("text", Text))
    copy_database(tmp_path / CONTROL_FILE, tmp_path / "copy", lambda: None)
    database.create_missing(more)
    replace(tmp_path, tmp_path / "copy")
    with database.begin() as connection:
        connection.execute(notes.insert(), {"text": "kept"})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[ControlDatabase]:
    with closing(ControlDatabase.open(f"sqlite:///{tmp_path / CONTROL_FILE}")) as opened:
        yield opened
