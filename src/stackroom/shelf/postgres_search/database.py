"""Connections to PostgreSQL, the tables of an index, and snapshots: a transaction that sees the
index of one moment.

Each build of an index is a schema of its own, its *generation*; `search_index` in the schema of the
catalogue names the present one. A snapshot of a former one keeps its schema from being dropped,
until it is closed or idle for too long.
"""

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from stackroom.errors import BusyError, InputError, StorageError
from stackroom.model.record import Key
from stackroom.model.vectors import Vector
from stackroom.shelf.port import KeyRange
from stackroom.shelf.postgres.store_database import (
    ALIVE,
    CONNECT_S,
    WORK,
    find_progress,
    index_prefix,
    is_lost,
    plan,
    why_lost,
)
from stackroom.shelf.postgres_search.postings import BLOCK_KEYS
from stackroom.toml_text import load_packaged

# the first version whose index goes on where a filter has left out what it found
OLDEST_PGVECTOR = (0, 8)
EXTENSION_SCHEMA = "public"  # where the extension is put, if it is not there yet
PATH = f"""
SELECT set_config('search_path', concat_ws(', ', quote_ident(%s), coalesce((
    SELECT quote_ident(nspname)
    FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
    WHERE extname = 'vector'), '{EXTENSION_SCHEMA}')), %s)"""
DROP_WAIT_MS, IDLE_CONNECTIONS = 50, 4

KEYS = "SELECT coalesce(min(key), 0), coalesce(max(key), 0), count(*) FROM records"
CHANGED = "the catalogue has changed since it was read; ask again"
CONTROL = (
    "CREATE TABLE IF NOT EXISTS search_index (generation integer NOT NULL, digest text NOT NULL)"
)
STATEMENTS = load_packaged(__package__, "statements.toml")
PART_RECORDS, MOST_PARTS = 1_000_000, 32
"""For how many records there is a part where their number is not set, and the most that there are
by this rule.
"""
INDEXING, INDEXING_PARTS = "indexing", "indexes of parts"
"""The kinds of work of a build: ranges of keys, then the indexes of each part."""


class Reached(NamedTuple):
    """The state of the store that an index has, with the mean that was subtracted from its
    vectors.
    """

    change_no: int
    vector_no: int
    token: str  # the token of the store's last write that it has
    mean: bytes | None
    mean_of: int  # the number of vectors that the mean was measured of
    digest: str  # what the index is made by


class Connections:
    """Connections to the database of an index; those that are let go of are used again.
    Thread-safe.
    """

    def __init__(self, url: str, schema: str) -> None:
        self._url = url.replace("+psycopg", "", 1)
        self._schema = schema
        self._idle: list[psycopg.Connection[Any]] = []
        self._guard = threading.Lock()
        self._is_closed = False

    def take(self) -> "psycopg.Connection[Any]":
        """Return a connection, which is given back after use."""
        while self._idle:
            # taken by another thread, or ended by the server meanwhile
            with suppress(IndexError, psycopg.Error):
                connection = self._idle.pop()
                connection.autocommit = True  # spares two round trips
                connection.execute("SELECT 1")
                connection.autocommit = False
                return connection
        return self._connect()

    def give_back(self, connection: "psycopg.Connection[Any]") -> None:
        """End the transaction of a connection, and keep it for the next."""
        with suppress(psycopg.Error):
            connection.rollback()
        with self._guard:
            if not connection.closed and not self._is_closed and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def writing(self, schema: str | None = None) -> "Iterator[psycopg.Connection[Any]]":
        """Open a transaction that ends with the block, in a generation's schema if one is given."""
        connection = self.take()
        try:
            with failing_as_storage(), connection.transaction():
                connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                if schema is not None:
                    enter(connection, schema)
                yield connection
        finally:
            self.give_back(connection)

    @contextmanager
    def working(self, schema: str) -> "Iterator[psycopg.Connection[Any]]":
        """Use a connection of one's own in a generation's schema, whose transactions the block
        begins and ends.
        """
        with failing_as_storage(), closing(self.take()) as connection:
            connection.autocommit = True
            connection.execute("SET idle_in_transaction_session_timeout = 0")
            enter(connection, schema, until="SESSION")
            yield connection

    def _connect(self) -> "psycopg.Connection[Any]":
        try:
            connection = psycopg.connect(self._url, connect_timeout=CONNECT_S, **ALIVE)
        except psycopg.Error as error:
            raise BusyError(f"PostgreSQL does not answer: {why_lost(error)}; try again") from error
        with failing_as_storage():
            for name, value in STATEMENTS["session"].items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            connection.execute(
                sql.SQL("SET search_path TO {}").format(sql.Identifier(self._schema))
            )
            connection.commit()
        return connection


