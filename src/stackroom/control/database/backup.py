"""Integrity check and online backup of the control database."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from stackroom.control.database.engine import BUSY_TIMEOUT_S, ControlDatabase
from stackroom.errors import StorageError

PAGES_AT_ONCE = 2_000


def check_database(database: ControlDatabase) -> list[str]:
    """Return the problems of a SQLite file; PostgreSQL checks its own, and need only answer."""
    statement = "PRAGMA integrity_check" if database.dialect == "sqlite" else "SELECT 'ok'"
    with database.read() as connection:
        found = [str(row[0]) for row in connection.exec_driver_sql(statement)]
    return [] if found == ["ok"] else found


def find_file(database: ControlDatabase) -> Path | None:
    """Return the file of a SQLite database; None for PostgreSQL."""
    return Path(database.name) if database.dialect == "sqlite" else None


def copy_database(source: Path, target: Path, checkpoint: Callable[[], None]) -> None:
    """Copy a snapshot of the file while it may be written; `checkpoint` may raise to cancel.

    Uses Python's SQLite, by which the database is open: another SQLite library in this process would drop its locks.
    """
    try:
        with (
            closing(sqlite3.connect(source, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as origin,
            closing(sqlite3.connect(target)) as copied,
        ):
            origin.execute("BEGIN")
            origin.execute("SELECT count(*) FROM sqlite_master").fetchall()  # the snapshot begins here
            origin.backup(copied, pages=PAGES_AT_ONCE, progress=lambda *_pages: checkpoint())
            (problem,) = copied.execute("PRAGMA quick_check").fetchone()
    except sqlite3.Error as error:
        raise StorageError(f"{source}: the control database cannot be copied: {error}") from error
    target.chmod(0o600)
    if problem != "ok":
        raise StorageError(f"{source}: the copy of the control database is not whole ({problem})")
