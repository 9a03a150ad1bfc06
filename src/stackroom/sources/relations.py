"""Tables of a database as it describes them, and one statement that joins a table with what its keys lead to.

`find_main` chooses the table with most text, `select_joined` writes the statement: it joins names (Book → Publisher,
and by a link table Book → its authors). Each name is a scalar subquery, so that no row is doubled. Nothing here talks
to a database.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from stackroom.errors import InputError, did_you_mean
from stackroom.sources.columns import unique_names
from stackroom.sources.port import SourceRow

NAMING = ("name", "title")
"""Usual names of the column that names a row."""
FIRST_NAMES = ("firstname", "forename", "givenname")
LAST_NAMES = ("lastname", "surname", "familyname")
KINDS = ("table", "virtual", "view")
"""The readable kinds, in the order of preference for the main one."""
MOST_NAMED = 50
"""How many tables a message names."""
MOST_JOINED = 40
"""How many columns are joined to a table."""
MOST_VALUES = 100
"""How many values a list has."""
JSON_LIST = "json_group_array(CAST({} AS TEXT))"
"""The expression of a JSON list of values in SQLite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A foreign key: a column whose value is the key of a row of another table."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table or view, as its database describes it."""

    name: str
    kind: str
    columns: tuple[str, ...]
    texts: tuple[str, ...]
    """Its columns of text."""
    keys: tuple[str, ...]
    """The columns of its primary key."""
    references: tuple[Reference, ...] = ()
    indexed: frozenset[str] = frozenset()
    """The columns by whose value rows are found without reading the whole table."""

    @property
    def key(self) -> str | None:
        """The primary key, where it is a single column."""
        return self.keys[0] if len(self.keys) == 1 else None

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns that together name a row: the names of a person, its name or title, or its first text."""
        person = [self._find_text(names) for names in (FIRST_NAMES, LAST_NAMES)]
        whole = tuple(column for column in person if column is not None)
        if len(whole) == len(person):
            return whole
        return tuple(column for column in self.texts if column.lower() in NAMING)[:1] or self.texts[:1]

    def _find_text(self, names: Sequence[str]) -> str | None:
        return next((column for column in self.texts if column.replace("_", "").lower() in names), None)

    @property
    def is_link(self) -> bool:
        """Whether it is a link table: it only relates rows of other tables."""
        pointing = {reference.column for reference in self.references}
        is_keyed_by_others = len(self.keys) > 1 and pointing.issuperset(self.keys)
        plain = set(self.columns) - set(self.keys) - pointing
        return len(pointing) > 1 and (is_keyed_by_others or not plain)


def find_main(tables: Sequence[Table], weigh: Callable[[Table], tuple[Any, ...]]) -> Table | None:
    """Return the table that weighs most; a link table or a view only where there is nothing else."""
    for kind in KINDS:
        some = [table for table in tables if table.kind == kind]
        candidates = [table for table in some if not table.is_link] or some
        if candidates:
            return max(candidates, key=lambda table: (*weigh(table), table.name))
    return None


def get_named(tables: Sequence[Table], wanted: str, *, place: str) -> Table:
    """Return the table of this name in any case, or refuse with those that there are."""
    exact = (table for table in tables if table.name == wanted)
    found = next(exact, None) or next((table for table in tables if table.name.lower() == wanted.lower()), None)
    if found is not None:
        return found
    likely = did_you_mean(wanted, [table.name for table in tables])
    raise InputError(f"{place}: no table '{wanted}'{likely}; {list_names(tables)}")


def list_names(tables: Sequence[Table]) -> str:
    """Return the names of tables for a message, up to a limit."""
    more = f" and {len(tables) - MOST_NAMED} more" if len(tables) > MOST_NAMED else ""
    return f"tables: {', '.join(table.name for table in tables[:MOST_NAMED]) or 'none'}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A column with the name of the row that a foreign key leads to, or by a link table with a list of names."""

    name: str
    chain: tuple[Reference, ...]
    """The foreign key of the table, and that of the table that it leads to; by a link table, the link's key alone."""
    naming: tuple[str, ...]
    link: str = ""
    """The link table that relates the rows."""
    own: Reference | None = None
    """The link's foreign key to the table itself."""


def _plan_joins(table: Table, tables: Iterable[Table]) -> list[Join]:
    """Return the columns to join to a table: names of what its keys lead to, then lists of names."""
    by_name = {other.name: other for other in tables}
    taken = {column.lower() for column in table.columns}
    joins: list[Join] = []
    for join in (*_iter_names(table, by_name), *_iter_lists(table, by_name)):
        if join.name not in taken:
            taken.add(join.name)
            joins.append(join)
    return joins[:MOST_JOINED]


