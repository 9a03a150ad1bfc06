"""The control database: connections, transactions, and translation of failures.

SQLite: a file of its own (mode 0600, WAL, synchronous=FULL), written under BEGIN IMMEDIATE. Before
each use its path is compared with the file that is open: one that took its place is opened, and
without one everything is refused. PostgreSQL: any database whose address is given (`postgresql`).
Commit point of every change: the end of `begin` or `change`.
"""

import importlib
import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    create_engine,
    event,
    exc,
    inspect,
    make_url,
    select,
    text,
    update,
)

from stackroom import LAYOUTS
from stackroom.control.database.tables import (
    control_version,
    create_tables,
    credentials,
    job_runs,
    job_settings,
    roles,
    schema_version,
    upgrade_tables,
    users,
    utc_now,
)
from stackroom.errors import InputError, StorageError
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import LOCAL_FILE

logger = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 5
LOG_AGAIN_S = 60.0
POOL_SIZE = 16
SCHEMA_VERSION = LAYOUTS["accounts"]
# brought to the present one when it is opened; others were steps before the first release
FORMER_VERSION = 7
SCHEMA_LOCK = 0x50494E414B4553  # the key of PostgreSQL's advisory lock: 'STACKROOM'
FORMS = "postgresql://USER:PASSWORD@HOST/NAME or sqlite:///PATH"
POSTGRESQL = re.compile(r"postgres(ql)?(\+\w+)?://")
# loaded where it is needed, since its driver is an extra
POSTGRESQL_MODULE = "stackroom.control.database.postgresql"
MISUSES = (exc.IntegrityError, exc.DataError, exc.NotSupportedError)
"""Errors of the database that mean a bug in this program."""
FOREIGN_SQLSTATES = ("42501", "42P01")
"""PostgreSQL: no permission; no such table. The database was changed from outside."""
REPLACED = "the control database was replaced"
FILE_STEP = 2**40  # added to the version of the rights for each file that took the place of another
VERSION_SQL = "SELECT number FROM control_version"
SNAPSHOT: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
WHOLE_ROWS = (users, roles, credentials, control_version, job_settings, job_runs)
"""Tables with an index of all columns, so that a file holds their rows twice and a check can
compare them; the audit has its hash chain.
"""
FileIdentity = tuple[int, int]  # device and inode
PAGES_AT_ONCE = 2_000
PUT_BACK = "put it back from a back-up, as by: stackroom restore --accounts"


