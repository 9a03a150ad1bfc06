"""Rows from a PostgreSQL, MySQL or MariaDB server: a table joined with what its foreign keys lead to, or a query.

The name of such a source is its address without the password, with the table or query: `postgresql://me@host/shop#film`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from pinakes.errors import InputError
from pinakes.settings import Settings
from pinakes.sources.columns import plain_value, unique_names
from pinakes.sources.database.address import FORMS, DatabaseAddress
from pinakes.sources.database.failures import code_of, failure_of
from pinakes.sources.database.joins import Dialect, plan_joins, read_list, select_joined
from pinakes.sources.database.passwords import find_password
from pinakes.sources.database.query import require_selection
from pinakes.sources.database.schema import ServerSchema
from pinakes.sources.database.server import DatabaseServer, run
from pinakes.sources.database.tables import Table, find_main, get_named, listing
from pinakes.sources.location import SourceLocation
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import SourceRow

OPTIONS = frozenset({"table", "query"})
COLLECTING = {"postgresql": "array_agg({})", "mysql": "json_arrayagg({})"}
MISSING_TABLE = ("42P01", 1146)
"""The codes of PostgreSQL and MySQL for a table that does not exist."""
PLAIN = (str, int, float, Decimal, bytes, list, dict, date, datetime, timedelta, type(None))
"""The types of cells that all sources share; others, such as UUIDs, ranges and network addresses, become texts."""
QUOTING = re.compile(r"['\"`$#]|--|/\*")


def open_database(location: str, options: ReadOptions, settings: Settings) -> "DatabaseRows":
    """Return the rows of a table or query of the database at an address; offline, only of one on this machine."""
    address = DatabaseAddress.parse(location)
    options.require_only(OPTIONS, location=address.name)
    if not address.database and "service" not in address.parameters:
        raise InputError(f"{address.name}: the address names no database; write {FORMS[address.kind]}")
    if settings.offline and not address.is_local:
        raise InputError(f"{address.name}: the server is on the network, which is not used offline")
    server = DatabaseServer(replace(address, password=find_password(address, settings.environment)))
    return DatabaseRows(server, table=options.table, query=options.query)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A statement to run; the names of its columns are its own where none are given."""

    options: ReadOptions
    statement: str
    names: tuple[str, ...] = ()
    lists: int = 0
    """How many of the last columns are lists."""
    table: Table | None = None
    counting: str = ""
    others: tuple[str, ...] = ()


class DatabaseRows:
    """Implements `RowSource` for a table, or for a query; the main table where neither is named."""

    is_whole = True
    """A row that is missing was deleted."""

    def __init__(self, server: DatabaseServer, *, table: str | None = None, query: str | None = None) -> None:
        if table is not None and query is not None:
            raise InputError(f"{server.name}: give a table or a query, not both")
        self._server = server
        with server.reading() as connection:
            self._reading = self._table(connection, table) if query is None else self._query(connection, query)

    @property
    def name(self) -> str:
        """The address without the password, with the table or query."""
        return SourceLocation(location=self._server.name, options=self._reading.options).name

    @property
    def table_option(self) -> str:
        """The option that chooses another table."""
        return "--table"

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The other tables and views of the database."""
        return self._reading.others

    @property
    def id_column(self) -> str | None:
        """The column that identifies rows, where there is one."""
        return self._reading.table.key if self._reading.table else None

    def count_rows(self) -> int | None:
        """Return the number of rows of the table; None for a query, which would have to be run."""
        if not self._reading.counting:
            return None
        with self._server.reading() as connection:
            return int(connection.exec_driver_sql(self._reading.counting).scalar() or 0)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows, of a table by its primary key."""
        with (
            self._server.reading() as connection,
            closing(self._server.iter_result(connection, self._reading.statement)) as result,
        ):
            own_names = next(result)
            names = self._reading.names or unique_names(own_names)
            for number, cells in enumerate(result, start=1):
                if number > start:
                    yield SourceRow(place=f"row {number}", values=_values(names, cells, self._reading.lists))

    def _table(self, connection: Connection, wanted: str | None) -> _Reading:
        schema = ServerSchema(self._server, connection)
        tables = schema.tables
        if wanted is None:
            usual = [table for table in tables if "." not in table.name] or tables
            table = find_main(usual, partial(schema.weigh, connection))
        else:
            table = get_named(tables, wanted, place=self._server.name)
        if table is None:
            raise InputError(f"{self._server.name}: no table in it that this user may read")
        plan = plan_joins(table, tables)
        collect = COLLECTING[self._server.kind]
        dialect = Dialect(quote=self._server.quote, quote_table=schema.quote_table, collect=collect)
        statement = select_joined(table, plan, dialect)
        return _Reading(
            options=ReadOptions(table=table.name),
            statement=f"{statement}{self._order(table)}",
            names=tuple(unique_names([*table.columns, *plan.names])),
            lists=len(plan.lists),
            table=table,
            counting=f"SELECT count(*) FROM {schema.quote_table(table.name)}",
            others=tuple(other.name for other in tables if other.name != table.name),
        )

    def _order(self, table: Table) -> str:
        keys = ", ".join(f"t.{self._server.quote(key)}" for key in table.keys)
        return f" ORDER BY {keys}" if keys else ""

    def _query(self, connection: Connection, query: str) -> _Reading:
        require_selection(query, kind=self._server.kind, place=self._server.name)
        try:
            self._try(connection, query)
        except DBAPIError as error:
            if code_of(error.orig) not in MISSING_TABLE:
                raise
            connection.rollback()
            known = listing([table.name for table in ServerSchema(self._server, connection).tables])
            raise InputError(f"{failure_of(error, self._server.address).message}; tables: {known}") from None
        return _Reading(options=ReadOptions(query=_one_line(query)), statement=query)

    def _try(self, connection: Connection, query: str) -> None:
        """Let the server check a query, without reading its rows."""
        if self._server.kind == "mysql":
            connection.exec_driver_sql(f"EXPLAIN {query}")
        else:
            run(connection, query).close()


def _one_line(query: str) -> str:
    """Return a query in one line, unless it has comments or quotes, in which blanks matter."""
    return query.strip() if QUOTING.search(query) else " ".join(query.split())


def _values(names: Sequence[str], cells: Sequence[Any], lists: int) -> Mapping[str, Any]:
    plain = len(names) - lists
    return dict(zip(names, (*map(_plain, cells[:plain]), *map(read_list, cells[plain:])), strict=True))


def _plain(cell: Any) -> Any:
    if isinstance(cell, memoryview | bytearray):
        cell = bytes(cell)
    return plain_value(cell) if isinstance(cell, PLAIN) else str(cell)
