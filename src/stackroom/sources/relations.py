"""Tables of a database as it describes them, and one statement that joins a table with what keys
relate to it.

`find_main` chooses the table with most text, `select_joined` writes the statement. It joins names
(an order's customer), lists of names (its products), and numbers of the rows that refer to it (how
many, the sum of a quantity, of quantity × price). A name is a scalar subquery, and the rows that
refer to a table are grouped by its key before they are joined: no row is doubled, and no table is
read once for each row. Nothing here talks to a database.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import orjson

from stackroom.catalogue.column_words import is_about, name_words
from stackroom.frozen import frozen
from stackroom.sources.file_rows import text_in, unique_names
from stackroom.sources.port import SourceRow

FIRST_NAMES = ("first name", "firstname", "forename", "given name")
LAST_NAMES = ("last name", "lastname", "surname", "family name")
PERSON = (*FIRST_NAMES, *LAST_NAMES, "full name", "hire date", "birth date", "salary")
"""The names of columns beside which a title is that of a person's job."""
# the ending in which the singular and the plural of a word differ
ENDING = re.compile(r"(ies?|y|es|s|e)+$")
# the readable kinds, in the order of preference for the main one
KINDS = ("table", "virtual", "view")
MOST_JOINED = 40
MOST_VALUES = 100
DECIMALS = 6  # the decimals of a sum that are kept; those after them are errors of binary fractions
# the expression of a JSON list of values in SQLite
JSON_LIST = "json_group_array(CAST({} AS TEXT))"