class ControlDatabase:
    """The open control database. Safe to use from several threads and processes."""

    def __init__(self, engine: Engine, *, name: str, address: Any = None) -> None:
        """`address` is that of a PostgreSQL."""
        self.name = name
        """Its name in messages: the path, or host and database; never a password."""
        self.dialect = engine.dialect.name
        self._engine = engine
        self._writer = engine.execution_options(stackroom_writes=True)
        self._reader = engine if self.dialect == "sqlite" else engine.execution_options(**SNAPSHOT)
        self._file = _OpenedFile(str(engine.url.database)) if self.dialect == "sqlite" else None
        self._password = address.password if address else ""
        self.round_trips = None if address is None else address.round_trips(describe=self._reason)
        """The look-ups of every call, which servers of one PostgreSQL share; None on SQLite."""
        self._reopening = threading.Lock()
        self._more_tables: list[MetaData] = []
        self._changes = 0
        self._counting = threading.Lock()
        self._last_logged = ("", 0.0)

    @classmethod
    def open(cls, url: str) -> "ControlDatabase":
        """Open the database at this address, and create its tables if it is empty."""
        if POSTGRESQL.match(url):
            try:
                driver = importlib.import_module(POSTGRESQL_MODULE)
            except ImportError:
                advice = "the extra 'postgres': pip install 'psycopg[binary]'"
                raise InputError(f"PostgreSQL needs its driver, {advice}") from None
            address = driver.PostgresAddress.parse(url)
            database = cls(address.open_engine(), name=address.name, address=address)
        else:
            engine = _sqlite_engine(url)
            database = cls(engine, name=str(engine.url.database))
        try:
            database._require_schema()
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Close every connection."""
        if self._file is not None:
            self._file.close()
        if self.round_trips is not None:
            self.round_trips.close()
        self._engine.dispose()

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open a write transaction, committed if the block does not raise."""
        known = self._require_file()
        with self._transaction(self._writer) as connection:
            yield connection
        if self._file is not None and self._file.find() != known:
            raise StorageError(
                f"{REPLACED} while it was written to, and the change may be lost; try again"
            )

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """Open a transaction that changes rights; they run one at a time over all processes, and
        raise the version.
        """
        try:
            with self.begin() as connection:
                # First, so that its row lock serialises changes on PostgreSQL, as SQLite does
                # anyway.
                connection.execute(
                    update(control_version).values(number=control_version.c.number + 1)
                )
                yield connection
        finally:
            # After the commit and before the caller returns; a commit that reported a failure may
            # have happened.
            with self._counting:
                self._changes += 1

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read transaction over one snapshot."""
        self._require_file()
        with self._transaction(self._reader) as connection:
            yield connection

    def version(self) -> int:
        """Return the version of the rights, which grows with every change, and when the file or
        server is replaced.
        """
        if self.round_trips is not None:
            replaced, number = self.round_trips.version()
            return int(number + replaced * FILE_STEP)
        with self.read() as connection:
            number = int(connection.scalars(select(control_version.c.number)).one())
        return number + (self._file.replaced * FILE_STEP if self._file is not None else 0)

    def change_stamp(self) -> tuple[int, int] | None:
        """Return a token that differs after every change of rights; None if it cannot be read at
        once.

        Cheap (microseconds) and without waiting. On PostgreSQL it covers only changes by this
        process.
        """
        if self._file is None:
            return self._changes, 0
        version = self._file.find_version()
        return None if version is None else (self._changes, version)

    def create_missing(self, tables: MetaData) -> None:
        """Create the missing tables of a package, also in a file that is opened later."""
        self._require_file()
        self._more_tables.append(tables)
        self._create_missing(tables)

    def _create_missing(self, tables: MetaData) -> None:
        with self._transaction(self._reader) as connection:
            present = set(inspect(connection).get_table_names())
        if present.issuperset(tables.tables):
            return
        with self._transaction(self._writer) as connection:
            self._lock_schema(connection)
            tables.create_all(connection)

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        """Open a transaction; failures of the database, but not misuse of it, become
        StorageError.
        """
        try:
            with engine.begin() as connection:
                yield connection
        except (exc.SQLAlchemyError, UnicodeDecodeError) as error:
            if not _is_outage(error):
                raise
            detail = f"{self.name}: {self._reason(error)}"
            self._log_once(detail)
            raise StorageError(
                "the control database failed; try again in a while", detail=detail
            ) from error

    def _require_file(self) -> "FileIdentity | None":
        """Return the identity of the open file. Open another file that took its path; refuse if
        there is none.
        """
        if self._file is None:
            return None
        if self._file.find() == (known := self._file.known):
            self._file.note_log()
            return known
        with self._reopening:
            return self._reopen(self._file)

    def _reopen(self, file: "_OpenedFile") -> "FileIdentity":
        """Open the file that the path names now, if it is another one and can be used."""
        if (present := file.find()) == file.known and present is not None:
            return present
        problem = file.find_problem()
        if problem is not None or present is None:
            detail = f"{self.name}: {problem}"
            self._log_once(detail)
            raise StorageError(
                f"the control database was removed or replaced: {problem}", detail=detail
            )
        self._engine.dispose()
        _use_write_ahead_log(Path(file.path))
        with self._transaction(self._reader) as connection:
            if self._schema_version(connection) == 0:
                raise StorageError(
                    f"{REPLACED} by an empty one; put a copy of it back", detail=self.name
                )
        self._require_schema()
        for tables in self._more_tables:
            self._create_missing(tables)
        file.follow(present)  # from here on it is used
        with self._counting:
            self._changes += 1
        logger.warning(
            "the control database was replaced; the file that has its path now is open: %s",
            self.name,
        )
        return present

    def _log_once(self, detail: str) -> None:
        """Log a failure, unless it was the last one and recent, since every call meets it."""
        last, at = self._last_logged
        if detail != last or time.monotonic() - at >= LOG_AGAIN_S:
            self._last_logged = detail, time.monotonic()
            logger.error("the control database failed: %s", detail)

    def _reason(self, error: Exception) -> str:
        cause = (
            error.orig if isinstance(error, exc.DBAPIError) and error.orig is not None else error
        )
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        return lines[0].replace(self._password, "***") if self._password else lines[0]

    def _require_schema(self) -> None:
        """Create the tables of an empty database, or upgrade those of the former version; refuse
        any other version.
        """
        with self._transaction(self._reader) as connection:
            version = self._schema_version(connection)
        if version == FORMER_VERSION and (file := find_file(self)) is not None:
            kept = file.with_name(f"{file.name}.layout-{version}")
            copy_database(file, kept, lambda: None)
            told = (
                '%s is brought from layout %d to %d, which an older Stackroom refuses ("is newer'
                ' than this"); to go back, put this copy in its place: %s'
            )
            logger.warning(told, file.name, version, SCHEMA_VERSION, kept)
        if version in (0, FORMER_VERSION):
            version = self._create_schema()
        if version != SCHEMA_VERSION:
            kind = (
                "was never released" if version < SCHEMA_VERSION else "is newer than this Stackroom"
            )
            raise StorageError(
                f"{self.name}: the control database has version {version}, which {kind}; this"
                f" Stackroom reads version {SCHEMA_VERSION}: use the Stackroom that made it, or"
                " move the database away to begin with a new one"
            )
        if self.dialect == "sqlite":
            self._index_rows()

    def _index_rows(self) -> None:
        """Index every column of some tables: SQLite compares rows with indexes, and so finds a bit
        that changed.
        """
        indexes = {f"{table.name}_whole": ", ".join(table.c.keys()) for table in WHOLE_ROWS}
        with self._transaction(self._reader) as connection:
            present = set(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())
        if present.issuperset(indexes):
            return
        # Of a file that cannot be written, reads go on.
        with suppress(StorageError), self._transaction(self._writer) as connection:
            for name, columns in indexes.items():
                table = name.removesuffix("_whole")
                connection.exec_driver_sql(
                    f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({columns})"
                )

    def _create_schema(self) -> int:
        """Create or upgrade the tables, unless another process has done so; return the version."""
        with self._transaction(self._writer) as connection:
            self._lock_schema(connection)
            version = self._schema_version(connection)
            if version not in (0, FORMER_VERSION):
                return version
            # made anew over the new columns
            for table in WHOLE_ROWS if self.dialect == "sqlite" else ():
                connection.exec_driver_sql(f"DROP INDEX IF EXISTS {table.name}_whole")
            (create_tables if version == 0 else upgrade_tables)(connection)
            connection.execute(schema_version.insert(), {"version": SCHEMA_VERSION})
        return SCHEMA_VERSION

    def _lock_schema(self, connection: Connection) -> None:
        """Let one process at a time change tables; on SQLite a write transaction does that."""
        if self.dialect == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})

    def _schema_version(self, connection: Connection) -> int:
        """Return the version of the tables; 0 in an empty database."""
        if not inspect(connection).has_table(schema_version.name):
            return 0
        return max(connection.scalars(select(schema_version.c.version)), default=0)


class _OpenedFile:
    """The SQLite file that is open, and its version, read by a connection of its own that no
    transaction blocks.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.known = self.find()
        """The file that the connections have open."""
        self.replaced = 0
        """The number of times that another file was opened in place of this one."""
        self._log: FileIdentity | None = None
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False

    def find(self) -> FileIdentity | None:
        """Return the identity of the file that is at the path now, or None. Takes microseconds."""
        return _identity_of(self.path)

    def note_log(self) -> None:
        """Remember the write-ahead log of the file that is open."""
        self._log = _identity_of(f"{self.path}-wal") or self._log

    def find_problem(self) -> str | None:
        """Return why the file that is at the path now cannot be opened in place of the
        former one.
        """
        if self.find() is None:
            return "its file is missing; put it back"
        log = _identity_of(f"{self.path}-wal")
        if log is not None and log == self._log:
            return (
                "the write-ahead log beside it is of the former file; stop the server, delete "
                f"{Path(self.path).name}-wal and -shm, and start it again"
            )
        return None

    def follow(self, present: FileIdentity) -> None:
        """Use the file that is at the path now instead of the former one."""
        with self._guard:
            self._disconnect()
            self.known, self._log = present, None
            self.replaced += 1

    def find_version(self) -> int | None:
        """Return the last committed version, or None if it cannot be read without waiting or the
        file was replaced.
        """
        if self.find() != self.known:
            return None
        with self._guard:
            if self._is_closed:
                return None
            try:
                if self._connection is None:
                    self._connection = _connect(self.path, timeout=0)
                # All rows, so that no open cursor keeps this snapshot.
                rows = self._connection.execute(VERSION_SQL).fetchall()
            except sqlite3.Error:
                return None
        return int(rows[0][0]) if rows else None

    def close(self) -> None:
        """Close the connection."""
        with self._guard:
            self._is_closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _identity_of(path: str) -> FileIdentity | None:
    try:
        known = os.stat(path)
    except OSError:
        return None
    return known.st_dev, known.st_ino


