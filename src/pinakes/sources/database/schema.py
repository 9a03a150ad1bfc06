"""The tables of a database on a server, as it describes them."""

import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Enum, Inspector, Integer, Numeric, String, inspect
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SAWarning
from sqlalchemy.types import TypeEngine

from pinakes.sources.database.server import DatabaseServer
from pinakes.sources.database.tables import Reference, Table, with_references

MOST_SCHEMAS = 20
"""How many schemas of a PostgreSQL database are looked into, the default one first."""
COUNTED_ROWS = 100_000
"""Up to how many rows of a table are counted to find the main one."""
SAMPLE_ROWS = 1_000
"""How many rows of a table are sampled to estimate the length of its texts."""
TEXT_TYPES = {"postgresql": "TEXT", "mysql": "CHAR"}
READABLE = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema'
AND n.nspname !~ '^pg_' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
"""
"""PostgreSQL: the tables and views that this user may read; MySQL lists no others."""
COMPARABLE: tuple[tuple[type[TypeEngine[Any]], ...], ...] = ((String,), (Integer, Numeric))

Types = Mapping[str, TypeEngine[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
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

    @property
    def shown(self) -> str:
        """Its name, with the schema where that is not the default one."""
        return _shown(self.schema, self.name)

    def as_table(self) -> Table:
        """Return the table, without its references."""
        return Table(
            name=self.shown,
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
        with warnings.catch_warnings(category=SAWarning, action="ignore"):  # of types that SQLAlchemy does not know
            found = list(_iter_described(server.kind, connection))
        self._described = {one.shown: one for one in sorted(found, key=lambda one: (one.schema or "", one.name))}
        tables = [one.as_table() for one in self._described.values()]
        self.tables = with_references(tables, lambda table: self._described[table.name].declared, fits=self._fits)

    def quote_table(self, name: str) -> str:
        """Quote the name of one of the tables."""
        one = self._described[name]
        quote = self._server.quote
        return f"{quote(one.schema)}.{quote(one.name)}" if one.schema else quote(one.name)

    def weigh(self, connection: Connection, table: Table) -> tuple[float, int]:
        """Return the estimated searchable text of a table, in characters, and the number of rows, up to a bound."""
        text = TEXT_TYPES[self._server.kind]
        quoted, place = self._server.quote, self.quote_table(table.name)
        lengths = [f"coalesce(char_length(CAST({quoted(column)} AS {text})), 0)" for column in table.texts]
        sample = f"SELECT {' + '.join(lengths) or '0'} AS size FROM {place} LIMIT {SAMPLE_ROWS}"
        average = connection.exec_driver_sql(f"SELECT avg(size) FROM ({sample}) AS sample").scalar()
        counted = f"SELECT 1 AS one FROM {place} LIMIT {COUNTED_ROWS}"
        rows = int(connection.exec_driver_sql(f"SELECT count(*) FROM ({counted}) AS counted").scalar() or 0)
        return rows * float(average or 0), rows

    def _fits(self, table: Table, reference: Reference) -> bool:
        """Tell whether a column can be compared with a key: PostgreSQL refuses a text and a number."""
        key = self._described[reference.table].types[reference.key]
        types = (self._described[table.name].types[reference.column], key)
        if any(isinstance(kind, Enum) for kind in types):
            return False
        is_known = any(all(isinstance(kind, family) for kind in types) for family in COMPARABLE)
        return is_known or type(types[0]) is type(types[1])


def _iter_described(kind: str, connection: Connection) -> Iterator[_Described]:
    inspector = inspect(connection)
    readable = (
        None if kind == "mysql" else {(str(one), str(name)) for one, name in connection.exec_driver_sql(READABLE)}
    )
    default = inspector.default_schema_name
    others = sorted({schema for schema, _ in readable or ()} - {default or ""})
    for schema in [None, *others][:MOST_SCHEMAS]:
        for one in _iter_schema(inspector, schema):
            if readable is None or (one.schema or default, one.name) in readable:
                yield one


def _iter_schema(inspector: Inspector, schema: str | None) -> Iterator[_Described]:
    columns = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
    keys = inspector.get_multi_pk_constraint(schema=schema, kind=ObjectKind.TABLE)
    indexes = inspector.get_multi_indexes(schema=schema, kind=ObjectKind.TABLE)
    foreign = inspector.get_multi_foreign_keys(schema=schema, kind=ObjectKind.TABLE)
    views = {*inspector.get_view_names(schema=schema), *_materialized(inspector, schema)}
    for place, described in columns.items():
        if described:
            own_keys = tuple(keys[place]["constrained_columns"]) if place in keys else ()
            yield _Described(
                schema=schema,
                name=place[1],
                is_view=place[1] in views,
                types={column["name"]: column["type"] for column in described},
                keys=own_keys,
                indexed=frozenset({*own_keys[:1], *_first_columns(indexes.get(place) or ())}),
                declared=_declared(foreign.get(place) or (), inspector.default_schema_name),
            )


def _first_columns(indexes: Collection[Any]) -> Iterator[str]:
    """Yield the first column of each index; it is None where that is an expression."""
    yield from (index["column_names"][0] for index in indexes if index["column_names"] and index["column_names"][0])


def _materialized(inspector: Inspector, schema: str | None) -> Collection[str]:
    return inspector.get_materialized_view_names(schema=schema) if inspector.dialect.name == "postgresql" else ()


def _declared(keys: Collection[Any], default: str | None) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for key in keys:
        if len(key["constrained_columns"]) == 1:
            schema = key["referred_schema"]
            target = _shown(None if schema == default else schema, key["referred_table"])
            found[key["constrained_columns"][0].lower()] = (target, key["referred_columns"][0])
    return found


def _shown(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name
