"""The index of a catalogue in the database of its records: one server builds it, the others fetch it, then follow.

The tables have the files of an index folder, in pieces. They are not logged, so that replicas do not get them: after a
crash or a promotion they are empty, and the next server builds its index.
"""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stackroom.errors import ExpectedError
from stackroom.shelf.postgres.sending import copying
from stackroom.shelf.postgres.store_database import StoreDatabase

PIECE_BYTES = 1 << 20
PIECES_AT_ONCE = 8
FIND = "SELECT base FROM shared_index WHERE version = %s AND base_no > %s AND reached <= %s"
KNOWN = "SELECT 1 FROM shared_index WHERE version = %s AND base = %s"
OF_HISTORY = "SELECT 1 FROM writes WHERE revision = %s AND token = %s"
PIECES = "SELECT path, data FROM shared_files ORDER BY path, piece"

Stamp = tuple[str, str, int, int]
"""What an index is made by, its base segment, and the last changes of this and of the text."""

logger = logging.getLogger(__name__)


class SharedIndex:
    """The index that servers share, if it is not too large; `copied` is the revision and token of this one's copy."""

    def __init__(self, database: StoreDatabase, copied: tuple[int, str], *, most_bytes: int) -> None:
        self.database = database
        self._copied = copied
        self._most_bytes = most_bytes

    def fetch(self, folder: Path, version: str, *, above: int, until: int) -> str | None:
        """Write the files of the index to a folder, and return the name of its base.

        None where there is none of this version with a later base than `above`, and no later change than `until`.
        """
        try:
            with self.database.transaction() as db:
                found = db.execute(FIND, (version, above, until)).fetchone()
                if found is None:
                    return None
                with db.cursor(name="shared", binary=True) as cursor:  # of the server: they are larger than memory
                    cursor.itersize = PIECES_AT_ONCE
                    for path, data in cursor.execute(PIECES):
                        _append(folder, path, data)
                return str(found[0])
        except ExpectedError as error:
            logger.warning("the index of another server cannot be fetched: %s", error.message)
            return None

    def share(self, folder: Path, files: Sequence[Path], stamp: Stamp, *, replaces: bool) -> None:
        """Store files of a folder, all or nothing, if this copy is of the database's history.

        With `replaces`, also where the same index is there.
        """
        try:
            if sum(path.stat().st_size for path in files) > self._most_bytes:
                return
            with self.database.transaction() as db:  # commit point: its end
                is_known = not replaces and db.execute(KNOWN, stamp[:2]).fetchone()
                if not is_known and db.execute(OF_HISTORY, self._copied).fetchone():
                    db.execute("DELETE FROM shared_index")
                    db.execute("DELETE FROM shared_files")
                    _send_files(db, folder, files)
                    db.execute("INSERT INTO shared_index VALUES (%s, %s, %s, %s)", stamp)
        except (ExpectedError, OSError) as error:
            logger.warning("the index is not shared with other servers: %s", error)


def _send_files(db: Any, folder: Path, paths: Iterable[Path]) -> None:
    with copying(db, "COPY shared_files FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(("text", "int4", "bytea"))
        for path in paths:
            with path.open("rb") as file:
                for piece in range(path.stat().st_size // PIECE_BYTES + 1):  # at least one, of an empty file
                    copy.write_row((path.relative_to(folder).as_posix(), piece, file.read(PIECE_BYTES)))


def _append(folder: Path, path: str, data: bytes) -> None:
    place = (folder / path).resolve()
    if place.is_relative_to(folder.resolve()):  # else the checksums say that something is missing
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(data)
