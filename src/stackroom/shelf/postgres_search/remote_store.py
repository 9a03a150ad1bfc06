"""A store whose records are in PostgreSQL alone, for catalogues that no server can hold.

Everything is read from there, by the statements of the SQLite store. A write is that store's as
well, on a file in memory that has the rows which it may touch; those that it has touched are sent.
Commit point: the end of the database's transaction.
"""

import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import psycopg

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError
from stackroom.model.record import RecordId
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.store import (
    INDEXED_VECTORS,
    STORED_VECTORS,
    StoreState,
    Switch,
    keepable,
)
from stackroom.shelf.embedded.store_file import SUM, create_tables, row_sum, set_meta
from stackroom.shelf.port import Author, Change, Put
from stackroom.shelf.postgres.followed_store import (
    HISTORY,
    TOKEN,
    FollowedStore,
    insert_rows,
    names_of,
    reserve_keys,
)
from stackroom.shelf.postgres.store_database import DatabaseLostError, StoreDatabase
from stackroom.shelf.postgres_search.database import STATEMENTS, Connections, failing_as_storage
from stackroom.shelf.store_place import StorePlace

NAMED = re.compile(r"(?<!:):(\w+)")  # a value that SQLite's statements have by name
LAST_WRITE = "SELECT change_no, token, EXISTS (SELECT 1 FROM writes WHERE token = ?) FROM state"
NOTHING: Mapping[str, Iterable[Any]] = {"ids": (), "expected": (), "models": (), "digests": ()}
LAST_KEY = "SELECT greatest((SELECT max(key) FROM records), (SELECT max(key) FROM changes))"


class Reached(NamedTuple):
    """The last write of the database that readers are to see, and a token of its history."""

    change_no: int = 0
    token: str | None = None
    history: str = ""


class ThreadState(threading.local):
    """The state of a thread that writes, or reads within one transaction."""

    scratch: apsw.Connection | None = None
    remote: "psycopg.Connection[Any] | None" = None
    wanted: Mapping[str, Iterable[Any]] = NOTHING
    """The ids, digests and models, and the ids with an expected change, that a write may touch."""


