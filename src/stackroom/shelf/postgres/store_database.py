"""The store of a catalogue in PostgreSQL 15 or later: its tables, locks, transactions, and the
look-up of its state.

Each catalogue has a schema. Every transaction that writes holds the row of `state`, so that change
numbers have no gaps, and gets the next `revision`, which is in each row that it wrote: whoever
follows asks for the rows after the revision that they have. `writes` has a random token of each
revision. By it, a writer whose connection was lost while it committed finds out whether it did, and
a follower notices that the database was put back to an earlier state. Rows and their checksums are
those of the SQLite store.
"""

import hashlib
import logging
import math
import secrets
import selectors
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from os import getpid
from typing import Any, NamedTuple

import psycopg
from psycopg import pq, sql
from psycopg.abc import PQGen
from psycopg.copy import Copy, LibpqWriter
from psycopg.rows import dict_row
from psycopg.waiting import Wait

from stackroom.errors import BusyError, ConflictError, ExpectedError, StorageError
from stackroom.model.record import Key
from stackroom.shelf.lock import EmbeddingElsewhereError
from stackroom.shelf.port import KeyRange
from stackroom.toml_text import load_packaged

LAYOUT = 1
STATEMENTS = load_packaged(__package__, "statements.toml")
WORK = STATEMENTS["work"]
# how much of the name of a catalogue's schema is in those of its index: PostgreSQL cuts names at 63
NAME_CHARS = 30
LOOK_UP = b"SELECT change_no, vector_no, revision, token, withheld, moved_to FROM state"
WRITES_KEPT = "30 days"
LOCK_WAIT_S = 10
LOOK_UP_S = 2.0  # how long the look-up of the state may take before the database counts as lost
RECONNECT_S = 1.0  # how long to wait between two attempts to connect again
CONNECT_S = 3
ALIVE: dict[str, Any] = {"tcp_user_timeout": 10_000, "keepalives_idle": 10}  # for hosts that vanish
UNSURE_S = 10.0  # how long a writer tries to find out whether its transaction was committed
LOST = (
    "the database of catalogue '{}' does not answer; nothing was changed, try again in a few"
    " seconds"
)
UNSURE = (
    "the database of catalogue '{}' was lost while it stored the change; look at the history before"
    " trying again"
)
CHUNK_BYTES = 128 << 10
EMBEDDING = "embedding"  # the kind of work that is embedding texts
KEYS_AT_ONCE = 2_000  # the keys of a range: some minutes of embedding on one core
PAUSE_S = 0.05
LEFT = "SELECT count(*) FROM work WHERE kind = %s AND done_at IS NULL"
FAILED = (
    "UPDATE work SET worker = %s, failures = failures + 1, error = %s WHERE kind = %s AND after_key"
    " = %s"
)

logger = logging.getLogger(__name__)


def index_prefix(schema: str) -> str:
    """Return how the names of the schemas begin that have the index of a catalogue's schema, one
    for each build.
    """
    digest = hashlib.blake2b(schema.encode(), digest_size=4).hexdigest()
    return f"{schema[:NAME_CHARS]}_{digest}_search_"


class DatabaseLostError(BusyError):
    """The database of a catalogue does not answer; it is tried again."""


class DatabaseState(NamedTuple):
    """The last change, the last published vectors and the last transaction of a store."""

    change_no: int
    vector_no: int
    revision: int
    token: str
    is_withheld: bool  # whether a writer keeps its update from readers until it is judged
    moved_to: str  # where the records are now; empty where they are here


def wait_for(step: Callable[[], bool], *, within_s: float) -> bool:
    """Try a step until it returns true; False if the time is over."""
    ends_at = time.monotonic() + within_s
    while not step():
        if time.monotonic() >= ends_at:
            return False
        threading.Event().wait(PAUSE_S)
    return True