@frozen
class Reference:
    """A foreign key: a column whose value is the key of a row of another table."""

    column: str
    table: str
    key: str
    reason: str = ""  # why it is taken for one, where it is not declared


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table or view, as its database describes it."""

    name: str
    kind: str = "table"
    columns: tuple[str, ...]
    texts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    # its columns in which no value comes twice, the primary key first
    uniques: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    measures: tuple[str, ...] = ()  # its columns of numbers that are named as `is_measure` requires
    shares: frozenset[str] = frozenset()  # the measures that are from 0 to 1 in every row

    @property
    def key(self) -> str | None:
        """The primary key, where it is a single column."""
        return self.keys[0] if len(self.keys) == 1 else None

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns that together name a row: its proper name, or its first text that is no
        key.
        """
        return self.proper_name or tuple(self.words)[:1]

    @cached_property
    def proper_name(self) -> tuple[str, ...]:
        """The columns that are named as names: both names of a person, a name or title; never a key
        or a job title.
        """
        called = {" ".join(words): column for column, words in self.words.items()}
        person = [
            next(filter(None, map(called.get, names)), None) for names in (FIRST_NAMES, LAST_NAMES)
        ]
        whole = tuple(column for column in person if column is not None)
        if len(whole) == len(person):
            return whole
        is_person = not called.keys().isdisjoint(PERSON)
        ranks = {
            column: self._name_rank(words, is_person=is_person)
            for column, words in self.words.items()
        }
        best = max(ranks, key=lambda column: ranks[column], default="")
        return (best,) if ranks.get(best) else whole

    @cached_property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The words of the names of its texts, without keys."""
        keys = {
            *self.keys,
            *(reference.column for reference in self.references),
            *filter(is_key_name, self.texts),
        }
        return {column: name_words(column) for column in self.texts if column not in keys}

    def _name_rank(self, words: Sequence[str], *, is_person: bool) -> int:
        """Return how surely a column of these words names a row of the table; 0 if it does not."""
        *before, last = words or ("",)
        is_own = not before or {*map(stem, before)} <= {*map(stem, name_words(self.name))}
        if is_own and (last == "name" or (last == "title" and not is_person)):
            return 6 - bool(before) - (last == "title")
        if last != "name":
            return 0
        return 3 if is_about(before, "companies") else 1 if is_about(before, "not_titles") else 2

    @property
    def is_link(self) -> bool:
        """Whether it is a link table: it only relates rows of other tables."""
        pointing = {reference.column for reference in self.references}
        is_keyed_by_others = len(self.keys) > 1 and pointing.issuperset(self.keys)
        plain = set(self.columns) - set(self.keys) - pointing
        return len(pointing) > 1 and (is_keyed_by_others or not plain)


def stem(word: str) -> str:
    """Return a word without the ending in which its singular and plural differ."""
    return ENDING.sub("", word) or word


@cache
def is_measure(column: str) -> bool:
    """Tell whether a column is named as one of numbers that are added up or multiplied: quantity,
    price, discount.
    """
    return any(
        is_about(name_words(column), topic)
        for topic in ("quantities", "unit_prices", "discounts", "totals")
    )


@cache
def is_key_name(column: str) -> bool:
    """Tell whether a column is named as one of keys: `id`, `CustomerID`, `country_code`."""
    last = name_words(column)[-1:]
    return (
        is_about(last, "codes")
        or is_about(last, "unique_codes")
        or any(word.endswith("id") for word in last)
    )


def find_referred(column: str, table: Table, other: Table) -> str | None:
    """Return the key of another table that a column may refer to: one of the same name, or the id
    of what it names.

    `book_id` is the `book_id` of another table, and in `loans` the `id` of `books`; in `books` it
    is of the row itself.
    """
    words = name_words(column)
    *before, last = words or ("",)
    named = [
        stem(word) for word in (*before, last.removesuffix("id")) if word and not is_key_name(word)
    ]
    own, others = ([stem(word) for word in name_words(place.name)] for place in (table, other))
    keys = [key for key in other.uniques if is_key_name(key)]
    if not named or not keys or named == own:
        return None
    same = next((key for key in keys if name_words(key) == words), None)
    return same or (keys[0] if named[-1] in others else None)


def find_main(tables: Sequence[Table], weigh: Callable[[Table], tuple[Any, ...]]) -> Table | None:
    """Return the table that weighs most; a link table or a view only where there is nothing
    else.
    """
    for kind in KINDS:
        some = [table for table in tables if table.kind == kind]
        candidates = [table for table in some if not table.is_link] or some
        if candidates:
            return max(candidates, key=lambda table: (*weigh(table), table.name))
    return None


class Child(NamedTuple):
    """A table whose rows lead to a row of the main one, by one foreign key or two."""

    table: Table
    chain: tuple[Reference, ...]


@frozen
class JoinedColumn:
    """A column that is joined to a table: the name of a row that a key leads to, or what the rows
    of a child say.
    """

    name: str
    # its expression, of a row `t` of the table; of a child, an aggregate of its rows `l`
    value: str
    origin: str  # its origin, for people
    # makes its value of the cell of a result, where that is not the value
    read: Callable[[Any], Any] | None = None
    # the table whose name is put before its own where that is taken; without one, it is left out
    table: str = ""
    child: Child | None = None


def _rounded(cell: Any) -> Any:
    return round(cell, DECIMALS) if isinstance(cell, float) else cell


def _names(cell: Any) -> list[Any] | None:
    """Return the JSON list of a cell as its distinct values, sorted."""
    values = orjson.loads(cell) if isinstance(cell, str | bytes) else ()
    return sorted({str(value) for value in values if value is not None})[:MOST_VALUES] or None


def _iter_chains(table: Table, tables: Mapping[str, Table]) -> Iterator[tuple[Reference, ...]]:
    """Yield the foreign keys of a table, then those of the tables that they lead to, each with the
    one before it.
    """
    near = [reference for reference in table.references if reference.table in tables]
    yield from ((reference,) for reference in near)
    for first in near:
        for second in tables[first.table].references:
            if second.table in tables and second.table not in (table.name, first.table):
                yield first, second


def _iter_names(table: Table, tables: Mapping[str, Table]) -> Iterator[JoinedColumn]:
    """Yield the names that one or two foreign keys lead to, called after the table or, of several,
    by the way to it.
    """
    chains = list(_iter_chains(table, tables))
    ends = [table.name, *(chain[-1].table for chain in chains)]
    for chain in chains:
        end, way = chain[-1].table, " and ".join(f"{step.column}{step.reason}" for step in chain)
        name = (
            end
            if ends.count(end) == 1
            else "_".join([chain[0].column, *(step.table for step in chain)])
        )
        if naming := tables[end].naming:
            value = _followed(f"t.{quoted(chain[0].column)}", chain, naming)
            yield JoinedColumn(
                name=name, value=value, origin=f"{' '.join(naming)} of {end}, by {way}"
            )


def _iter_places(table: Table, tables: Mapping[str, Table]) -> Iterator[JoinedColumn]:
    """Yield the places of what the foreign keys of a table lead to, if it has no place of its
    own.
    """
    has_place = any(is_about(name_words(column), "locations") for column in table.columns)
    for reference in table.references if not has_place else ():
        for column, words in (
            tables[reference.table].words.items() if reference.table in tables else ()
        ):
            if is_about(words[-1:], "locations") and "address" not in words:
                value = _followed(f"t.{quoted(reference.column)}", (reference,), (column,))
                origin = f"{column} of {reference.table}, by {reference.column}{reference.reason}"
                yield JoinedColumn(name=column, value=value, origin=origin, table=reference.table)


def _iter_children(table: Table, tables: Mapping[str, Table]) -> Iterator[Child]:
    """Yield the tables that lead to this one in a single way, by one foreign key before those by
    two.
    """
    for steps in (1, 2):
        for other in tables.values():
            chains = [
                chain for chain in _iter_chains(other, tables) if chain[-1].table == table.name
            ]
            shortest = [chain for chain in chains if len(chain) == min(map(len, chains))]
            if other is not table and len(shortest) == 1 and len(shortest[0]) == steps:
                yield Child(table=other, chain=shortest[0])


def _iter_of_child(
    child: Child, tables: Mapping[str, Table], named: set[str]
) -> Iterator[JoinedColumn]:
    """Yield what the rows of a child say of a row: their number, sums, and the names in the tables
    they relate.
    """
    rows, is_near = child.table, len(child.chain) == 1
    if is_near and (rows.measures or not rows.is_link):
        origin = (
            f"the number of rows of {rows.name}, by {child.chain[0].column}{child.chain[0].reason}"
        )
        yield JoinedColumn(
            name=f"{rows.name}_count",
            value="count(*)",
            origin=origin,
            read=lambda cell: cell or 0,
            child=child,
        )
    for name, value, formula in _iter_sums(rows):
        origin = f"the sum of {formula} in {rows.name}"
        yield JoinedColumn(
            name=name, value=f"sum({value})", origin=origin, read=_rounded, child=child
        )
    for other in rows.references if is_near else ():
        end = tables.get(other.table)
        naming = (
            ()
            if end is None or end.name in named
            else end.naming
            if rows.is_link
            else end.proper_name
        )
        if end is not None and naming:
            value = JSON_LIST.format(_followed(f"l.{quoted(other.column)}", (other,), naming))
            origin = f"{' '.join(naming)} of {end.name}, by {rows.name}"
            yield JoinedColumn(name=end.name, value=value, origin=origin, read=_names, child=child)


def _iter_sums(rows: Table) -> Iterator[tuple[str, str, str]]:
    """Yield the sums over the rows of a table: a name, the expression that is added up, and its
    formula for people.
    """
    words = {column: name_words(column) for column in rows.measures}
    additive = [column for column in words if not is_about(words[column], "not_totals")]
    prices = [column for column in additive if is_about(words[column], "unit_prices")]
    prices = [column for column in prices if not is_about(words[column], "line_totals")]
    others = [column for column in additive if column not in prices]
    quantities = [column for column in others if is_about(words[column], "quantities")]
    totals = [
        column
        for column in others
        if is_about(words[column], "totals") and column not in quantities
    ]
    for column in (*quantities, *totals):
        yield column, f"l.{quoted(column)}", column
    if not quantities or not prices:
        return
    price, quantity = min(prices, key=lambda column: "unit" not in words[column]), quantities[0]
    discount = next((column for column in words if is_about(words[column], "discounts")), None)
    value, formula = f"l.{quoted(price)} * l.{quoted(quantity)}", f"{price} × {quantity}"
    if discount in rows.shares:
        yield (
            "revenue",
            f"{value} * (1 - coalesce(l.{quoted(discount)}, 0))",
            f"{formula} × (1 − {discount})",
        )
    else:
        yield "revenue" if discount is None else f"{price}_times_{quantity}", value, formula


def _with_free_names(
    columns: Iterable[JoinedColumn], taken: Iterable[str]
) -> Iterator[JoinedColumn]:
    """Yield the columns whose name, or if it is taken whose name after that of its table, is free
    in lower case.
    """
    used = {"_".join(name_words(name)) for name in taken}
    for column in columns:
        table = column.child.table.name if column.child else column.table
        names = [column.name, *([f"{table} {column.name}"] if table else [])]
        called = ("_".join(name_words(name)) or name.lower() for name in names)
        if free := next((name for name in called if name not in used), None):
            used.add(free)
            yield replace(column, name=free)


@frozen
class Selection:
    """A statement, with the names of its result columns, the last of which may be joined to the
    table.
    """

    statement: str
    names: tuple[str, ...]
    joined: tuple[JoinedColumn, ...] = ()

    @property
    def origins(self) -> dict[str, str]:
        """The origin of each joined column."""
        return {column.name: column.origin for column in self.joined}

    def to_row(self, number: int, cells: Sequence[Any]) -> SourceRow:
        """Return a row of the result."""
        values = [text_in(cell) if isinstance(cell, bytes) else cell for cell in cells]
        own = len(self.names) - len(self.joined)
        for place, column in enumerate(self.joined, start=own):
            if column.read:
                values[place] = column.read(values[place])
        return SourceRow(place=f"row {number}", values=dict(zip(self.names, values, strict=True)))


def select_joined(table: Table, tables: Iterable[Table]) -> Selection:
    """Return the selection of all columns of a table and of those joined to it."""
    by_name = {other.name: other for other in tables}
    named = {table.name, *(reference.table for reference in table.references)}
    children = list(_iter_children(table, by_name))
    columns = [*_iter_names(table, by_name), *_iter_places(table, by_name)]
    columns += [column for child in children for column in _iter_of_child(child, by_name, named)]
    joined = tuple(_with_free_names(columns, table.columns))[:MOST_JOINED]
    values = [f"t.{quoted(column)}" for column in table.columns]
    for place, column in enumerate(joined):
        values.append(
            column.value if column.child is None else f"c{children.index(column.child)}.v{place}"
        )
    joins = ""
    for number, child in enumerate(children):
        own = [
            f"{column.value} AS v{place}"
            for place, column in enumerate(joined)
            if column.child is child
        ]
        first, *rest = child.chain
        key = f"l.{quoted(first.column)}"
        if rest:
            key = _followed(key, (first,), (rest[0].column,))
        rows = (
            f"SELECT {', '.join([f'{key} AS k', *own])} FROM {quoted(child.table.name)} AS l GROUP"
            " BY 1"
        )
        joins += (
            f" LEFT JOIN ({rows}) AS c{number} ON c{number}.k = t.{quoted(child.chain[-1].key)}"
            if own
            else ""
        )
    return Selection(
        statement=f"SELECT {', '.join(values)} FROM {quoted(table.name)} AS t{joins}",
        names=tuple(unique_names([*table.columns, *(column.name for column in joined)])),
        joined=joined,
    )


def quoted(name: str) -> str:
    """Quote an identifier for a statement."""
    return '"' + name.replace('"', '""') + '"'


def _followed(value: str, chain: Sequence[Reference], wanted: Sequence[str]) -> str:
    """Return nested subqueries that follow a key; LIMIT, since SQLite does not require that it
    names one row.
    """
    columns = [*((step.column,) for step in chain[1:]), wanted]
    for step, names in zip(chain, columns, strict=True):
        named = ", ".join(f"r.{quoted(name)}" for name in names)
        text = named if len(names) == 1 else f"nullif(concat_ws(' ', {named}), '')"
        value = (
            f"(SELECT {text} FROM {quoted(step.table)} AS r WHERE r.{quoted(step.key)} = {value}"
            " LIMIT 1)"
        )
    return value