@contextmanager
def failing_as_storage() -> Iterator[None]:
    """Raise PostgreSQL's errors as StorageError, or as BusyError if the connection is lost."""
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise BusyError("another server is writing the index; try again") from error
    except psycopg.Error as error:
        if is_lost(error):
            raise BusyError(
                f"PostgreSQL does not answer: {_first_line(error)}; try again"
            ) from error
        raise StorageError(
            f"the index in PostgreSQL cannot be used: {_first_line(error)}"
        ) from error


def _first_line(error: psycopg.Error) -> str:
    return str(error).partition("\n")[0]


def enter(connection: "psycopg.Connection[Any]", schema: str, *, until: str = "LOCAL") -> None:
    """Let the names of tables mean those of a generation, until the transaction or the SESSION
    ends.
    """
    connection.execute(PATH, (schema, until == "LOCAL"))


def require_pgvector(connection: "psycopg.Connection[Any]") -> None:
    """Create the extension if it is missing, and refuse one that is too old."""
    try:
        with connection.transaction():
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS vector SCHEMA {EXTENSION_SCHEMA}")
    except psycopg.errors.UniqueViolation:
        pass  # another process has created it meanwhile
    except psycopg.Error as error:
        raise InputError(
            f"search in PostgreSQL needs the extension pgvector 0.8 or later: {_first_line(error)};"
            " install it, and run as a superuser: CREATE EXTENSION vector"
        ) from error
    ((version,),) = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchall()
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise InputError(f"search in PostgreSQL needs pgvector 0.8 or later; this is {version}")


