"""Rows from a PostgreSQL, MySQL or MariaDB server: a table with what its foreign keys lead to, or a query.

The name of such a source is its address without the password, with the table or query: `postgresql://me@host/shop#film`.
"""

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, CursorResult, Enum, Inspector, Integer, Numeric, String, inspect
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import DBAPIError, SAWarning
from sqlalchemy.types import TypeEngine

from stackroom.errors import InputError
from stackroom.settings import Settings
from stackroom.sources.columns import plain_value, unique_names
from stackroom.sources.database_server import FORM, MYSQL, DatabaseServer, ServerKind, code_of, parse_address
from stackroom.sources.location import ReadOptions, SourceLocation
from stackroom.sources.port import SourceRow
from stackroom.sources.relations import (
    Dialect,
    Reference,
    Table,
    find_main,
    get_named,
    listing,
    plan_joins,
    read_list,
    select_joined,
    with_references,
)

OPTIONS = frozenset({"table", "query"})
LOCAL = ("", "localhost", "127.0.0.1", "::1")
MOST_SCHEMAS = 20
"""How many schemas of a PostgreSQL database are looked into, the default one first."""
COUNTED_ROWS = 100_000
"""Up to how many rows of a table are counted to find the main one."""
SAMPLE_ROWS = 1_000
"""How many rows of a table are sampled to estimate the length of its texts."""
READABLE = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema'
AND n.nspname !~ '^pg_' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
"""
"""PostgreSQL: the tables and views that this user may read; MySQL lists no others."""
COMPARABLE: tuple[tuple[type[TypeEngine[Any]], ...], ...] = ((String,), (Integer, Numeric))
PLAIN = (str, int, float, Decimal, bytes, list, dict, date, datetime, timedelta, type(None))
"""The types of cells that all sources share; others, such as UUIDs, ranges and network addresses, become texts."""
QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
SELECTION = re.compile(r"\s*\(*\s*(select|with|values|table)\b", re.IGNORECASE)
CHANGING = re.compile(r"\b(into|insert|update|delete)\b(?!\s*\()", re.IGNORECASE)
RUN_COMMENT = re.compile(r"/\*M?!")
"""A comment that MySQL and MariaDB run."""
NO_TABLE = ("42P01", 1146)

Types = Mapping[str, TypeEngine[Any]]


def open_database(location: str, options: ReadOptions, settings: Settings) -> "DatabaseRows":
    """Return the rows of a table or query of the database at an address; offline, only of one on this machine."""
    url = parse_address(location)
    server = DatabaseServer(url, settings.environment)
    options.require_only(OPTIONS, location=server.name)
    if not url.database and "service" not in url.query:
        raise InputError(f"{server.name}: the address names no database; write {FORM}")
    host = str(url.query.get("host", url.host or "")).lower()
    if settings.offline and host not in LOCAL and not host.startswith("/"):
        raise InputError(f"{server.name}: the server is on the network, which is not used offline")
    return DatabaseRows(server, table=options.table, query=options.query)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServerTable:
    """A table as the server describes it."""

    schema: str | None
    name: str
    is_view: bool
    types: Types
    keys: tuple[str, ...]
    indexed: frozenset[str]
    """The first columns of its keys and indexes."""
    declared: Mapping[str, tuple[str, str]]
    """Column in lower case → table and key of the single-column foreign keys."""

    def as_table(self) -> Table:
        """Return the table, without its references."""
        return Table(
            name=_shown(self.schema, self.name),
            kind="view" if self.is_view else "table",
            columns=tuple(self.types),
            texts=tuple(column for column, kind in self.types.items() if isinstance(kind, String)),
            keys=self.keys,
            indexed=self.indexed,
        )


class ServerSchema:
    """The readable tables and views; those outside the default schema are called `SCHEMA.TABLE`."""

    def __init__(self, server: DatabaseServer, connection: Connection) -> None:
        self._server = server
        self._connection = connection
        with warnings.catch_warnings(category=SAWarning, action="ignore"):  # of types that SQLAlchemy does not know
            described = list(_iter_readable(server.kind, connection))
        described.sort(key=lambda table: (table.schema or "", table.name))
        self._described = {_shown(table.schema, table.name): table for table in described}
        tables = [table.as_table() for table in described]
        self.tables = with_references(tables, lambda table: self._described[table.name].declared, fits=self._fits)

    def quote_table(self, name: str) -> str:
        """Quote the name of one of the tables."""
        table, quote = self._described[name], self._server.quote
        return f"{quote(table.schema)}.{quote(table.name)}" if table.schema else quote(table.name)

    def weigh(self, table: Table) -> tuple[float, int]:
        """Return the estimated searchable text of a table, in characters, and the number of rows, up to a bound."""
        text, place = self._server.kind.text_type, self.quote_table(table.name)
        texts = [f"CAST({self._server.quote(column)} AS {text})" for column in table.texts]
        size = " + ".join(f"coalesce(char_length({column}), 0)" for column in texts) or "0"
        sample = f"SELECT {size} AS size FROM {place} LIMIT {SAMPLE_ROWS}"
        average = self._connection.exec_driver_sql(f"SELECT avg(size) FROM ({sample}) AS sample").scalar()
        counted = f"SELECT 1 AS one FROM {place} LIMIT {COUNTED_ROWS}"
        rows = int(self._connection.exec_driver_sql(f"SELECT count(*) FROM ({counted}) AS counted").scalar() or 0)
        return rows * float(average or 0), rows

    def _fits(self, table: Table, reference: Reference) -> bool:
        """Tell whether a column can be compared with a key: PostgreSQL refuses a text and a number."""
        key = self._described[reference.table].types[reference.key]
        types = (self._described[table.name].types[reference.column], key)
        if any(isinstance(kind, Enum) for kind in types):
            return False
        is_known = any(all(isinstance(kind, family) for kind in types) for family in COMPARABLE)
        return is_known or type(types[0]) is type(types[1])


def _iter_readable(kind: ServerKind, connection: Connection) -> Iterator[_ServerTable]:
    inspector = inspect(connection)
    if kind is MYSQL:
        yield from _iter_schema(inspector, None)
        return
    readable = {(str(schema), str(name)) for schema, name in connection.exec_driver_sql(READABLE)}
    default = inspector.default_schema_name
    others = sorted({schema for schema, _ in readable} - {default or ""})
    for schema in [None, *others][:MOST_SCHEMAS]:
        for table in _iter_schema(inspector, schema):
            if (table.schema or default, table.name) in readable:
                yield table


def _iter_schema(inspector: Inspector, schema: str | None) -> Iterator[_ServerTable]:
    columns = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
    keys = inspector.get_multi_pk_constraint(schema=schema, kind=ObjectKind.TABLE)
    indexes = inspector.get_multi_indexes(schema=schema, kind=ObjectKind.TABLE)
    foreign = inspector.get_multi_foreign_keys(schema=schema, kind=ObjectKind.TABLE)
    tables = set(inspector.get_table_names(schema=schema))
    for place, described in columns.items():
        own_keys = tuple(keys[place]["constrained_columns"]) if place in keys else ()
        if described:
            yield _ServerTable(
                schema=schema,
                name=place[1],
                is_view=place[1] not in tables,
                types={column["name"]: column["type"] for column in described},
                keys=own_keys,
                indexed=frozenset({*own_keys[:1], *_first_columns(indexes.get(place) or ())}),
                declared=_declared(foreign.get(place) or (), inspector.default_schema_name),
            )


def _first_columns(indexes: Collection[Any]) -> Iterator[str]:
    """Yield the first column of each index; it is None where that is an expression."""
    yield from (index["column_names"][0] for index in indexes if index["column_names"] and index["column_names"][0])


def _declared(keys: Collection[Any], default: str | None) -> dict[str, tuple[str, str]]:
    declared: dict[str, tuple[str, str]] = {}
    for key in keys:
        if len(key["constrained_columns"]) == 1:
            schema = key["referred_schema"]
            target = _shown(None if schema == default else schema, key["referred_table"])
            declared[key["constrained_columns"][0].lower()] = (target, key["referred_columns"][0])
    return declared


def _shown(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name


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
    table_option = "--table"
    """The option that chooses another table."""

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
        reading = self._reading
        with self._server.reading() as connection, self._server.result(connection, reading.statement) as result:
            names = reading.names or unique_names(_column_names(result))
            for number, cells in enumerate(result, start=1):
                if number > start:
                    yield SourceRow(place=f"row {number}", values=_values(names, cells, reading.lists))

    def _table(self, connection: Connection, wanted: str | None) -> _Reading:
        schema = ServerSchema(self._server, connection)
        if wanted is None:
            usual = [table for table in schema.tables if "." not in table.name] or schema.tables
            table = find_main(usual, schema.weigh)
        else:
            table = get_named(schema.tables, wanted, place=self._server.name)
        if table is None:
            raise InputError(f"{self._server.name}: no table in it that this user may read")
        plan = plan_joins(table, schema.tables)
        quote = self._server.quote
        dialect = Dialect(quote=quote, quote_table=schema.quote_table, collect=self._server.kind.collect)
        keys = ", ".join(f"t.{quote(key)}" for key in table.keys)
        return _Reading(
            options=ReadOptions(table=table.name),
            statement=f"{select_joined(table, plan, dialect)}{f' ORDER BY {keys}' if keys else ''}",
            names=tuple(unique_names([*table.columns, *plan.names])),
            lists=len(plan.lists),
            table=table,
            counting=f"SELECT count(*) FROM {schema.quote_table(table.name)}",
            others=tuple(other.name for other in schema.tables if other.name != table.name),
        )

    def _query(self, connection: Connection, query: str) -> _Reading:
        require_selection(query, place=self._server.name)
        try:
            if self._server.kind is MYSQL:
                connection.exec_driver_sql(f"EXPLAIN {query}")
            else:
                with self._server.result(connection, query):
                    pass
        except DBAPIError as error:
            if code_of(error) not in NO_TABLE:
                raise
            connection.rollback()
            known = listing([table.name for table in ServerSchema(self._server, connection).tables])
            raise InputError(f"{self._server.failure_of(error).message}; tables: {known}") from None
        is_plain = QUOTED.search(query) is None
        return _Reading(
            options=ReadOptions(query=" ".join(query.split()) if is_plain else query.strip()), statement=query
        )


def require_selection(query: str, *, place: str) -> None:
    """Refuse a query that is not a single SELECT, for a clear message; its transaction is read-only anyway."""
    plain = QUOTED.sub(" ", query).rstrip("; \t\r\n")
    if not SELECTION.match(plain) or ";" in plain or RUN_COMMENT.search(query):
        raise InputError(f"{place}: the query must be one SELECT statement")
    if changing := CHANGING.search(plain):
        raise InputError(f"{place}: the query must only read; '{changing[0]}' does more than that")


def _column_names(result: CursorResult[Any]) -> list[str]:
    """Return the names of a result's columns, which may be equal."""
    described = result.cursor.description if result.cursor is not None else ()
    return [str(column[0]) for column in described or ()]


def _values(names: Sequence[str], cells: Sequence[Any], lists: int) -> Mapping[str, Any]:
    plain = len(names) - lists
    return dict(zip(names, (*map(_plain, cells[:plain]), *map(read_list, cells[plain:])), strict=True))


def _plain(cell: Any) -> Any:
    if isinstance(cell, memoryview | bytearray):
        cell = bytes(cell)
    return plain_value(cell) if isinstance(cell, PLAIN) else str(cell)
