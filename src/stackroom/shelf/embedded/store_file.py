"""The SQLite file of a store: its tables, connections, transactions, its seal, and the checksum of
each row.

SQLite's own check finds damaged pages, and differences between a table and its index, but no change
inside a value. So each table has a column with a checksum, which is written with the row and
compared when it is read or checked.
"""

import hashlib
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from stackroom import LAYOUTS
from stackroom.checksums import Seal
from stackroom.errors import BusyError, StorageError
from stackroom.library import PLACE_FILE
from stackroom.shelf.port import Checkpoint
from stackroom.shelf.sqlite_files import FrozenFile, checkpoints, is_full, is_read_only, stamp_of
from stackroom.toml_text import load_packaged

SUM = "row_sum"
COPY_MARK = "token"
"""The row of `meta` with the token of the database's transaction that this file is a copy of;
missing if it is not a copy.
"""
META_SUM = "checksum"  # the row of `meta` with the checksum of the others
STATEMENTS = load_packaged(__package__, "statements.toml")
SUMMED: Mapping[str, str] = STATEMENTS["summed"]
SCHEMA_VERSION = LAYOUTS["records"]
BUSY_TIMEOUT_MS = 5_000
MAX_BOUND_VALUES = 10_000
PUT_BACK = "put it back from a back-up, or move the catalogue's folder away and add it again"
IF_DAMAGED = f"if it is damaged, {PUT_BACK}"
DAMAGE = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)
READ_ONLY = "its folder cannot be written to: the catalogue is read-only"


def _advice(error: Exception) -> str:
    """Return advice on a damaged file, or an empty text if it is only unreadable now."""
    return f"; {IF_DAMAGED}" if isinstance(error, DAMAGE) else ""


def row_sum(*values: Any) -> int:
    """Return the checksum of a row: 64 bits of the SHA-256 of its values."""
    digest = hashlib.sha256()
    for value in values:
        content = value if isinstance(value, bytes | None) else str(value).encode()
        digest.update(b"-" if content is None else b"%d:%b" % (len(content), content))
    return int.from_bytes(digest.digest()[:8], "big", signed=True)


def create_tables(db: apsw.Connection) -> None:
    """Create the tables of a store if they are missing."""
    if db.pragma("user_version") == 0:
        db.execute(STATEMENTS["schema"])
        db.pragma("user_version", SCHEMA_VERSION)


