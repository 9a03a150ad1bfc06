"""Connections to a database server that can only read.

Every reading is one transaction of its own, read-only and over one snapshot. A statement is run by a server-side
cursor: on PostgreSQL that is `DECLARE CURSOR`, which takes one SELECT and nothing else; on MySQL and MariaDB it is an
unbuffered result, on a connection that takes one statement at a time.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, CursorResult, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from pinakes.errors import InputError
from pinakes.sources.database.address import DatabaseAddress
from pinakes.sources.database.failures import failure_of
from pinakes.sources.database.postgresql_times import read_all_times

CONNECT_TIMEOUT_S = 10
SILENCE_S = 600
"""How long a MySQL server may take for the first or next row of a result."""
SLOW_READER_S = 24 * 3600
"""How long MySQL and MariaDB wait for a reader that first writes what it has read so far."""
BATCH_ROWS = 500
DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
QUOTES = {"postgresql": '"', "mysql": "`"}
STATEMENTS: dict[str, Any] = {"no_parameters": True}
"""Options of every statement: without parameters, '%' is itself."""
MISSING_DRIVERS = {
    "postgresql": "PostgreSQL needs its driver: pip install 'pinakes[postgres]'",
    "mysql": "MySQL and MariaDB need a driver: pip install 'pinakes[mysql]'",
}
BEGINNINGS = {
    "postgresql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ),
    "mysql": (
        f"SET SESSION net_write_timeout = {SLOW_READER_S}",
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ),
}
"""The statements before every reading; on PostgreSQL they end with its transaction, for the sake of shared poolers."""
POSTGRESQL_ARGUMENTS = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "application_name": "pinakes",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "prepare_threshold": None,
}


class DatabaseServer:
    """A database on a server; each reading has a connection of its own."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.address = address
        self.name = address.name
        self._engine = self._created()

    @property
    def kind(self) -> str:
        """`postgresql` or `mysql`."""
        return self.address.kind

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection in a read-only transaction; every failure of the server is an error with its reason."""
        try:
            with self._engine.connect() as connection:
                for statement in BEGINNINGS[self.kind]:
                    connection.exec_driver_sql(statement)
                yield connection
        except SQLAlchemyError as error:
            raise failure_of(error, self.address) from None  # its cause may have the password

    def quote(self, name: str) -> str:
        """Quote an identifier."""
        mark = QUOTES[self.kind]
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def iter_result(self, connection: Connection, statement: str) -> Generator[tuple[Any, ...], None, None]:
        """Yield the names of a statement's columns, then its rows."""
        result = run(connection, statement)
        is_read = False
        try:
            yield column_names(result)
            yield from map(tuple, result)
            is_read = True
        finally:
            if not is_read and self.kind == "mysql":
                _abandon(connection, result)
            result.close()

    def _created(self) -> Engine:
        address = self.address
        url = URL.create(
            DRIVERS[address.kind],
            username=address.user or None,
            password=address.password or None,
            host=address.host or None,
            port=address.port,
            database=address.database or None,
            query=dict(address.parameters),
        )
        arguments = POSTGRESQL_ARGUMENTS if address.kind == "postgresql" else _mysql_arguments(address)
        try:
            engine = create_engine(
                url,
                poolclass=NullPool,
                hide_parameters=True,
                connect_args=dict(arguments),
                execution_options=STATEMENTS,
            )
        except ImportError:
            raise InputError(f"{self.name}: {MISSING_DRIVERS[address.kind]}") from None
        if address.kind == "postgresql":
            event.listen(engine, "connect", read_all_times)
        return engine


def run(connection: Connection, statement: str) -> CursorResult[Any]:
    """Run a statement by a server-side cursor."""
    options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
    return connection.exec_driver_sql(statement, execution_options=options)


def column_names(result: CursorResult[Any]) -> tuple[str, ...]:
    """Return the names of a result's columns, which may be equal."""
    described = result.cursor.description if result.cursor is not None else ()
    return tuple(str(column[0]) for column in described or ())


def _mysql_arguments(address: DatabaseAddress) -> Mapping[str, Any]:
    """Return the driver's arguments; it would encode a password as Latin-1."""
    login = {"password": address.password.encode()} if address.password else {}
    return {"connect_timeout": CONNECT_TIMEOUT_S, "read_timeout": SILENCE_S, "charset": "utf8mb4", **login}


def _abandon(connection: Connection, result: CursorResult[Any]) -> None:
    """End a connection whose result was not read to its end: the driver would read all of the rest to close it."""
    cursor: Any = result.cursor
    if cursor is not None and cursor.connection is not None:
        cursor._result.unbuffered_active = False
        cursor.connection = None
    connection.invalidate()