class Generations:
    """The generations of one catalogue's index."""

    def __init__(self, connections: Connections, schema: str) -> None:
        self.connections = connections
        self._prefix = index_prefix(schema)

    def schema(self, generation: int) -> str:
        """Return the schema of a generation."""
        return f"{self._prefix}{generation}"

    def find(self, db: "psycopg.Connection[Any]") -> tuple[int, str] | None:
        """Return the present generation and the digest of what it is made by."""
        if db.execute("SELECT to_regclass('search_index')").fetchone() == (None,):
            return None
        return db.execute("SELECT generation, digest FROM search_index").fetchone()

    def create(self, reached: Reached, *, dimension: int | None, parts: int) -> int:
        """Create the empty tables of the next generation, which is not the present one yet, and
        plan its build.
        """
        with self.connections.writing() as db:
            require_pgvector(db)
            db.execute(CONTROL)
            ((first, last, records),) = db.execute(KEYS).fetchall()
        parts = parts or min(1 + records // PART_RECORDS, MOST_PARTS)
        number = max([0, *self._list(), *self._present()]) + 1
        schema = self.schema(number)
        with self.connections.writing() as db:
            db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
            enter(db, schema)
            db.execute(
                STATEMENTS["tables"].format(dimension=f"({dimension:d})" if dimension else "")
                + WORK
            )
            for part in range(parts):
                db.execute(STATEMENTS["part"].format(part=part, parts=parts))
            db.execute("INSERT INTO reached VALUES (%s, %s, %s, %s, %s, %s)", reached)
            before = first // BLOCK_KEYS * BLOCK_KEYS - 1  # a range is a block of postings
            plan(db, INDEXING, KeyRange(Key(before), Key(last)), step=BLOCK_KEYS)
            plan(db, INDEXING_PARTS, KeyRange(Key(0), Key(parts)), step=1)
        return number

    def find_unpublished(self) -> tuple[int, Reached] | None:
        """Return the generation that is being built, or whose build was broken off, and the state
        it will have.
        """
        last = max(self._list(), default=0)
        if not last or last in self._present():
            return None
        with self.connections.writing(self.schema(last)) as db:
            ((*reached,),) = db.execute("SELECT * FROM reached").fetchall()
        return last, Reached(*reached)

    def find_progress(self) -> dict[str, dict[str, Any]]:
        """Return how far the last build is, what it cost, and a failure."""
        with self.connections.writing(self.schema(max(self._list(), default=0))) as db:
            return (
                find_progress(db)
                if db.execute("SELECT to_regclass('work')").fetchone() != (None,)
                else {}
            )

    def publish(self, generation: int, digest: str) -> None:
        """Make a generation the present one. Commit point of a build."""
        with self.connections.writing() as db:
            db.execute("DELETE FROM search_index")
            db.execute("INSERT INTO search_index VALUES (%s, %s)", (generation, digest))

    def drop_former(self) -> None:
        """Drop the generations that are not the present one and that no snapshot is of."""
        for number in set(self._list()).difference(self._present()):
            with suppress(StorageError), self.connections.writing() as db:
                db.execute(f"SET LOCAL lock_timeout = {DROP_WAIT_MS}")
                db.execute(
                    sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.schema(number)))
                )

    def _present(self) -> list[int]:
        with self.connections.writing() as db:
            found = self.find(db)
        return [found[0]] if found else []

    def _list(self) -> list[int]:
        prefix = self.schema(0)[:-1]
        with self.connections.writing() as db:
            query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
            return [int(name.removeprefix(prefix)) for (name,) in db.execute(query, (prefix,))]


class Snapshot:
    """A transaction that sees one generation of an index as it was when it began. Thread-safe."""

    def __init__(self, generations: Generations, *, built: int | None = None) -> None:
        self._generations = generations
        self._built = built
        """The generation that it is of, where that is not the present one."""
        self._guard = threading.RLock()
        self.is_over = False  # whether what it was of can be read no more
        self.generation, self.digest = 0, ""
        self.reached = Reached(0, 0, "", None, 0, "")
        self._begin()

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; a transaction that was idle for too long begins again if
        nothing has changed.
        """
        with self._guard, failing_as_storage():
            if self.is_over:
                raise BusyError(CHANGED)
            try:
                return self._run(query, values)
            except psycopg.Error as error:
                if not self._connection.closed:
                    raise
                self._resume(error)
                return self._run(query, values)

    def _run(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connection.cursor(binary=True) as cursor:
            return cursor.execute(query, values, prepare=False).fetchall()

    def _begin(self) -> None:
        connections = self._generations.connections
        self._connection = connections.take()
        self.close = weakref.finalize(self, connections.give_back, self._connection)
        """Ends the transaction."""
        with failing_as_storage():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            found = (self._built, "") if self._built else self._generations.find(self._connection)
            if found is None:
                return
            self.generation, self.digest = found
            enter(self._connection, self._generations.schema(self.generation))
            ((*reached,),) = self._run("SELECT * FROM reached", ())
        self.reached = Reached(*reached)

    def _resume(self, error: Exception) -> None:
        """Begin another transaction, which must see the same state."""
        before = self.generation, self.reached
        self.close()
        self._begin()
        # another build numbers terms anew, and this one keeps some
        if (self.generation, self.reached) != before:
            self.is_over = True
            raise BusyError(CHANGED) from error


def vector_text(vector: Vector) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join([f"{number:.6g}" for number in vector.tolist()]) + "]"
