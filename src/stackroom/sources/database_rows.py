"""Rows of a table on a PostgreSQL, MySQL or MariaDB server, with what its foreign keys lead to, by SQLAlchemy.

Every reading is one read-only transaction over one snapshot, by a server-side cursor. The name of such a source is its
address without the password, with the table: `postgresql://me@host/shop#film`. This is loaded when a server is named:
its driver is an extra.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import Any

from sqlalchemy import URL, Connection, CursorResult, Engine, Inspector, create_engine, inspect, make_url
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SAWarning, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.types import Integer, Numeric, String

from stackroom.catalogue.column_words import is_about, name_words
from stackroom.errors import ExpectedError, InputError, UnavailableError
from stackroom.net.addresses import shown_address
from stackroom.settings import Settings
from stackroom.sources.columns import plain_value
from stackroom.sources.location import ReadOptions, SourceLocation
from stackroom.sources.port import RowSource, SourceRow
from stackroom.sources.relations import Reference, Table, get_named, is_measure, list_names, quoted, select_joined

FORM = "postgresql://USER@HOST:5432/DATABASE#TABLE or mysql://USER@HOST:3306/DATABASE#TABLE"
LOCAL = ("", "localhost", "127.0.0.1", "::1")
PASSWORDS = frozenset({"password", "passwd", "pwd"})
REFUSED = re.compile(r"password|denied (for|to) user|pg_hba\.conf|role \"", re.IGNORECASE)
MISSING = re.compile(r"unknown database|database \"[^\"]*\" does not exist", re.IGNORECASE)
BUFFERED_ROWS = 500
READABLE = "SELECT relname FROM pg_class WHERE pg_table_is_visible(oid) AND has_table_privilege(oid, 'SELECT')"
"""PostgreSQL: the tables that this user may read; MySQL lists no others."""
PLAIN = (str, int, float, Decimal, bytes, list, dict, date, timedelta, type(None))
"""The types of cells that all sources share; others, such as UUIDs, ranges and network addresses, become texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKind:
    """The differences of one kind of server from another."""

    title: str
    driver: str
    missing_driver: str
    password_variable: str
    collect: str
    """The expression of a JSON list of values."""
    beginnings: tuple[str, ...]
    """The statements before every reading."""
    arguments: Mapping[str, Any]


POSTGRESQL = ServerKind(
    title="PostgreSQL",
    driver="psycopg",
    missing_driver="PostgreSQL needs its driver, the extra 'postgres': pip install 'psycopg[binary]'",
    password_variable="PGPASSWORD",
    collect="CAST(json_agg(CAST({} AS TEXT)) AS TEXT)",
    beginnings=(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ),
    arguments={"connect_timeout": 10, "application_name": "stackroom", "prepare_threshold": None},
)
MYSQL = ServerKind(
    title="MySQL or MariaDB",
    driver="pymysql",
    missing_driver="MySQL and MariaDB need a driver, the extra 'mysql': pip install pymysql",
    password_variable="MYSQL_PWD",
    collect="json_arrayagg(CAST({} AS CHAR))",
    beginnings=(
        "SET SESSION net_write_timeout = 86400",
        "SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')",
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ),
    arguments={"connect_timeout": 10, "read_timeout": 600, "charset": "utf8mb4"},
)


def open_database(location: str, options: ReadOptions, settings: Settings) -> "DatabaseRows":
    """Return the rows of a table of the database at an address; offline, only of one on this machine."""
    if "@" in (options.table or "") and "@" not in location:  # a '#' of the password
        raise InputError(f"in an address of a database, write a '#' of the password as %23: {FORM}")
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise InputError(f"{shown_address(location)}: not the address of a database; write {FORM}") from None
    if PASSWORDS.intersection(url.query):
        raise InputError(f"{shown_address(location)}: write the password before the host: USER:PASSWORD@HOST")
    server = DatabaseServer(url, settings.environment)
    if options.query is not None:
        raise InputError(f"{server.name}: queries are for SQLite files; make a view on the server, and name it")
    options.require_only({"table"}, location=server.name)
    if not url.database:
        raise InputError(f"{server.name}: the address names no database; write {FORM}")
    host = str(url.query.get("host", url.host or "")).lower()
    if settings.offline and host not in LOCAL and not host.startswith("/"):
        raise InputError(f"{server.name}: the server is on the network, which is not used offline")
    return DatabaseRows(server, options.table)


