"""SQLite files: read in a folder that cannot be written to, and checked by SQLite itself, with
checkpoints.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from stackroom.shelf.port import Checkpoint, never_stop

WAL_ENDING = "-wal"
Stamp = tuple[tuple[int, int, int] | None, ...]
BUSY_TIMEOUT_MS = 5_000
STEPS_BETWEEN_CHECKPOINTS = 10_000
MOST_FAULTS = 3
SIDE_FILES_BYTES = 1_000_000


def is_read_only(path: Path) -> bool:
    """Tell whether a file, or the folder that it is or would be in, cannot be written to."""
    return not (os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists()))


def is_full(path: Path) -> bool:
    """Tell whether the disk of a file has too little room for the files that SQLite writes beside
    it.
    """
    return shutil.disk_usage(path.parent).free < SIDE_FILES_BYTES


def scratch_folder(owner: object) -> Path:
    """Make a temporary folder that is removed with its owner."""
    folder = tempfile.mkdtemp(prefix="stackroom-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class FrozenFile:
    """A SQLite file in a folder that cannot be written to, as of one moment.

    SQLite reads a file in WAL mode without writing beside it only if it is told that nothing
    changes it, and then it leaves out what is in the `-wal` file. Where a process that was killed
    left one, a private copy is read.
    """

    def __init__(self, path: Path) -> None:
        self.stamp = stamp_of(path)
        self._path = path
        self._copy: Path | None = None
        if not is_settled(path):
            wal = path.with_name(path.name + WAL_ENDING)
            self._copy = scratch_folder(self)
            for one in (path, wal):
                shutil.copyfile(one, self._copy / one.name)

    def connect(self) -> apsw.Connection:
        """Open a connection that reads."""
        if self._copy is not None:
            return apsw.Connection(str(self._copy / self._path.name))
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"file:{quote(str(self._path))}?immutable=1", flags=flags)


def is_settled(path: Path) -> bool:
    """Tell whether a SQLite file is complete, without rows in its `-wal` file."""
    wal = path.with_name(path.name + WAL_ENDING)
    return not wal.exists() or not wal.stat().st_size


def stamp_of(path: Path) -> Stamp:
    """Return a token that differs after a SQLite file or its `-wal` file was written."""
    stamps: list[tuple[int, int, int] | None] = []
    for one in (path, path.with_name(path.name + WAL_ENDING)):
        try:
            known = one.stat()
            stamps.append((known.st_ino, known.st_size, known.st_mtime_ns))
        except OSError:
            stamps.append(None)
    return tuple(stamps)


def check_sqlite_file(path: Path) -> list[str]:
    """Return the first faults that SQLite finds in a file; none if it is sound."""
    try:
        frozen = FrozenFile(path) if is_read_only(path) or is_full(path) else None
        with closing(
            frozen.connect() if frozen else apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
        ) as db:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            return check_connected(db, never_stop)
    except (apsw.Error, OSError) as error:
        return [f"cannot be read: {error}"]


def check_connected(db: apsw.Connection, checkpoint: Checkpoint) -> list[str]:
    """Return the first faults that SQLite finds in the file of a connection."""
    with checkpoints(db, checkpoint):
        found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({MOST_FAULTS})")]
    return [" ".join(fault.split()) for fault in found if fault != "ok"]


@contextmanager
def checkpoints(db: apsw.Connection, checkpoint: Checkpoint) -> Iterator[None]:
    """Call a checkpoint now and then while the statements of a connection run; it may raise to end
    them.
    """

    def go_on() -> bool:
        checkpoint()
        return False

    db.set_progress_handler(go_on, STEPS_BETWEEN_CHECKPOINTS)
    try:
        yield
    finally:
        db.set_progress_handler(None)
