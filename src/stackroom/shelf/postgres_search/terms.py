"""The dictionary of an index: a number for each term, and for each set of audiences."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from stackroom.shelf.postgres_search.copying import copy_rows
from stackroom.shelf.postgres_search.database import Connections
from stackroom.shelf.postgres_search.documents import Term, TermParts, term_hash

MOST_KEPT = 500_000
Numbers = NDArray[np.int32]
KNOWN = "SELECT hash, id, field, term, category, value FROM entries WHERE hash = ANY(%s::bigint[])"
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
        self._terms: dict[TermParts, int] = {}
        self._classes: dict[tuple[str, ...], int] = {}

    def numbers_of(self, db: "psycopg.Connection[Any]", terms: Sequence[TermParts]) -> Numbers:
        """Return the number of each term; those without one get it."""
        if len(self._terms) > MOST_KEPT:
            self._terms.clear()
        hashes = {term: term_hash(*term[:2]) for term in terms if term not in self._terms}
        if missing := self._look_up(db, hashes):
            with self._adding() as alone:
                added = self._add(alone, self._look_up(alone, missing))
            self._terms |= added
        return np.fromiter(map(self._terms.__getitem__, terms), dtype=np.int32, count=len(terms))

    def _add(self, alone: "psycopg.Connection[Any]", new: Mapping[TermParts, int]) -> dict[TermParts, int]:
        """Give numbers to terms, which come with their hashes."""
        ((last,),) = alone.execute("SELECT coalesce(max(id), 0) FROM entries").fetchall()
        numbers = np.arange(last + 1, last + 1 + len(new), dtype=np.int32)
        hashes = np.fromiter(new.values(), dtype=np.int64, count=len(new))
        fields, *texts = zip(*new, strict=True) if new else [()] * 4
        encodings = [[encoded(text) for text in some] for some in texts]
        copy_rows(alone, "entries", (numbers, hashes, np.array(fields, dtype=np.int16)), *encodings)
        return dict(zip(new, numbers.tolist(), strict=True))

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

    def _look_up(self, db: "psycopg.Connection[Any]", hashes: Mapping[TermParts, int]) -> Mapping[TermParts, int]:
        """Keep the numbers of the terms that have one, and return the others."""
        if not hashes:
            return {}
        with db.cursor(binary=True) as cursor:
            rows = cursor.execute(KNOWN, ("{" + ",".join(map(str, hashes.values())) + "}",)).fetchall()
        self._terms |= {term: number for _, number, *row in rows if (term := (*term_of_row(row),)) in hashes}
        return {term: hash for term, hash in hashes.items() if term not in self._terms} if rows else hashes