class DatabaseServer:
    """A database on a server; each reading has a connection of its own."""

    def __init__(self, url: URL, environment: Mapping[str, str]) -> None:
        backend = url.get_backend_name().lower()
        self.kind = POSTGRESQL if backend.startswith("postgres") else MYSQL
        dialect = "postgresql" if self.kind is POSTGRESQL else backend
        self.password = str(url.password or environment.get(self.kind.password_variable, ""))
        bare = URL.create(dialect, url.username, None, url.host, url.port, url.database, url.query)
        self.name = bare.render_as_string(hide_password=False)
        """The address without its password, which opens the same database where the password is known otherwise."""
        self._engine = self._created(bare.set(drivername=f"{dialect}+{self.kind.driver}"))

    def _created(self, url: URL) -> Engine:
        login: dict[str, Any] = {}
        if self.password:  # the driver of MySQL would encode a text as Latin-1
            login["password"] = self.password.encode() if self.kind is MYSQL else self.password
        try:
            return create_engine(
                url,
                poolclass=NullPool,
                hide_parameters=True,
                connect_args={**self.kind.arguments, **login},
                execution_options={"no_parameters": True},  # so that '%' is itself
            )
        except ImportError:
            raise InputError(f"{self.name}: {self.kind.missing_driver}") from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection in a read-only transaction; every failure of the server is an error with its reason."""
        try:
            with self._engine.connect() as connection:
                for statement in self.kind.beginnings:
                    connection.exec_driver_sql(statement)
                yield connection
        except SQLAlchemyError as error:
            raise self._explained(error) from None  # its cause may have the password

    @contextmanager
    def result(self, connection: Connection, statement: str) -> Iterator[CursorResult[Any]]:
        """Run a statement by a server-side cursor."""
        options = {"stream_results": True, "max_row_buffer": BUFFERED_ROWS}
        result = connection.exec_driver_sql(statement, execution_options=options)
        try:
            yield result
        finally:
            if self.kind is MYSQL:
                _abandon(connection, result)
            result.close()

    def _explained(self, error: SQLAlchemyError) -> ExpectedError:
        """Return the error that tells a user why a server could not be read, without the password."""
        cause: Any = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        text = str(cause.args[-1] if cause.args else type(cause).__name__)
        reason = next(iter(text.strip().splitlines()), "").rpartition("FATAL:")[2].strip()
        if self.password:
            reason = reason.replace(self.password, "***")
        if isinstance(error, OperationalError) and REFUSED.search(reason):
            return InputError(f"{self.name}: the login is refused: {reason}; {self._password_advice()}")
        if MISSING.search(reason):
            return InputError(f"{self.name}: no such database: {reason}; write {FORM}")
        if isinstance(error, OperationalError):
            return UnavailableError(f"{self.name}: {self.kind.title} cannot be reached: {reason}")
        return InputError(f"{self.name}: cannot be read: {reason}")

    def _password_advice(self) -> str:
        if self.password:
            return "check the user and the password"
        file = ", or add a line to ~/.pgpass" if self.kind is POSTGRESQL else ""
        return f"no password was given, and that of an address is not kept: set {self.kind.password_variable}{file}"


def _abandon(connection: Connection, result: CursorResult[Any]) -> None:
    """End a connection whose result was not read to its end: the driver would read all of the rest to close it."""
    cursor: Any = result.cursor
    if cursor is not None and cursor.connection is not None and getattr(cursor._result, "unbuffered_active", False):
        cursor._result.unbuffered_active = False
        cursor.connection = None
        connection.invalidate()


class DatabaseRows(RowSource):
    """Implements `RowSource` for a table or view; the only one where none is named."""

    table_option = "--table"
    other_tables: tuple[str, ...] = ()
    id_column: str | None = None
    origins: Mapping[str, str] = MappingProxyType({})

    def __init__(self, server: DatabaseServer, wanted: str | None) -> None:
        self._server = server
        with server.reading() as connection:
            tables = _list_tables(server.kind, connection)
        self._table = self._find(tables, wanted)
        self._selection = select_joined(self._table, tables, collect=server.kind.collect)
        self.other_tables = tuple(table.name for table in tables if table is not self._table)
        self.id_column, self.origins = self._table.key, self._selection.origins

    @property
    def name(self) -> str:
        """The address without the password, with the table."""
        return SourceLocation(location=self._server.name, options=ReadOptions(table=self._table.name)).name

    def count_rows(self) -> int | None:
        """Return the number of rows."""
        with self._server.reading() as connection:
            return int(connection.exec_driver_sql(f"SELECT count(*) FROM {quoted(self._table.name)}").scalar() or 0)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows, by the primary key."""
        keys = ", ".join(f"t.{quoted(key)}" for key in self._table.keys)
        statement = f"{self._selection.statement} ORDER BY {keys}" if keys else self._selection.statement
        with self._server.reading() as connection, self._server.result(connection, statement) as result:
            for number, cells in islice(enumerate(result, start=1), start, None):
                yield self._selection.to_row(number, cells, _plain)

    def _find(self, tables: list[Table], wanted: str | None) -> Table:
        if not tables:
            raise InputError(f"{self._server.name}: no table in it that this user may read; write {FORM}")
        if wanted is not None:
            return get_named(tables, wanted, place=self._server.name)
        if len(tables) > 1:
            raise InputError(f"{self._server.name}: name its table: {self._server.name}#TABLE; {list_names(tables)}")
        return tables[0]