class RemoteStore(FollowedStore):
    """Implements the methods of `Store` on a database, without a copy."""

    def __init__(self, path: Path, spec: CatalogueSpec, place: StorePlace) -> None:
        super().__init__(path, spec, StoreDatabase(place.url, place.schema, catalogue=spec.name))
        self.label = f"{path.parent.name} in PostgreSQL"
        self._connections = Connections(place.url, place.schema)
        self._reached = Reached()
        self._thread = ThreadState()

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self._connections.close()

    def require_tables(self) -> None:
        """Read the state, if none was read yet."""
        if self._reached.token is None:
            self.require_settled()
            self.require_current()

    def state(self) -> StoreState:
        """Return what a view has to be up to: the last write that no writer withholds."""
        self.follow()
        return StoreState(
            self._reached.change_no, self.counter(INDEXED_VECTORS), self._reached.history
        )

    def find_state(self) -> StoreState | None:
        """Return the same, or None if reading it would wait, or there is another write."""
        seen, reached = self.database.find_state(wait=False), self._reached
        if seen is None or seen.moved_to or seen.token != reached.token:
            return None
        return StoreState(seen.change_no, seen.vector_no, reached.history)

    def find_mark(self, name: str) -> str | None:
        """Return the token of the last write, that of its history, or a row of `meta`."""
        known = {TOKEN: self._reached.token, HISTORY: self._reached.history}
        return known[name] if name in known else super().find_mark(name)

    def require_current(self) -> None:
        """Let readers see the last write; the history is another one where the former write is not
        known any more.
        """
        former = self._reached
        change_no, token, is_known = self.last_write(former.token or "")
        self._reached = Reached(
            change_no, token, former.history if is_known else secrets.token_hex(8)
        )

    def last_write(self, former: str) -> tuple[int, str, bool]:
        """Return the last change, the token of its write, and whether a former token is of its
        history.
        """
        change_no, token, is_known = self._find_row(LAST_WRITE, (former,))
        return change_no, token, is_known or not former

    def require_settled(self) -> None:
        """Raise BusyError if another server is writing an update that it withholds."""
        if (
            self._find_row("SELECT withheld FROM state")[0]
            and self.database.is_written_by_another()
        ):
            raise BusyError("another server is writing; ask again")

    def counter(self, name: str) -> int:
        """Return one of the counters of vectors."""
        return (
            self._seen.vector_no
            if name == INDEXED_VECTORS and self._seen
            else super().counter(name)
        )

    def note_indexed(self, vector_no: int) -> None:
        """Store that the index has the vectors of this number, so that readers of all servers open
        it.
        """
        if self.counter(INDEXED_VECTORS) < vector_no:
            with suppress(DatabaseLostError):
                self.database.note_published(vector_no)

    def rows(self, query: str, values: Any = ()) -> Iterator[Any]:
        """Yield the rows of a query of the SQLite store."""
        if self._thread.scratch is not None:
            yield from super().rows(query, values)
            return
        with failing_as_storage(), self._reading() as db:
            query = query.replace(
                "SELECT value FROM json_each(:ids)", "SELECT json_array_elements_text(:ids)"
            )
            asked = NAMED.sub(r"%(\1)s", query).replace("?", "%s")
            yield from db.cursor().stream(asked, values, binary=True)

    def _select(
        self, query: str, values: Sequence[int | str | bytes], *first: int | str
    ) -> list[Any]:
        if self._thread.scratch is not None:
            return super()._select(query, values, *first)
        asked = query.replace("IN ({})", "= ANY(?)")
        return list(self.rows(asked, (*first, _storable(values))))

    def _find_row(self, query: str, values: Any = ()) -> Any:
        # to the end, or the connection would be in use
        return next(iter(list(self.rows(query, values))), None)

    @contextmanager
    def _reading(self) -> "Iterator[psycopg.Connection[Any]]":
        """Use the connection of this thread's transaction, or any, for one statement."""
        if self._thread.remote is not None:
            yield self._thread.remote
            return
        connection = self._connections.take()
        connection.autocommit = True  # spares two round trips
        try:
            yield connection
        finally:
            if not connection.closed:
                connection.autocommit = False
            self._connections.give_back(connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read within one transaction, unaffected by concurrent writes."""
        if self._thread.scratch is not None or self._thread.remote is not None:
            yield
            return
        with self._connections.writing() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._thread.remote = connection
            try:
                yield
            finally:
                self._thread.remote = None

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        *,
        expected: Mapping[RecordId, int] | None = None,
        switch: Switch | None = None,
    ) -> int:
        """Commit the changes in one transaction, unless a record moved."""
        puts = [change for change in changes if isinstance(change, Put)]
        self._thread.wanted = {
            "ids": [
                change.record.id if isinstance(change, Put) else change.id for change in changes
            ],
            "expected": expected or (),
            "digests": [put.embedding.digest for put in puts if put.embedding],
            "models": [switch.model.name] if switch and switch.model else (),
        }
        return super().apply(changes, author, expected=expected, switch=switch)

    def add_vectors(
        self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]
    ) -> int:
        """Store vectors of texts, and return how many of these records still have that text."""
        self._thread.wanted = {**NOTHING, "ids": digests, "digests": vectors}
        return super().add_vectors(digests, vectors)

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one."""
        self._thread.wanted = {**NOTHING, "digests": vectors, "models": [model.name]}
        super().keep_vectors(model, vectors)

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write in one transaction, which the next reader here sees, whether or not the look-up of
        the state works.
        """
        with super()._writing() as db:
            yield db
        with suppress(BusyError):
            self.require_current()

    @contextmanager
    def _writing_file(self) -> Iterator[apsw.Connection]:
        """Write to a file in memory, which this thread reads meanwhile."""
        with closing(apsw.Connection(":memory:")) as db:
            db.create_scalar_function(SUM, row_sum, deterministic=True)
            create_tables(db)
            self._thread.scratch = db
            try:
                with self._failing(), db:
                    yield db
            finally:
                self._thread.scratch = None

    def _copy_rows(self, remote: "psycopg.Connection[Any]", db: apsw.Connection) -> None:
        """Bring in the rows that a write may touch, and the numbers that it goes on from."""
        wanted, self._thread.wanted = self._thread.wanted, NOTHING
        meta = dict(remote.execute("SELECT name, value FROM meta").fetchall())
        set_meta(db, meta)
        values = {name: _storable(some) for name, some in wanted.items()}
        values["models"].append(meta.get("model", ""))
        for table, where in STATEMENTS["wanted"].items():
            rows = remote.cursor(binary=True).execute(
                f"SELECT {names_of(table)} FROM {table} WHERE {where}", values
            )
            insert_rows(db, table, rows)
        reserve_keys(db, (remote.execute(LAST_KEY).fetchone() or (0,))[0] or 0)

    def _touch_embedded(self, db: apsw.Connection, _model: ModelId, _author: Author) -> None:
        """Give the vectors the next number, by which readers notice them: logging every record
        would take too long.
        """
        set_meta(db, {STORED_VECTORS: str(self.counter(STORED_VECTORS) + 1)})

    def _db(self) -> apsw.Connection:
        assert self._thread.scratch is not None, (
            "there is a file in memory only while something is written"
        )
        return self._thread.scratch

    def _index_by_id(self) -> None:
        """Do nothing: the database has the index."""


def _storable(values: Iterable[Any]) -> list[Any]:
    """Return the values that PostgreSQL can have: no text with a lone surrogate or NUL."""
    return [
        one
        for one in values
        if not isinstance(one, str) or ("\0" not in one and keepable([RecordId(one)]))
    ]