def set_meta(db: apsw.Connection, values: Mapping[str, str]) -> None:
    """Write rows of `meta`."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _meta_sum(db: apsw.Connection) -> str:
    rows = db.execute("SELECT name, value FROM meta WHERE name <> ? ORDER BY name", (META_SUM,))
    return str(row_sum(*(value for row in rows for value in row)))


def _known_meta_sum(db: apsw.Connection) -> Any:
    return db.execute("SELECT value FROM meta WHERE name = ?", (META_SUM,)).get


def is_meta_sound(db: apsw.Connection) -> bool:
    """Tell whether the rows of `meta` match their checksum, if there is one."""
    if db.pragma("user_version") == 0:  # it has no tables yet
        return True
    return _known_meta_sum(db) in (None, _meta_sum(db))


def are_counters_sound(db: apsw.Connection) -> bool:
    """Tell whether the last change and the last key agree with the counters for the next ones."""
    numbers = (int(number or 0) for number in db.execute(STATEMENTS["last_numbers"]).fetchall()[0])
    last_change, given_changes, last_key, given_keys = numbers
    return last_change == given_changes and given_keys >= last_key


def list_damaged(
    db: apsw.Connection, table: str, names: str, checkpoint: Checkpoint
) -> list[tuple[Any, ...]]:
    """Return the names (an SQL list of columns) of the rows of a table with a wrong checksum."""
    query = f"SELECT {names} FROM {table} WHERE sum IS NOT {SUM}({SUMMED[table]})"
    with checkpoints(db, checkpoint):
        return list(db.execute(query))


class StoreFile:
    """A SQLite file that several threads and processes read and write, one connection per
    thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seal = Seal(path)
        self.label = f"{path.parent.name}/{path.name}"
        """The file's name in messages, which callers of a server read: without the folders of the
        server.
        """
        self._local = threading.local()
        # one per thread, dropped with it
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._guard = threading.Lock()
        self._frozen: FrozenFile | None = None
        """The file opened read-only, if its folder cannot be written to."""
        self.has_written = False
        """Whether this process has written to the file since it was opened."""

    @property
    def is_read_only(self) -> bool:
        """Whether the file or its folder cannot be written to, by their modes or because of the
        file system.
        """
        return is_read_only(self.path)

    def make(self) -> None:
        """Make the file if it is missing; connections do not."""
        try:
            if not self.path.exists():
                self.path.touch()
        except OSError as error:
            raise StorageError(f"{self.label}: cannot be made: {error.strerror}") from error

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            for db in list(self._open):
                db.close()
            self._open.clear()
            self._frozen = None
        self._local = threading.local()

    def is_outdated(self) -> bool:
        """Tell whether another process has written, since it was opened, to a file that this
        process cannot write.
        """
        return self._frozen is not None and self._frozen.stamp != stamp_of(self.path)

    def _select(
        self, query: str, values: Sequence[int | str | bytes], *first: int | str
    ) -> list[Any]:
        """Return the rows of a query for many keys, ids or digests, bound in batches."""
        found: list[Any] = []
        for start in range(0, len(values), MAX_BOUND_VALUES):
            batch = values[start : start + MAX_BOUND_VALUES]
            asked = query.format(",".join("?" * len(batch)))
            with self._failing():
                found += self._db().execute(asked, (*first, *batch)).fetchall()
        return found

    def find_mark(self, name: str) -> str | None:
        """Return a row of `meta`."""
        row = self._find_row("SELECT value FROM meta WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    def _find_row(self, query: str, values: Any = ()) -> Any:
        return next(self.rows(query, values), None)

    def rows(self, query: str, values: Any = ()) -> Iterator[Any]:
        """Yield the rows of a query."""
        with self._failing():
            yield from self._db().execute(query, values)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read within one transaction, unaffected by concurrent writes."""
        with self._failing(), self._db():
            yield

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write in one transaction, which is committed at its end."""
        if (self.path.parent / PLACE_FILE).exists():
            raise BusyError(f"{self.label}: the catalogue was moved to a database; ask again")
        with self._writing_file() as db:
            if db.pragma("user_version"):
                # it is a copy of nothing from here on
                db.execute("DELETE FROM meta WHERE name = ?", (COPY_MARK,))
            yield db

    @contextmanager
    def _writing_file(self) -> Iterator[apsw.Connection]:
        """Write to the file alone: remove the seal before, and give every row its checksum."""
        if self.is_read_only:
            raise StorageError(f"{self.label}: {READ_ONLY}; nothing was changed")
        self._frozen = None  # of a disk that was full when the file was opened
        self.seal.break_up()
        self.has_written = True
        with self._failing():
            db = self._db()
            db.transaction_mode = "IMMEDIATE"  # the only one from its beginning on
            try:
                with db:
                    was_sound = is_meta_sound(db)
                    yield db
                    if was_sound and (fresh := _meta_sum(db)) != _known_meta_sum(db):
                        set_meta(db, {META_SUM: fresh})
            finally:
                db.transaction_mode = "DEFERRED"

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise SQLite's errors as StorageError; a transaction within is rolled back."""
        try:
            yield
        except (apsw.FullError, apsw.ReadOnlyError) as error:
            raise StorageError(f"{self.label}: the disk is full; nothing was changed") from error
        except apsw.BusyError as error:
            raise BusyError(
                f"{self.label}: another process is writing; nothing was changed"
            ) from error
        # the latter: a text that is damaged is not UTF-8
        except (apsw.Error, UnicodeDecodeError) as error:
            raise StorageError(f"{self.label}: cannot be read: {error}{_advice(error)}") from error

    def _db(self) -> apsw.Connection:
        """Return this thread's connection."""
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None or self.is_outdated() or self._local.frozen is not self._frozen:
            db = self.connect()
            self._local.db = db
            self._local.frozen = self._frozen
        return db

    def connect(self, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
        """Open a further connection, which the caller closes."""
        try:
            try:
                db = (
                    self._current_frozen().connect()
                    if self.is_read_only
                    else self._connect_writable(busy_timeout_ms)
                )
            except (apsw.IOError, apsw.FullError, apsw.CantOpenError):
                if not is_full(self.path):
                    raise
                db = self._current_frozen().connect()
            db.create_scalar_function(SUM, row_sum, deterministic=True)
            version = db.pragma("user_version")
        except (apsw.Error, OSError) as error:
            if not self.path.exists():
                raise StorageError(f"{self.label} is missing; {PUT_BACK}") from error
            raise StorageError(
                f"{self.label}: cannot be opened: {error}{_advice(error)}"
            ) from error
        if version > SCHEMA_VERSION:
            raise StorageError(
                f"{self.label}: written by a newer Stackroom (layout {version}); update this one"
            )
        if 0 < version < SCHEMA_VERSION:  # 0: it has no tables yet
            raise StorageError(
                f"{self.label}: of layout {version}, not {SCHEMA_VERSION}; add its source again"
            )
        with self._guard:
            self._open.add(db)
        return db

    def _connect_writable(self, busy_timeout_ms: int) -> apsw.Connection:
        # one that is missing is put back
        db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(busy_timeout_ms)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        return db

    def _current_frozen(self) -> FrozenFile:
        """Return the present state of a file that another process may write and this one cannot."""
        with self._guard:
            if self._frozen is None or self._frozen.stamp != stamp_of(self.path):
                self._frozen = FrozenFile(self.path)
            return self._frozen