def _connect(path: str, *, timeout: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Connect to a file that exists: a missing one is not created."""
    address = f"{Path(path).absolute().as_uri()}?mode=rw"
    return sqlite3.connect(
        address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )


def _sqlite_engine(url: str) -> Engine:
    """Return an engine over the file of a URL; messages do not repeat it, since it may have a
    password.
    """
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        raise InputError(
            f"setting 'control.url' is not the address of a database: {FORMS}"
        ) from None
    kind = parsed.drivername.partition("+")[0]
    if kind != "sqlite":
        raise InputError(f"setting 'control.url': no kind of database '{kind}'; write {FORMS}")
    if parsed.database in {None, "", ":memory:"}:
        raise InputError("setting 'control.url': it names no file; write sqlite:///PATH")
    path = Path(str(parsed.database))
    _make_file(path)
    engine = create_engine(
        parsed.set(drivername="sqlite"),
        creator=lambda: _connect(str(path)),
        hide_parameters=True,
        pool_size=POOL_SIZE,
        pool_timeout=BUSY_TIMEOUT_S,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_file(path: Path) -> None:
    """Create the file if it is missing, readable by its owner only, and switch it to WAL mode for
    good.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _use_write_ahead_log(path)
    except OSError as error:
        problem = (
            f"{path}: the control database cannot be written: {error.strerror}; check its"
            " permissions"
        )
        raise StorageError(problem) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the second where its schema is damaged
        raise StorageError(
            f"{path}: cannot be opened as a control database: {error}; run: stackroom doctor"
        ) from error


def _use_write_ahead_log(path: Path) -> None:
    """Switch the file to WAL mode; retried, since SQLite does not always wait for another process
    doing the same.
    """
    ends_at = time.monotonic() + BUSY_TIMEOUT_S
    with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > ends_at:
                    raise
                time.sleep(0.01)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Without Python's own BEGIN, which comes too late for snapshot reads, and for writers to queue.
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    is_write = connection.get_execution_options().get("stackroom_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")


def _is_outage(error: Exception) -> bool:
    if isinstance(error, exc.TimeoutError | UnicodeDecodeError):
        return True
    if isinstance(error, exc.ProgrammingError):
        return getattr(error.orig, "sqlstate", None) in FOREIGN_SQLSTATES
    return isinstance(error, exc.DBAPIError) and not isinstance(error, MISUSES)


def check_database(database: ControlDatabase) -> list[str]:
    """Return the problem of a SQLite file; PostgreSQL checks its own, and need only answer."""
    statement = "PRAGMA integrity_check(1)" if database.dialect == "sqlite" else "SELECT 'ok'"
    with database.read() as connection:
        found = str(connection.exec_driver_sql(statement).scalar())
    return [] if found == "ok" else [f"{database.name} is damaged ({found}); {PUT_BACK}"]


def find_file(database: ControlDatabase) -> Path | None:
    """Return the file of a SQLite database; None for PostgreSQL."""
    return Path(database.name) if database.dialect == "sqlite" else None


def copy_database(source: Path, target: Path, checkpoint: Callable[[], None]) -> None:
    """Copy a snapshot of the file while it may be written; `checkpoint` may raise to cancel.

    Uses Python's SQLite, by which the database is open: another SQLite library in this process
    would drop its locks.
    """
    try:
        with (
            closing(
                sqlite3.connect(source, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            ) as origin,
            closing(sqlite3.connect(target)) as copied,
        ):
            origin.execute("BEGIN")
            # the snapshot begins here
            origin.execute("SELECT count(*) FROM sqlite_master").fetchall()
            origin.backup(copied, pages=PAGES_AT_ONCE, progress=lambda *_pages: checkpoint())
            (problem,) = copied.execute("PRAGMA quick_check").fetchone()
    except sqlite3.Error as error:
        problem = f"{source}: the control database cannot be copied: {error}; run: stackroom doctor"
        raise StorageError(problem) from error
    target.chmod(0o600)
    if problem != "ok":
        raise StorageError(
            f"{source}: the copy of the control database is not whole ({problem}); put the database"
            " back from a back-up"
        )


def open_local(home: Path) -> ControlDatabase:
    """Open the local user's database of a library, and create it if it is missing."""
    database = ControlDatabase.open(f"sqlite:///{home / LOCAL_FILE}")
    is_known = select(users.c.id).where(users.c.name == LOCAL_USER.name)
    try:
        with database.read() as connection:
            is_new = connection.execute(is_known).first() is None
        if is_new:
            with database.begin() as connection:
                # another process may have been quicker
                if not connection.execute(is_known).first():
                    row = {"name": LOCAL_USER.name, "disabled": False, "created_at": utc_now()}
                    connection.execute(users.insert(), row)
    except BaseException:
        database.close()
        raise
    return database
