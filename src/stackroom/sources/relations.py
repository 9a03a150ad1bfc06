"""Tables of a database as it describes them, and one statement that joins a table with what its foreign keys lead to.

`find_main` chooses the table with most text, `plan_joins` which names are joined (Book → Publisher → City) and what
their columns are called, `select_joined` writes the statement. Each name is a scalar subquery, so that no row is
doubled. SQLite files and servers share it; nothing here talks to a database.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import orjson

from stackroom.errors import InputError, did_you_mean

NAMING = ("name", "title")
"""Usual names of the column that names a row."""
FIRST_NAMES = ("firstname", "forename", "givenname")
LAST_NAMES = ("lastname", "surname", "familyname")
KEY_NAME = re.compile(r"(.+?)_?id", re.IGNORECASE)
KINDS = ("table", "virtual", "view")
"""The readable kinds, in the order of preference for the main one."""
MOST_NAMED = 50
"""How many tables a message names."""
DEEPEST = 5
"""How many foreign keys are followed one after another."""
MOST_JOINED = 40
"""How many columns are joined to a table, the nearest ones first."""
MOST_LISTS = 10
"""How many lists are joined to a table."""
MOST_VALUES = 100
"""How many values a list has."""
MOST_CHAINS = 200
"""How many chains of one length are followed further."""

Quote = Callable[[str], str]
"""Quotes an identifier for a statement."""


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
        """The columns that together name a row: its name or title, the names of a person, or its first text."""
        named = [column for column in self.texts if column.lower() in NAMING][:1]
        person = [self._find_text(names) for names in (FIRST_NAMES, LAST_NAMES)]
        whole = tuple(column for column in person if column is not None)
        return tuple(named) or (whole if len(whole) == len(person) else self.texts[:1])

    def _find_text(self, names: Sequence[str]) -> str | None:
        return next((column for column in self.texts if _letters(column) in names), None)

    @property
    def is_link(self) -> bool:
        """Whether it is a link table: it only relates rows of other tables."""
        pointing = {reference.column for reference in self.references}
        is_keyed_by_others = len(self.keys) > 1 and pointing.issuperset(self.keys)
        plain = set(self.columns) - set(self.keys) - pointing
        return len(pointing) > 1 and (is_keyed_by_others or not plain)


def with_references(
    tables: Iterable[Table],
    declared: Callable[[Table], Mapping[str, tuple[str, str]]],
    *,
    fits: Callable[[Table, Reference], bool] = lambda _table, _reference: True,
) -> list[Table]:
    """Return the tables with their references: the declared ones, and those that the names of columns tell.

    `declared` returns column → table and key of the single-column foreign keys, the columns in lower case; an empty key
    is the primary key. `fits` tells whether a column can be compared with the key that its name tells.
    """
    listed = list(tables)
    by_name = {table.name.lower(): table for table in listed}
    return [_with_references(table, declared(table), by_name, fits) for table in listed]


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
    known = [table.name for table in tables]
    raise InputError(f"{place}: no table '{wanted}'{did_you_mean(wanted, known)}; tables: {listing(known)}")


def listing(names: Sequence[str]) -> str:
    """Return names as a list for a message, shortened where they are many."""
    more = len(names) - MOST_NAMED
    shown = ", ".join(names[:MOST_NAMED]) or "none"
    return f"{shown} and {more} more" if more > 0 else shown


def _with_references(
    table: Table,
    declared: Mapping[str, tuple[str, str]],
    tables: Mapping[str, Table],
    fits: Callable[[Table, Reference], bool],
) -> Table:
    found: list[Reference] = []
    for column in table.columns:
        name, key = declared.get(column.lower(), ("", ""))
        target = tables.get(name.lower()) if name else _find_meant(column, table, tables)
        pointed_at = key or (target.key if target else None)
        if target and pointed_at:
            reference = Reference(column=column, table=target.name, key=pointed_at)
            found += [reference] if name or fits(table, reference) else []
    return replace(table, references=tuple(found))


def _find_meant(column: str, table: Table, tables: Mapping[str, Table]) -> Table | None:
    """Return the table whose key a column names: `AuthorId` or `author_id` for the key of `Author` or `authors`."""
    named = KEY_NAME.fullmatch(column)
    if not named or column == table.key:
        return None
    stem = _letters(named[1])
    for target in tables.values():
        is_named = _letters(target.name) in (stem, f"{stem}s", f"{stem}es", f"{stem.removesuffix('y')}ies")
        if is_named and target.key and target.key.lower() in (column.lower(), "id"):
            return target
    return None


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


Chain = tuple[Reference, ...]
"""Foreign keys that lead on from each other; the first is a column of the table that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A column that names the row at the end of a chain of foreign keys."""

    name: str
    chain: Chain
    naming: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListJoin:
    """A column that lists the names of the rows that a link table relates to a row, as the actors of a film."""

    name: str
    link: str
    own: Reference
    """The link's foreign key to the table itself."""
    other: Reference
    naming: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlan:
    """The columns that are joined to a table: single names, then lists of names."""

    joins: tuple[Join, ...]
    lists: tuple[ListJoin, ...]

    @property
    def names(self) -> list[str]:
        """The names of the joined columns, in the order in which they are selected."""
        return [*(join.name for join in self.joins), *(join.name for join in self.lists)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The parts of a statement that differ from one database to another."""

    quote: Quote
    quote_table: Quote
    collect: str
    """Aggregates the values of rows into a list or the text of a JSON list, as in `array_agg({})`."""


def plan_joins(table: Table, tables: Iterable[Table]) -> JoinPlan:
    """Return the columns to join to a table: names of what its keys lead to, the nearest first, then lists."""
    by_name = {one.name: one for one in tables}
    chains = [one for one in _iter_chains(table, by_name) if by_name[one[-1].table].naming][:MOST_JOINED]
    taken = {column.lower() for column in table.columns}
    joins: list[Join] = []
    for one in chains:
        name = next(name for name in _join_names(one, table, chains) if name not in taken)
        taken.add(name)
        joins.append(Join(name=name, chain=one, naming=by_name[one[-1].table].naming))
    return JoinPlan(joins=tuple(joins), lists=tuple(_iter_lists(table, by_name, taken))[:MOST_LISTS])


def select_joined(table: Table, plan: JoinPlan, dialect: Dialect) -> str:
    """Return a statement for all columns of a table and the joined ones, in this order, without an order of rows."""
    columns = [f"t.{dialect.quote(column)}" for column in table.columns]
    columns += [_joined(join, dialect) for join in plan.joins]
    columns += [_listed(join, dialect) for join in plan.lists]
    return f"SELECT {', '.join(columns)} FROM {dialect.quote_table(table.name)} AS t"


def read_list(cell: Any) -> list[Any] | None:
    """Return the cell of a list as its distinct values, sorted; a JSON list of a database without arrays is read."""
    try:
        values = orjson.loads(cell) if isinstance(cell, str | bytes) else cell
    except orjson.JSONDecodeError:  # cut by a limit of the server
        return None
    return sorted({str(value) for value in values or () if value is not None})[:MOST_VALUES] or None


def _joined(join: Join, dialect: Dialect) -> str:
    """Return nested subqueries; LIMIT, since not every database requires that a foreign key names one row."""
    quote = dialect.quote
    value = f"t.{quote(join.chain[0].column)}"
    wanted = [*((reference.column,) for reference in join.chain[1:]), join.naming]
    for depth, (reference, columns) in enumerate(zip(join.chain, wanted, strict=True), start=1):
        row = f"r{depth}"
        value = (
            f"(SELECT {_named(row, columns, quote)} FROM {dialect.quote_table(reference.table)} AS {row}"
            f" WHERE {row}.{quote(reference.key)} = {value} LIMIT 1)"
        )
    return value


def _listed(join: ListJoin, dialect: Dialect) -> str:
    quote = dialect.quote
    return (
        f"(SELECT {dialect.collect.format(_named('r', join.naming, quote))}"
        f" FROM {dialect.quote_table(join.link)} AS l JOIN {dialect.quote_table(join.other.table)} AS r"
        f" ON r.{quote(join.other.key)} = l.{quote(join.other.column)}"
        f" WHERE l.{quote(join.own.column)} = t.{quote(join.own.key)})"
    )


def _named(row: str, columns: Sequence[str], quote: Quote) -> str:
    """Return the value of a column, or the values of several as one text."""
    values = [f"{row}.{quote(column)}" for column in columns]
    return values[0] if len(values) == 1 else f"nullif(concat_ws(' ', {', '.join(values)}), '')"


def _iter_lists(table: Table, tables: Mapping[str, Table], taken: set[str]) -> Iterator[ListJoin]:
    """Yield the lists by link tables that can be looked up by the table's key; not of what a key names anyway."""
    named = {reference.table for reference in table.references}
    for link in tables.values():
        own = [one for one in link.references if one.table == table.name]
        others = [one for one in link.references if one.table != table.name]
        if not link.is_link or len(own) != 1 or own[0].column not in link.indexed:
            continue
        for other in others:
            name, naming = _plain_name(other.table), tables[other.table].naming if other.table in tables else ()
            if naming and other.table not in named and name not in taken:
                taken.add(name)
                yield ListJoin(name=name, link=link.name, own=own[0], other=other, naming=naming)


def _iter_chains(table: Table, tables: Mapping[str, Table]) -> Iterator[Chain]:
    """Yield the chains of references, short ones first; a longer one visits no table twice."""
    chains: list[Chain] = [(reference,) for reference in table.references if reference.table in tables]
    for _ in range(DEEPEST):
        yield from chains
        longer = (
            (*one, reference)
            for one in chains
            for reference in tables[one[-1].table].references
            if reference.table in tables and reference.table not in {table.name, *(step.table for step in one)}
        )
        chains = list(islice(longer, MOST_CHAINS))


def _join_names(one: Chain, table: Table, chains: Sequence[Chain]) -> Iterator[str]:
    """Yield candidate names, best first: the table's where it is reached once, else that of the way to it."""
    yield from _near_names(one[0], table) if len(one) == 1 else _far_names(one, chains)
    plain = "_".join([one[0].column, *(_plain_name(step.table) for step in one)]).lower()
    yield plain
    yield from (f"{plain}_{number}" for number in count(2))


def _near_names(reference: Reference, table: Table) -> Iterator[str]:
    pointed_at = [table.name, *(other.table for other in table.references)]
    role = KEY_NAME.fullmatch(reference.column)
    if pointed_at.count(reference.table) == 1:
        yield _plain_name(reference.table)
    elif role:
        yield role[1].lower()


def _far_names(one: Chain, chains: Sequence[Chain]) -> Iterator[str]:
    last = _plain_name(one[-1].table)
    if sum(other[-1].table == one[-1].table for other in chains) == 1:
        yield last
    before = [_role(step) for step in one[:-1]]
    yield f"{before[-1]}_{last}"
    yield "_".join([*before, last])


def _role(reference: Reference) -> str:
    """Return what a foreign key is for: `home` of `home_id`, or the table that it points at."""
    role = KEY_NAME.fullmatch(reference.column)
    return role[1].lower() if role else _plain_name(reference.table)


def _plain_name(table: str) -> str:
    """Return the name of a table without its schema, in lower case."""
    return table.rpartition(".")[2].lower()
