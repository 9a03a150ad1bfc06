"""Tables and views of a database, as it describes them: their keys, what they refer to, and which is the main one."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pinakes.errors import InputError, did_you_mean

NAMING = ("name", "title")
"""Usual names of the column that names a row."""
FIRST_NAMES = ("firstname", "forename", "givenname")
LAST_NAMES = ("lastname", "surname", "familyname")
KEY_NAME = re.compile(r"(.+?)_?id", re.IGNORECASE)
KINDS = ("table", "virtual", "view")
"""The readable kinds, in the order of preference for the main one."""
MOST_NAMED = 50
"""How many tables a message names."""


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