class SharedWork:
    """The ranges of keys of one kind of work that one worker takes, of any number on any machine,
    until all are done.

    It holds a range by the lock on its row, by a connection of its own, so that one that is killed
    or cut off gives it back. What is written by the same connection is committed with the range,
    whole or not at all; texts are embedded apart, and whoever takes their range next embeds only
    what is missing. What a range cost, and how often it failed, stays in its row until the next
    plan. As a context manager, it leaves its range to others if the block fails.
    """

    def __init__(self, db: psycopg.Connection[Any], kind: str, *, wait_s: float = math.inf) -> None:
        self._db = db
        self._kind = kind
        self._wait_s = wait_s
        """How long to wait for others that hold what is left."""
        self._worker = f"{socket.gethostname()}:{getpid()}"
        self._held: KeyRange | None = None
        self._began = 0.0
        self.items = 0
        """How many texts or records the present range has, for the account."""

    def __enter__(self) -> "SharedWork":
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Leave the present range to others; the reason is noted where it failed."""
        if self._held is None or self._db.closed:
            return
        self._db.execute("ROLLBACK")
        if isinstance(error, Exception):
            told = error.message if isinstance(error, ExpectedError) else type(error).__name__
            self._db.execute(FAILED, (self._worker, told, self._kind, self._held.after))

    def __iter__(self) -> Iterator[KeyRange]:
        while (held := self._take()) is not None:
            yield held
            self._finish()

    def plan_anew(self, keys: KeyRange | None) -> None:
        """Cut keys into ranges, unless there are some left of the plan before."""
        with self._db.transaction():
            self._db.execute("LOCK TABLE work IN SHARE ROW EXCLUSIVE MODE")
            if count_left(self._db, self._kind):
                return
            self._db.execute("DELETE FROM work WHERE kind = %s", (self._kind,))
            if keys is not None:
                plan(self._db, self._kind, keys, step=KEYS_AT_ONCE)

    def _take(self) -> KeyRange | None:
        """Hold a range that no other worker holds, or None if all are done."""
        if not wait_for(
            lambda: self._has_taken() or not count_left(self._db, self._kind), within_s=self._wait_s
        ):
            raise EmbeddingElsewhereError("other workers have what is left")
        return self._held

    def _has_taken(self) -> bool:
        self._db.execute("BEGIN")
        row = self._db.execute(STATEMENTS["take"], (self._kind,)).fetchone()
        if row is None:
            self._db.execute("ROLLBACK")
            return False
        self._held = KeyRange(Key(row[0]), Key(row[1]))
        self._began = time.monotonic()
        self.items = 0
        if self._kind == EMBEDDING:
            self.items = (
                self._db.execute(STATEMENTS["count_texts"], self._held).fetchone() or (0,)
            )[0]
        return True

    def _finish(self) -> None:
        assert self._held is not None
        seconds = time.monotonic() - self._began
        self._db.execute(
            STATEMENTS["done"], (self._worker, self.items, seconds, self._kind, self._held.after)
        )
        self._db.execute("COMMIT")  # commit point of a range
        self._held = None


def plan(db: psycopg.Connection[Any], kind: str, keys: KeyRange, *, step: int) -> None:
    """Cut keys into ranges of so many."""
    db.execute(STATEMENTS["plan"], {**keys._asdict(), "kind": kind, "step": step})


def count_left(db: psycopg.Connection[Any], kind: str) -> int:
    """Return how many ranges are not done."""
    return int((db.execute(LEFT, (kind,)).fetchone() or (0,))[0])


def find_progress(db: psycopg.Connection[Any]) -> dict[str, dict[str, Any]]:
    """Return how far the present plan of each kind is, what it cost, and a failure."""
    return {
        row.pop("kind"): row
        for row in db.cursor(row_factory=dict_row).execute(STATEMENTS["progress"])
    }


class StoreDatabase:
    """The tables of one catalogue, by a connection for look-ups and one for everything else.

    Safe to use from several threads: those that read or write rows wait for each other.
    """

    def __init__(
        self,
        url: str,
        schema: str,
        *,
        catalogue: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.schema = schema
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._name = catalogue
        self._monotonic = monotonic
        self._work: psycopg.Connection[Any] | None = None
        self._guard = threading.RLock()
        self._watch: psycopg.Connection[Any] | None = None
        self._watch_guard = threading.Lock()
        self._retry_at = 0.0
        self._held = 0
        """How many blocks of `exclusive` there are; the lock goes with the connection that took
        it.
        """
        self.is_lost = False
        self._opened: list[psycopg.Connection[Any]] = []
        # A shelf that is let go of is used until its last view is gone.
        weakref.finalize(self, _close_all, self._opened)

    def close(self) -> None:
        """Close the connections."""
        _close_all(self._opened)
        self._work = self._watch = None

    def create(self, *, mark: str = "", is_known: bool = False) -> None:
        """Create the tables if they are missing; with a mark, for a catalogue that is being moved
        there.

        Those of a known catalogue are there, unless the address means another database, or one that
        was put back. The schema is its own: it is dropped with everything in it.
        """
        with self._working() as db, db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock_id("writer"),))
            if db.execute("SELECT to_regclass('state')").fetchone() != (None,):
                return
            if is_known:
                raise StorageError(
                    f"the database has no tables of catalogue '{self._name}'; put them back"
                )
            if db.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.schema,)
            ).fetchone():
                raise ConflictError(
                    f"the schema '{self.schema}' is there already; choose another by --schema"
                )
            db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema)))
            db.execute(STATEMENTS["tables"] + WORK)
            token = secrets.token_hex(16)
            db.execute(
                "INSERT INTO state (layout, token, moved_to) VALUES (%s, %s, %s)",
                (LAYOUT, token, mark),
            )
            db.execute(
                "INSERT INTO writes (revision, token, change_no) VALUES (0, %s, 0)", (token,)
            )

    def drop(self) -> None:
        """Remove the tables with everything in them, and those of an index in the database."""
        with self._working() as db:
            query = (
                "SELECT nspname FROM pg_namespace WHERE nspname = %s OR starts_with(nspname, %s)"
            )
            for (name,) in db.execute(query, (self.schema, index_prefix(self.schema))).fetchall():
                db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))

    def find_state(self, *, wait: bool = True) -> DatabaseState | None:
        """Return the state, or None if the database does not answer, or it is not to be waited for
        and is busy.
        """
        if not self._watch_guard.acquire(blocking=wait and not self.is_lost):
            return None
        try:
            return self._look_up(connect=wait, within_s=LOOK_UP_S if wait else LOOK_UP_S / 100)
        except (psycopg.Error, OSError, TimeoutError) as error:
            if wait:
                if not self.is_lost:
                    logger.warning(
                        "the database of catalogue '%s' does not answer: %s",
                        self._name,
                        why_lost(error),
                    )
                self.is_lost = True
                if self._monotonic() >= self._retry_at:
                    self._retry_at = self._monotonic() + RECONNECT_S
            return None
        finally:
            self._watch_guard.release()

    def _look_up(self, *, connect: bool, within_s: float) -> DatabaseState:
        """Ask for the state without waiting for longer than so: libpq itself would wait for
        minutes.
        """
        if self._watch is None or self._watch.closed:
            if not connect or self._monotonic() < self._retry_at:
                raise TimeoutError("not connected")
            self._watch = self._connect()
        try:
            row = _ask(self._watch.pgconn, LOOK_UP, within_s=within_s)
        except (psycopg.Error, OSError, TimeoutError):
            self._watch.close()
            raise
        self.is_lost = False
        change_no, vector_no, revision, token, withheld, moved_to = row
        return DatabaseState(
            int(change_no), int(vector_no), int(revision), token, withheld == "t", moved_to
        )

    @contextmanager
    def reading(self) -> Iterator[psycopg.Connection[Any]]:
        """Read within one snapshot."""
        with self._working() as db, db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield db

    @contextmanager
    def writing(self, *, mark: str = "") -> Iterator["WriteTransaction"]:
        """Write in one transaction, as the only writer of all servers; it is rolled back unless it
        is committed.

        A catalogue that is being moved here is written to by whoever knows its mark.
        """
        # readers use the connection meanwhile
        wait_for(lambda: not self.is_written_by_another(), within_s=LOCK_WAIT_S)
        with self._working() as db:
            try:
                db.execute("BEGIN")
                db.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock_id("writer"),))
                moved_to, revision = db.execute(
                    "SELECT moved_to, revision FROM state FOR UPDATE"
                ).fetchone() or ("", 0)
                if moved_to != mark:
                    raise StorageError(
                        "the catalogue was moved out of this database; nothing was changed"
                    )
                yield WriteTransaction(db, revision)
            finally:
                if not db.closed and db.info.transaction_status != pq.TransactionStatus.IDLE:
                    db.execute("ROLLBACK")

    def commit(self, writer: "WriteTransaction") -> None:
        """Commit a transaction; if the connection is lost meanwhile, find out whether it was
        committed.
        """
        try:
            writer.db.execute("COMMIT")  # commit point of a write
        except psycopg.OperationalError:
            if not self._is_written(writer.token):
                raise
        writer.is_committed = True

    def _is_written(self, token: str) -> bool:
        """Tell whether the transaction of a token was committed; its locks end with it, so they are
        waited for.
        """
        ends_at = self._monotonic() + UNSURE_S
        while self._monotonic() < ends_at:
            with suppress(psycopg.OperationalError), self._connect() as db:
                db.execute("SELECT pg_advisory_lock(%s)", (self._lock_id("writer"),))
                return (
                    db.execute("SELECT 1 FROM writes WHERE token = %s", (token,)).fetchone()
                    is not None
                )
            threading.Event().wait(0.1)
        raise DatabaseLostError(UNSURE.format(self._name))

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep every other writer, on all servers, away for several transactions."""
        with self._locked("writer", wait_s=LOCK_WAIT_S, error_type=BusyError):
            self._held += 1
            try:
                yield
            finally:
                self._held -= 1

    @contextmanager
    def withheld(self) -> Iterator[None]:
        """Keep the copies of other servers at the state before until the block ends. The write lock
        is held.
        """
        self.note("withheld", True)
        try:
            yield
        finally:
            self.note("withheld", False)

    def sole_embedder(self, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold the right to add vectors over all servers. A lost connection loses it: some texts
        are embedded twice.
        """
        return self._locked("embedder", wait_s=wait_s, error_type=EmbeddingElsewhereError)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Read and write what is not part of the history, all or nothing."""
        with self._working() as db, db.transaction():
            yield db

    @contextmanager
    def shared_work(self, unembedded: KeyRange | None, *, wait_s: float) -> Iterator[SharedWork]:
        """Share the texts to embed with workers on other servers; one that embeds alone keeps all
        of them away.
        """
        with closing(self._reconnected()) as db, self._failing(db):
            query, lock_id = "SELECT pg_try_advisory_lock_shared(%s)", self._lock_id("embedder")
            if not wait_for(
                lambda: db.execute(query, (lock_id,)).fetchone() == (True,), within_s=wait_s
            ):
                raise EmbeddingElsewhereError(
                    f"catalogue '{self._name}' is embedded by another server alone"
                )
            with SharedWork(db, EMBEDDING, wait_s=wait_s) as work:
                work.plan_anew(unembedded)
                yield work

    def find_progress(self) -> dict[str, dict[str, Any]]:
        """Return how far workers are with the texts to embed, what it cost, and a failure."""
        with self._working() as db:
            return find_progress(db)

    @contextmanager
    def _locked(self, name: str, *, wait_s: float, error_type: type[BusyError]) -> Iterator[None]:
        lock_id, query = self._lock_id(name), "SELECT pg_try_advisory_lock(%s)"

        def has_taken() -> bool:
            with self._working() as db:
                return db.execute(query, (lock_id,)).fetchone() == (True,)

        if not wait_for(has_taken, within_s=wait_s):
            raise error_type(f"catalogue '{self._name}' is being written by another server")
        try:
            yield
        finally:
            with suppress(DatabaseLostError), self._working() as db:
                db.execute("SELECT pg_advisory_unlock(%s)", (lock_id,))

    def is_written_by_another(self) -> bool:
        """Tell whether another connection holds the write lock."""
        # the lock is given back in any transaction
        with self._working() as db, db.transaction(force_rollback=True):
            query = "SELECT pg_try_advisory_xact_lock(%s)"
            return db.execute(query, (self._lock_id("writer"),)).fetchone() != (True,)

    def note(self, column: str, value: Any) -> None:
        """Set a column of the state that is not part of a transaction."""
        with self._working() as db:
            db.execute(sql.SQL("UPDATE state SET {} = %s").format(sql.Identifier(column)), (value,))

    def note_published(self, vector_no: int) -> None:
        """Store that vectors of this number are to be seen, so that every server publishes them."""
        with self._working() as db:
            db.execute(
                "UPDATE state SET vector_no = %s WHERE vector_no < %s", (vector_no, vector_no)
            )

    @contextmanager
    def _working(self) -> Iterator[psycopg.Connection[Any]]:
        """Use the connection for rows."""
        with self._guard, self._failing(self._connected()) as db:
            yield db

    @contextmanager
    def _failing(self, db: psycopg.Connection[Any]) -> Iterator[psycopg.Connection[Any]]:
        """Raise PostgreSQL's errors as our own."""
        try:
            yield db
        except psycopg.errors.LockNotAvailable as error:
            raise BusyError(
                f"catalogue '{self._name}' is being written by another server"
            ) from error
        except psycopg.Error as error:
            # a replica now
            if is_lost(error) or isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                db.close()
                self.is_lost = True  # until the state is looked up again
                raise DatabaseLostError(LOST.format(self._name)) from error
            raise StorageError(
                f"the database of catalogue '{self._name}' refused: {error}"
            ) from error

    def _connected(self) -> psycopg.Connection[Any]:
        """Return the connection for rows, connected again if it was lost, but for one that had a
        lock.
        """
        if self._work is not None:
            try:
                _ask(self._work.pgconn, b"SELECT 1", within_s=LOOK_UP_S)
                return self._work
            except (psycopg.Error, OSError, TimeoutError):
                self._work.close()
        if self._work is None or not self._held:
            self._work = self._reconnected()
            return self._work
        raise DatabaseLostError(LOST.format(self._name))  # the lock went with the connection

    def _reconnected(self) -> psycopg.Connection[Any]:
        try:
            return self._connect()
        except psycopg.Error as error:
            raise DatabaseLostError(LOST.format(self._name), detail=why_lost(error)) from error

    def _connect(self) -> psycopg.Connection[Any]:
        db: psycopg.Connection[Any] = psycopg.connect(
            self._url, autocommit=True, connect_timeout=CONNECT_S, **ALIVE
        )
        db.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self.schema)))
        db.execute(f"SET lock_timeout = '{LOCK_WAIT_S}s'")
        db.execute("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
        self._opened[:] = [db, *(one for one in self._opened if not one.closed)]
        return db

    def _lock_id(self, name: str) -> int:
        """Return the number of a lock of this catalogue."""
        digest = hashlib.sha256(f"stackroom {self.schema} {name}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


def _close_all(connections: list[psycopg.Connection[Any]]) -> None:
    while connections:
        connections.pop().close()


class WriteTransaction:
    """A transaction of a store: rows are added to it, then it is committed."""

    def __init__(self, db: psycopg.Connection[Any], revision_before: int) -> None:
        self.db = db
        self.token = secrets.token_hex(16)
        self.revision_before = revision_before
        self.revision = 0
        """The number of this transaction; 0 while it has written nothing."""
        self.is_committed = False

    def begin(self, change_no: int) -> None:
        """Note that this transaction writes."""
        self._set_state(change_no, self.revision_before + 1)
        kept = f"DELETE FROM writes WHERE at < now() - interval '{WRITES_KEPT}' AND revision < %s"
        self.db.execute(kept, (self.revision_before,))

    def begin_history(self, change_no: int, *, revision: int) -> None:
        """Make this transaction the one that everything in the database comes from."""
        self.db.execute("DELETE FROM writes")
        self._set_state(change_no, revision)

    def _set_state(self, change_no: int, revision: int) -> None:
        self.revision = revision
        insert = "INSERT INTO writes (revision, token, change_no) VALUES (%s, %s, %s)"
        self.db.execute(insert, (revision, self.token, change_no))
        update = "UPDATE state SET change_no = %s, revision = %s, token = %s"
        self.db.execute(update, (change_no, revision, self.token))


class _SendingWriter(LibpqWriter):
    """Waits until everything is sent: libpq keeps the rest, and moves all of it in memory with each
    part it sends.
    """

    def write(self, data: Any) -> None:
        """Send data."""
        for start in range(0, len(data), CHUNK_BYTES):
            super().write(data[start : start + CHUNK_BYTES])
            self.connection.wait(self._sending())

    def _sending(self) -> PQGen[None]:
        while self.connection.pgconn.flush():
            yield Wait.W


@contextmanager
def copying(db: "psycopg.Connection[Any]", statement: str) -> Iterator[Copy]:
    """Begin a COPY FROM STDIN; all of it is sent when the context ends."""
    cursor = db.cursor()
    with cursor.copy(statement, writer=_SendingWriter(cursor)) as copy:
        yield copy


def is_lost(error: psycopg.Error) -> bool:
    """Tell whether an error means that the connection is lost, or its server is ending."""
    return isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08").startswith(
        ("08", "57P")
    )


def why_lost(error: Exception) -> str:
    """Say why there is no connection, without what the driver quotes of the address: it may be of
    the password.
    """
    if isinstance(error, psycopg.ProgrammingError):
        return "its address is not valid; in a password, write %25 for %, %40 for @ and %2F for /"
    return str(error).partition("\n")[0].rpartition(": ")[2].strip() or type(error).__name__


def _ask(connection: pq.abc.PGconn, query: bytes, *, within_s: float) -> list[str]:
    """Return the one row of a query, as texts; raise TimeoutError if it does not come in time."""
    ends_at = time.monotonic() + within_s
    connection.send_query(query)
    with selectors.DefaultSelector() as selector:
        selector.register(connection.socket, selectors.EVENT_READ)
        while connection.flush() or connection.is_busy():
            if not selector.select(max(0.0, ends_at - time.monotonic())):
                raise TimeoutError("no answer in time")
            connection.consume_input()
    result = connection.get_result()
    while connection.get_result() is not None:
        pass
    if result is None or result.status != pq.ExecStatus.TUPLES_OK or result.ntuples != 1:
        raise psycopg.OperationalError("the state of the store cannot be read")
    return [(result.get_value(0, column) or b"").decode() for column in range(result.nfields)]
