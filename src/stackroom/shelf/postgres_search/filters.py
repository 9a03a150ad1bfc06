"""Conditions as SQL over the table of documents: terms by their numbers, numbers by ranges,
audiences by classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.scope import (
    AUDIENCE_FIELD,
    KEY_FIELD,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
)
from stackroom.shelf.postgres_search.database import Snapshot
from stackroom.shelf.postgres_search.postings import Integers
from stackroom.shelf.postgres_search.terms import (
    ALL_WORDS,
    KNOWN,
    Term,
    column_number,
    term_hash,
    term_of_row,
)
from stackroom.shelf.terms import asked_term, number_fields

LARGEST_KEY = 2**63 - 1
FEW, SAMPLED = 20_000, 10_000
"""Up to how many keys are read, so that they are a set in memory, and in how many records more are
estimated.
"""


class AudienceClass(NamedTuple):
    """Records for the same audiences: how many, and the numbers of tokens in each group of
    fields.
    """

    number: int
    audiences: frozenset[str]
    records: int
    lengths: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The documents that meet some conditions: a clause of SQL with its values; an empty one means
    all.
    """

    snapshot: Snapshot
    clause: str
    values: tuple[Any, ...]
    classes: Sequence[AudienceClass]  # the classes that the audiences leave
    # whether audiences alone are limited, so that what is selected is counted already
    is_of_classes: bool

    @property
    def also(self) -> str:
        """The clause as a further condition."""
        return f"AND {self.clause}" if self.clause else ""

    @cached_property
    def keys(self) -> Integers | None:
        """The keys in order where they are few, else None."""
        if not self.clause or self.is_of_classes:
            return None
        rows = self.snapshot.rows(
            f"SELECT key FROM documents WHERE true {self.also} LIMIT {FEW + 1}", *self.values
        )
        return (
            None if len(rows) > FEW else np.sort(np.array([key for (key,) in rows], dtype=np.int64))
        )

    @cached_property
    def size(self) -> int:
        """About how many there are; of many, by a sample."""
        most = sum(one.records for one in self.classes)
        if self.is_of_classes or not self.clause or self.keys is not None:
            return most if self.keys is None else len(self.keys)
        share = SAMPLED / max(most, SAMPLED)
        sampled = (
            f"documents TABLESAMPLE SYSTEM ({100 * share:f}) REPEATABLE (1) WHERE {self.clause}"
        )
        return round(
            int(self.snapshot.rows(f"SELECT count(*) FROM {sampled}", *self.values)[0][0]) / share
        )

    def only(self, keys: Integers) -> Integers:
        """Return those of these keys that are selected, in their order."""
        if not self.clause or not len(keys):
            return keys
        if self.keys is not None:
            return keys[np.isin(keys, self.keys)]
        query = f"SELECT key FROM documents WHERE key = ANY(%s::bigint[]) {self.also}"
        found = [key for (key,) in self.snapshot.rows(query, keys.tolist(), *self.values)]
        return keys[np.isin(keys, np.array(found, dtype=np.int64))]

    def count(self, *, most: int) -> int:
        """Return how many there are, at most this many."""
        if self.keys is not None:
            return min(len(self.keys), most)
        counted = (
            f"SELECT count(*) FROM (SELECT 1 FROM documents WHERE true {self.also} LIMIT {most}) AS"
            " counted"
        )
        return int(self.snapshot.rows(counted, *self.values)[0][0])


def select(
    conditions: Sequence[Condition],
    *,
    snapshot: Snapshot,
    spec: CatalogueSpec,
    classes: Sequence[AudienceClass],
    is_limited: bool,
) -> Selection:
    """Return the documents that meet every condition; of these classes only, where there are
    others.
    """
    of_audiences = [one for one in conditions if one.field == AUDIENCE_FIELD]
    others = [one for one in conditions if one not in of_audiences]
    kept = [
        one for one in classes if all(_has_audiences(one, condition) for condition in of_audiences)
    ]
    values = [
        (one.field, value) for one in others if not isinstance(one, Range) for value in one.values
    ]
    numbers = find_numbers(snapshot, [_term(spec, *one) for one in values if one[0] != KEY_FIELD])
    parts = [part for one in others if (part := _clause(one, numbers, spec)) is not None]
    if is_limited or len(kept) < len(classes):
        parts.append(("class = ANY(%s::int[])", [[one.number for one in kept]]))
    return Selection(
        snapshot=snapshot,
        clause=" AND ".join(f"({clause})" for clause, _ in parts),
        values=tuple(value for _, values in parts for value in values),
        classes=kept,
        is_of_classes=not others,
    )


def _clause(
    condition: Condition, numbers: Mapping[Term, list[int]], spec: CatalogueSpec
) -> tuple[str, list[Any]] | None:
    """Return the SQL of a condition and its values, or None if every document meets it."""
    if isinstance(condition, Range):
        # PostgreSQL takes a missing number (NaN) for greater than any other: the upper bound leaves
        # it out.
        places = [number_fields(spec).index(name) + 1 for name in condition.fields]
        number = " * ".join(f"numbers[{place}]" for place in places)
        above = -np.inf if condition.at_least is None else float(condition.at_least)
        below = np.inf if condition.at_most is None else float(condition.at_most)
        return f"{number} BETWEEN %s::float8 AND %s::float8", [float(above), float(below)]
    if condition.field == KEY_FIELD:
        return _of_keys(condition)
    column = "words" if condition.field == WORDS_FIELD else "columns"
    each = [numbers[_term(spec, condition.field, value)] for value in condition.values]
    any_of = sorted({number for some in each for number in some})
    match condition:
        case AnyOf():
            return (f"{column} && %s::int[]", [any_of]) if any_of else ("false", [])
        case NoneOf():
            return (f"NOT {column} && %s::int[]", [any_of]) if any_of else None
        case AllOf():
            if not all(each):
                return "false", []
            return (
                (" AND ".join([f"{column} && %s::int[]"] * len(each)), list(each)) if each else None
            )


def _term(spec: CatalogueSpec, field: str, value: str) -> Term:
    """Return the term that a condition names."""
    return Term(
        ALL_WORDS if field == WORDS_FIELD else column_number(spec, field), asked_term(field, value)
    )


def find_numbers(snapshot: Snapshot, terms: Sequence[Term]) -> dict[Term, list[int]]:
    """Return the numbers of terms, one for each category and spelling; none for a term that no
    record has.
    """
    found: dict[Term, list[int]] = {term: [] for term in terms}
    for _, number, *row in (
        snapshot.rows(KNOWN, [term_hash(*term[:2]) for term in found]) if found else ()
    ):
        term = Term(*term_of_row(row)[:2])
        if term in found:
            found[term].append(number)
    return found


def _has_audiences(one: AudienceClass, condition: Condition) -> bool:
    """Tell whether the records of a class meet a condition on audiences."""
    match condition:
        case AnyOf():
            return not one.audiences.isdisjoint(condition.values)
        case AllOf():
            return one.audiences.issuperset(condition.values)
        case _:
            return isinstance(condition, NoneOf) and one.audiences.isdisjoint(condition.values)


def _of_keys(condition: AnyOf | AllOf | NoneOf) -> tuple[str, list[Any]]:
    keys = sorted(
        {
            key
            for value in condition.values
            if value.isdecimal() and (key := int(value)) <= LARGEST_KEY
        }
    )
    match condition:
        case AnyOf():
            return "key = ANY(%s::bigint[])", [keys]
        case NoneOf():
            return "NOT key = ANY(%s::bigint[])", [keys]
        case AllOf():
            return " AND ".join(["key = %s"] * len(keys)) or "true", list(keys)
