"""The dictionary of an index: a number for each term, and how many records of each class of audiences have it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from stackroom.shelf.postgres_search.database import Connections
from stackroom.shelf.postgres_search.documents import Term

MOST_KEPT = 500_000
KNOWN = "SELECT hash, id, field, term, category, value FROM entries WHERE hash = ANY(%s::bigint[])"
INSERT = """INSERT INTO entries (hash, field, term, category, value)
            SELECT * FROM unnest(%s::bigint[], %s::smallint[], %s::bytea[], %s::bytea[], %s::bytea[])"""
ADD_COUNTS = """INSERT INTO counts SELECT * FROM unnest(%s::int[], %s::int[], %s::bigint[])
                ON CONFLICT (entry, class) DO UPDATE SET records = counts.records + excluded.records"""
ADD_CLASS = """INSERT INTO classes
               SELECT coalesce(max(id), 0) + 1, %(audiences)s::text[], 0, %(lengths)s::bigint[] FROM classes
               HAVING bool_or(audiences = %(audiences)s::text[]) IS NOT TRUE"""


def encoded(text: str) -> bytes:
    """Return a text as it is stored; texts of queries may have what is no character."""
    return text.encode("utf-8", "surrogatepass")


def term_of_row(row: Sequence[Any]) -> Term:
    """Return the term of a row of the dictionary: its field, text, category and value."""
    field, *texts = row
    return Term(field, *(text.decode("utf-8", "surrogatepass") for text in texts))


class Dictionary:
    """Numbers of terms and of sets of audiences for a writer; those used before are kept.

    New ones are given in transactions of their own, one writer at a time, so that several can build an index.
    """

    def __init__(self, connections: Connections, schema: str) -> None:
        self._connections = connections
        self._schema = schema
        self._terms: dict[Term, int] = {}
        self._classes: dict[tuple[str, ...], int] = {}

    def numbers_of(self, db: "psycopg.Connection[Any]", terms: Iterable[Term]) -> Mapping[Term, int]:
        """Return the number of each term; those without one get it."""
        wanted = set(terms)
        if len(self._terms) > MOST_KEPT:
            self._terms.clear()
        if missing := self._look_up(db, [term for term in wanted if term not in self._terms]):
            with self._adding() as alone:
                new = self._look_up(alone, missing)
                columns = zip(*((one.hash, one.field, *map(encoded, one[1:])) for one in new), strict=True)
                alone.execute(INSERT, [list(column) for column in columns] or [[]] * 5)
                self._look_up(alone, new)
        return {term: self._terms[term] for term in wanted}

    def class_of(self, audiences: tuple[str, ...], *, groups: int) -> int:
        """Return the number of a set of audiences, which are in order."""
        if audiences not in self._classes:
            with self._adding() as alone:
                alone.execute(ADD_CLASS, {"audiences": list(audiences), "lengths": [0] * groups})
                rows = alone.execute("SELECT id, audiences FROM classes").fetchall()
            self._classes = {tuple(some): number for number, some in rows}
        return self._classes[audiences]

    @contextmanager
    def _adding(self) -> "Iterator[psycopg.Connection[Any]]":
        with self._connections.writing(self._schema) as alone:
            alone.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._schema,))
            yield alone

    def _look_up(self, db: "psycopg.Connection[Any]", terms: Sequence[Term]) -> list[Term]:
        """Keep the numbers of the terms that have one, and return the others, in order."""
        if not terms:
            return []
        wanted = set(terms)
        with db.cursor(binary=True) as cursor:
            rows = cursor.execute(KNOWN, ([term.hash for term in terms],)).fetchall()
        self._terms |= {term: number for _, number, *row in rows if (term := term_of_row(row)) in wanted}
        return sorted(term for term in wanted if term not in self._terms)


class CountChanges:
    """Changes of the counts of terms and of classes, collected over a batch."""

    def __init__(self, groups: int) -> None:
        self._terms: Counter[tuple[int, int]] = Counter()
        self._records: Counter[int] = Counter()
        self._lengths: defaultdict[int, list[int]] = defaultdict(lambda: [0] * groups)

    def add(self, sign: int, kind: int, entries: Iterable[int], lengths: Sequence[int]) -> None:
        """Count a record of a class in, or out where the sign is negative."""
        for entry in entries:
            self._terms[entry, kind] += sign
        self._records[kind] += sign
        self._lengths[kind] = [before + sign * more for before, more in zip(self._lengths[kind], lengths, strict=True)]

    def save(self, db: "psycopg.Connection[Any]") -> None:
        """Add the changes to the tables, in one order: several writers wait for each other's rows until they commit."""
        changed = sorted((entry, kind, count) for (entry, kind), count in self._terms.items() if count)
        if changed:
            db.execute(ADD_COUNTS, [list(column) for column in zip(*changed, strict=True)])
        for kind, records in sorted(self._records.items()):
            query = """UPDATE classes SET records = records + %s, lengths = ARRAY(
                       SELECT a + b FROM unnest(lengths, %s::bigint[]) WITH ORDINALITY AS t(a, b, n) ORDER BY n)
                       WHERE id = %s"""
            db.execute(query, (records, self._lengths[kind], kind))