def _iter_names(table: Table, tables: Mapping[str, Table]) -> Iterator[Join]:
    """Yield the names that one or two foreign keys lead to, called after the table or, of several, by the way to it."""
    near = [(reference,) for reference in table.references if reference.table in tables]
    far = [
        (first, second)
        for (first,) in near
        for second in tables[first.table].references
        if second.table in tables and second.table not in (table.name, first.table)
    ]
    ends = [table.name, *(chain[-1].table for chain in (*near, *far))]
    for chain in (*near, *far):
        end = chain[-1].table
        name = end if ends.count(end) == 1 else "_".join([chain[0].column, *(step.table for step in chain)])
        if tables[end].naming:
            yield Join(name=name.lower(), chain=chain, naming=tables[end].naming)


def _iter_lists(table: Table, tables: Mapping[str, Table]) -> Iterator[Join]:
    """Yield the lists by link tables that can be looked up by the table's key; not of what a key names anyway."""
    named = {reference.table for reference in table.references}
    for link in tables.values():
        own = [reference for reference in link.references if reference.table == table.name]
        if not link.is_link or len(own) != 1 or own[0].column not in link.indexed:
            continue
        for other in link.references:
            naming = tables[other.table].naming if other.table in tables else ()
            if other is not own[0] and naming and other.table not in named:
                yield Join(name=other.table.lower(), chain=(other,), naming=naming, link=link.name, own=own[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A statement, with the names of its result columns, the last of which may be lists."""

    statement: str
    names: tuple[str, ...]
    lists: int = 0

    def to_row(self, number: int, cells: Sequence[Any], plain: Callable[[Any], Any]) -> SourceRow:
        """Return a row of the result; `plain` makes the value of a cell that is not a list."""
        first_list = len(self.names) - self.lists
        values = (*map(plain, cells[:first_list]), *map(_read_list, cells[first_list:]))
        return SourceRow(place=f"row {number}", values=dict(zip(self.names, values, strict=True)))


def select_joined(table: Table, tables: Iterable[Table], *, collect: str = JSON_LIST) -> Selection:
    """Return the selection of all columns of a table and of those joined to it; lists are made by `collect`."""
    joins = _plan_joins(table, tables)
    columns = [f"t.{quoted(column)}" for column in table.columns]
    columns += [_joined(join) if join.own is None else _listed(join, join.own, collect) for join in joins]
    return Selection(
        statement=f"SELECT {', '.join(columns)} FROM {quoted(table.name)} AS t",
        names=tuple(unique_names([*table.columns, *(join.name for join in joins)])),
        lists=sum(join.own is not None for join in joins),
    )


def quoted(name: str) -> str:
    """Quote an identifier for a statement."""
    return '"' + name.replace('"', '""') + '"'


def _read_list(cell: Any) -> list[Any] | None:
    """Return the JSON list of a cell as its distinct values, sorted."""
    values = orjson.loads(cell) if isinstance(cell, str | bytes) else ()
    return sorted({str(value) for value in values if value is not None})[:MOST_VALUES] or None


def _joined(join: Join) -> str:
    """Return nested subqueries; LIMIT, since SQLite does not require that a foreign key names one row."""
    value = f"t.{quoted(join.chain[0].column)}"
    wanted = [*((step.column,) for step in join.chain[1:]), join.naming]
    for step, columns in zip(join.chain, wanted, strict=True):
        table = f"{quoted(step.table)} AS r"
        value = f"(SELECT {_named('r', columns)} FROM {table} WHERE r.{quoted(step.key)} = {value} LIMIT 1)"
    return value


def _listed(join: Join, own: Reference, collect: str) -> str:
    (other,) = join.chain
    return (
        f"(SELECT {collect.format(_named('r', join.naming))}"
        f" FROM {quoted(join.link)} AS l JOIN {quoted(other.table)} AS r"
        f" ON r.{quoted(other.key)} = l.{quoted(other.column)}"
        f" WHERE l.{quoted(own.column)} = t.{quoted(own.key)})"
    )


def _named(row: str, columns: Sequence[str]) -> str:
    """Return the value of a column, or the values of several as one text."""
    values = [f"{row}.{quoted(column)}" for column in columns]
    return values[0] if len(values) == 1 else f"nullif(concat_ws(' ', {', '.join(values)}), '')"
