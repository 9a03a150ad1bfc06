"""The dictionary of an index: a number for each term, and how many records of each class of audiences have it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import psycopg

from stackroom.shelf.postgres_search.documents import Term

MOST_KEPT = 500_000
KNOWN = "SELECT hash, id, field, term, category, value FROM entries WHERE hash = ANY(%s::bigint[])"
INSERT = """INSERT INTO entries (hash, field, term, category, value)
            SELECT * FROM unnest(%s::bigint[], %s::smallint[], %s::bytea[], %s::bytea[], %s::bytea[])"""
ADD_COUNTS = """INSERT INTO counts SELECT * FROM unnest(%s::int[], %s::int[], %s::bigint[])
                ON CONFLICT (entry, class) DO UPDATE SET records = counts.records + excluded.records"""


def encoded(text: str) -> bytes:
    """Return a text as it is stored; texts of queries may have what is no character."""
    return text.encode("utf-8", "surrogatepass")


def term_of_row(row: Sequence[Any]) -> Term:
    """Return the term of a row of the dictionary: its field, text, category and value."""
    field, *texts = row
    return Term(field, *(text.decode("utf-8", "surrogatepass") for text in texts))


class Dictionary:
    """Numbers of terms for a writer, who is the only one; those used before are kept."""

    def __init__(self) -> None:
        self._kept: dict[Term, int] = {}

    def numbers_of(self, db: "psycopg.Connection[Any]", terms: Iterable[Term]) -> Mapping[Term, int]:
        """Return the number of each term; those without one get it."""
        wanted = set(terms)
        if len(self._kept) > MOST_KEPT:
            self._kept.clear()
        missing = [term for term in wanted if term not in self._kept]
        self._look_up(db, missing)
        new = sorted(term for term in missing if term not in self._kept)
        if new:
            columns = zip(*((one.hash, one.field, *map(encoded, one[1:])) for one in new), strict=True)
            db.execute(INSERT, [list(column) for column in columns])
            self._look_up(db, new)
        return {term: self._kept[term] for term in wanted}

    def forget(self) -> None:
        """Forget every number: the transaction that gave them has failed, or there is another dictionary."""
        self._kept.clear()

    def _look_up(self, db: "psycopg.Connection[Any]", terms: Sequence[Term]) -> None:
        if not terms:
            return
        wanted = set(terms)
        with db.cursor(binary=True) as cursor:
            rows = cursor.execute(KNOWN, ([term.hash for term in terms],)).fetchall()
        self._kept |= {term: number for _, number, *row in rows if (term := term_of_row(row)) in wanted}


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
        """Add the changes to the tables."""
        changed = sorted((entry, kind, count) for (entry, kind), count in self._terms.items() if count)
        if changed:
            db.execute(ADD_COUNTS, [list(column) for column in zip(*changed, strict=True)])
        for kind, records in sorted(self._records.items()):
            query = """UPDATE classes SET records = records + %s, lengths = ARRAY(
                       SELECT a + b FROM unnest(lengths, %s::bigint[]) WITH ORDINALITY AS t(a, b, n) ORDER BY n)
                       WHERE id = %s"""
            db.execute(query, (records, self._lengths[kind], kind))


class Classes:
    """The sets of audiences that records are for, each with a number."""

    def __init__(self, db: "psycopg.Connection[Any]", groups: int) -> None:
        self._db = db
        self._groups = groups
        rows = db.execute("SELECT id, audiences FROM classes").fetchall()
        self._numbers: dict[tuple[str, ...], int] = {tuple(audiences): number for number, audiences in rows}

    def number_of(self, audiences: tuple[str, ...]) -> int:
        """Return the number of a set of audiences, which are in order."""
        if audiences not in self._numbers:
            self._numbers[audiences] = number = len(self._numbers) + 1
            values = (number, list(audiences), [0] * self._groups)
            self._db.execute("INSERT INTO classes VALUES (%s, %s::text[], 0, %s::bigint[])", values)
        return self._numbers[audiences]
