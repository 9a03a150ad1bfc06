"""The SQLite file of a store: connections, transactions, its seal, and reading it where nothing can be written."""

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from stackroom.checksums import Seal
from stackroom.errors import StorageError
from stackroom.model.record import Key, RecordId
from stackroom.shelf.embedded.row_sums import register_row_sum, summed_meta
from stackroom.shelf.embedded.schema import SCHEMA_VERSION
from stackroom.shelf.frozen_file import FrozenFile, is_read_only, stamp_of

BUSY_TIMEOUT_MS = 5_000
MAX_BOUND_VALUES = 10_000
PUT_BACK = "put it back from a back-up, or move the catalogue's folder away and add it again"
IF_DAMAGED = f"if it is damaged, {PUT_BACK}"
READ_ONLY = "its folder cannot be written to: the catalogue is read-only"


class StoreFile:
    """A SQLite file that several threads and processes read and write, one connection per thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seal = Seal(path)
        self._label = f"{path.parent.name}/{path.name}"
        """The file's name in messages, which callers of a server read: without the folders of the server."""
        self._local = threading.local()
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()  # one per thread, dropped with it
        self._guard = threading.Lock()
        self._frozen: FrozenFile | None = None
        """How the file is read where its folder cannot be written to."""
        self.has_written = False
        """Whether this process has written to the file since it was opened."""

    @property
    def is_read_only(self) -> bool:
        """Whether the file or its folder cannot be written to, by their modes or because of the file system."""
        return is_read_only(self.path)

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            for db in list(self._open):
                db.close()
            self._open.clear()
            self._frozen = None
        self._local = threading.local()

    def is_outdated(self) -> bool:
        """Tell whether a file that this process cannot write was written by another since it was opened."""
        return self._frozen is not None and self._frozen.stamp != stamp_of(self.path)

    def connect(self) -> apsw.Connection:
        """Open a connection apart from those of the threads; the caller closes it."""
        return self._connect()

    def _select(self, query: str, values: Sequence[Key] | Sequence[RecordId], *first: int) -> Iterator[Any]:
        """Yield the rows of a query with a list of keys or ids, whose values are bound, in batches."""
        for start in range(0, len(values), MAX_BOUND_VALUES):
            batch = values[start : start + MAX_BOUND_VALUES]
            yield from self._rows(query.format(",".join("?" * len(batch))), (*first, *batch))

    def _find_row(self, query: str, values: Any = ()) -> Any:
        return next(self._rows(query, values), None)

    def _rows(self, query: str, values: Any = ()) -> Iterator[Any]:
        with self._failing():
            yield from self._db().execute(query, values)

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        """Read in one transaction."""
        with self._failing(), self._db() as db:
            yield db

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write in one transaction: the seal is broken before it, and every row of it has its checksum."""
        if self.is_read_only:
            raise StorageError(f"{self._label}: {READ_ONLY}; nothing was changed")
        self.seal.break_up()
        self.has_written = True
        with self._failing(), self._db() as db, summed_meta(db):
            yield db

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise SQLite's errors as StorageError; a transaction within is rolled back."""
        try:
            yield
        except apsw.FullError as error:
            raise StorageError(f"{self._label}: the disk is full; nothing was changed") from error
        except apsw.BusyError as error:
            raise StorageError(f"{self._label}: another process is writing; nothing was changed") from error
        except (apsw.Error, UnicodeDecodeError) as error:  # the latter: a text that is damaged is not UTF-8
            raise StorageError(f"{self._label}: cannot be read: {error}; {IF_DAMAGED}") from error

    def _db(self) -> apsw.Connection:
        """Return this thread's connection."""
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None or self.is_outdated() or self._local.frozen is not self._frozen:
            db = self._connect()
            self._local.db = db
            self._local.frozen = self._frozen
        return db

    def _connect(self, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
        try:
            db = self._current_frozen().connect() if self.is_read_only else self._connect_writable(busy_timeout_ms)
            register_row_sum(db)
            version = db.pragma("user_version")
        except (apsw.Error, OSError) as error:
            raise StorageError(f"{self._label}: cannot be opened: {error}; {IF_DAMAGED}") from error
        if version > SCHEMA_VERSION:
            raise StorageError(f"{self._label}: written by a newer Stackroom (layout {version}); update this one")
        if 0 < version < SCHEMA_VERSION:  # 0: it has no tables yet
            raise StorageError(f"{self._label}: of layout {version}, not {SCHEMA_VERSION}; add its source again")
        with self._guard:
            self._open.add(db)
        return db

    def _connect_writable(self, busy_timeout_ms: int) -> apsw.Connection:
        db = apsw.Connection(str(self.path))
        db.set_busy_timeout(busy_timeout_ms)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        return db

    def _current_frozen(self) -> FrozenFile:
        """Return how the file is read as it is now: another process may write where this one cannot."""
        with self._guard:
            if self._frozen is None or self._frozen.stamp != stamp_of(self.path):
                self._frozen = FrozenFile(self.path)
            return self._frozen
