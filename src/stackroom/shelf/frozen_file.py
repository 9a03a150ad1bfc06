"""Reading a SQLite file in a folder that cannot be written to: by its mode, or because of its file system."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from urllib.parse import quote

import apsw

WAL_ENDING = "-wal"

Stamp = tuple[tuple[int, int, int] | None, ...]


def is_read_only(path: Path) -> bool:
    """Tell whether a file, or the folder that it is or would be in, cannot be written to."""
    return not (os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists()))


def scratch_folder(owner: object) -> Path:
    """Make a temporary folder that is removed with its owner."""
    folder = tempfile.mkdtemp(prefix="stackroom-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class FrozenFile:
    """A SQLite file in a folder that cannot be written to, as of one moment.

    SQLite reads a file in WAL mode without writing beside it only if it is told that nothing changes it, and then it
    leaves out what is in the `-wal` file. Where a process that was killed left one, a private copy is read.
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
    """Tell whether everything is in a SQLite file itself, and nothing in its `-wal` file."""
    wal = path.with_name(path.name + WAL_ENDING)
    return not wal.exists() or not wal.stat().st_size


def stamp_of(path: Path) -> Stamp:
    """Return a token that differs after a SQLite file or its `-wal` file was written."""
    return tuple(_stat_of(one) for one in (path, path.with_name(path.name + WAL_ENDING)))


def _stat_of(path: Path) -> tuple[int, int, int] | None:
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_ino, known.st_size, known.st_mtime_ns
