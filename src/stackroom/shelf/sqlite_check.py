"""Checking SQLite files: SQLite's own integrity check, in a connection of its own, with checkpoints."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from stackroom.shelf.frozen_file import FrozenFile, is_read_only
from stackroom.shelf.port import Checkpoint, never_stop

BUSY_TIMEOUT_MS = 5_000
STEPS_BETWEEN_CHECKPOINTS = 10_000
MOST_FAULTS = 3


def check_sqlite_file(path: Path, *, checkpoint: Checkpoint = never_stop) -> list[str]:
    """Return the first faults that SQLite finds in a file; none where it is sound."""
    try:
        with _opened(path) as db:
            return check_connected(db, checkpoint)
    except (apsw.Error, OSError) as error:
        return [f"cannot be read: {error}"]


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    if is_read_only(path):
        frozen = FrozenFile(path)
        with closing(frozen.connect()) as db:
            yield db
        return
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        yield db


def check_connected(db: apsw.Connection, checkpoint: Checkpoint) -> list[str]:
    """Return the first faults that SQLite finds in the file of a connection."""
    with checkpoints(db, checkpoint):
        found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({MOST_FAULTS})")]
    return [" ".join(fault.split()) for fault in found if fault != "ok"]


@contextmanager
def checkpoints(db: apsw.Connection, checkpoint: Checkpoint) -> Iterator[None]:
    """Call a checkpoint now and then while the statements of a connection run; it may raise to end them."""

    def go_on() -> bool:
        checkpoint()
        return False

    db.set_progress_handler(go_on, STEPS_BETWEEN_CHECKPOINTS)
    try:
        yield
    finally:
        db.set_progress_handler(None)