def _list_tables(kind: ServerKind, connection: Connection) -> list[Table]:
    """Return the readable tables and views by name, with their foreign keys of one column."""
    with warnings.catch_warnings(category=SAWarning, action="ignore"):  # of types that SQLAlchemy does not know
        tables = {table.name: table for table in _iter_tables(inspect(connection))}
    if kind is POSTGRESQL:
        readable = set(connection.exec_driver_sql(READABLE).scalars())
        tables = {name: table for name, table in tables.items() if name in readable}
    known = {name: [key for key in table.references if key.table in tables] for name, table in tables.items()}
    return [
        replace(tables[name], references=tuple(known[name]), shares=frozenset(_iter_shares(connection, tables[name])))
        for name in sorted(tables)
    ]


def _iter_shares(connection: Connection, table: Table) -> Iterator[str]:
    """Yield the discounts of a table of which every one is a share."""
    for column in table.measures if table.references else ():
        if is_about(name_words(column), "discounts"):
            bounds = f"SELECT min({quoted(column)}), max({quoted(column)}) FROM {quoted(table.name)}"
            least, most = connection.exec_driver_sql(bounds).one()
            if least is not None and 0 <= least <= most <= 1:
                yield column


def _iter_tables(inspector: Inspector) -> Iterator[Table]:
    keys = inspector.get_multi_pk_constraint(kind=ObjectKind.TABLE)
    foreign = inspector.get_multi_foreign_keys(kind=ObjectKind.TABLE)
    for place, columns in inspector.get_multi_columns(kind=ObjectKind.ANY).items():
        own_keys = tuple(keys[place]["constrained_columns"]) if place in keys else ()
        numbers = [column["name"] for column in columns if isinstance(column["type"], Integer | Numeric)]
        yield Table(
            name=place[1],
            kind="table" if place in keys else "view",
            columns=tuple(column["name"] for column in columns),
            texts=tuple(column["name"] for column in columns if isinstance(column["type"], String)),
            keys=own_keys,
            measures=tuple(filter(is_measure, numbers)),
            references=tuple(
                Reference(
                    column=key["constrained_columns"][0], table=key["referred_table"], key=key["referred_columns"][0]
                )
                for key in foreign.get(place) or ()
                if len(key["constrained_columns"]) == 1 and key["referred_schema"] is None
            ),
        )


def _plain(cell: Any) -> Any:
    return plain_value(cell) if isinstance(cell, PLAIN) else str(cell)
