"""The terms of an index: those of a record for filters, words, names and their grams; and the
number that each has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec
from stackroom.shelf.postgres_search.copying import copy_rows
from stackroom.shelf.postgres_search.database import STATEMENTS, Connections
from stackroom.shelf.postgres_search.postings import MOST_IN_A_BYTE
from stackroom.shelf.terms import term_fields

ALL_WORDS, GRAMS, FIRST_APART = -1, -3, -10
"""The numbers of the fields of terms that are no columns; from the last one down, fields with words
of their own.
"""
GRAM_CHARS = 3
MOST_KEPT = 500_000
Numbers = NDArray[np.int32]
KNOWN = "SELECT hash, id, field, term, category, value FROM entries WHERE hash = ANY(%s::bigint[])"


class Term(NamedTuple):
    """A term of the index: the number of its field, and for values of columns the category and the
    value as written.
    """

    field: int
    text: str
    category: str = ""
    value: str = ""


TermParts = tuple[int, str, str, str]
"""A term as a plain tuple, which the garbage collector visits but once: a build has many."""


def term_hash(field: int, text: str) -> int:
    """Return the number by which a term is looked up; values that compare as equal have the
    same.
    """
    digest = blake2b(encoded(f"{field}\n{text}"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def text_groups(spec: CatalogueSpec) -> dict[int, tuple[FieldSpec, ...]]:
    """Return the fields whose words are searched together, by the number of the group; all searched
    text is first.
    """
    apart = (*spec.boosted_fields, *spec.fields_searched_as_names)
    return {
        ALL_WORDS: spec.searched_fields,
        **{FIRST_APART - place: (one,) for place, one in enumerate(apart)},
    }


def text_weights(spec: CatalogueSpec) -> list[tuple[int, float]]:
    """Return the groups that a search by words looks in, each with its weight."""
    boosts = [(FIRST_APART - place, field.boost) for place, field in enumerate(spec.boosted_fields)]
    return [(ALL_WORDS, 1.0), *boosts]


def name_weights(spec: CatalogueSpec) -> list[tuple[int, float]]:
    """Return the groups whose words are searched as names, each with its weight."""
    first = FIRST_APART - len(spec.boosted_fields)
    return [(first - place, 1.0) for place in range(len(spec.fields_searched_as_names))]


def column_number(spec: CatalogueSpec, field: str) -> int:
    """Return the number of a term column."""
    return term_fields(spec).index(field)


def grams_of(name: str) -> set[str]:
    """Return every three-letter window of a name, padded by a space on both sides."""
    padded = f" {name} "
    return {padded[start : start + GRAM_CHARS] for start in range(len(padded) - GRAM_CHARS + 1)}


def gram_sizes(names: Iterable[str]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the grams of a record's names with the size of the shortest name that has each, and of
    the longest.
    """
    shortest, longest = dict[str, int](), dict[str, int]()
    sized = sorted((min(len(name.encode()), MOST_IN_A_BYTE), name) for name in names)
    for size, name in sized:
        longest |= dict.fromkeys(grams_of(name), size)
    for size, name in reversed(sized):
        shortest |= dict.fromkeys(grams_of(name), size)
    return shortest, longest


def name_number(name: str) -> int:
    """Return the number by which documents with a name are found: below 0, where terms have none,
    and not unique.
    """
    digest = blake2b(encoded(name), digest_size=4).digest()
    return int.from_bytes(digest, "big") // -2 - 1


def encoded(text: str) -> bytes:
    """Return a text as it is stored; texts of queries may have what is no character."""
    return text.encode("utf-8", "surrogatepass")


def decoded(text: bytes) -> str:
    """Return a text that was stored."""
    return text.decode("utf-8", "surrogatepass")


def term_of_row(row: Sequence[Any]) -> Term:
    """Return the term of a row of the dictionary: its field, text, category and value."""
    field, *texts = row
    return Term(field, *map(decoded, texts))


class Dictionary:
    """Numbers of terms and of sets of audiences for a writer; those used before are kept.

    New ones are given in transactions of their own, one writer at a time, so that several can build
    an index.
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

    def _add(
        self, alone: "psycopg.Connection[Any]", new: Mapping[TermParts, int]
    ) -> dict[TermParts, int]:
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
                alone.execute(
                    STATEMENTS["add_class"], {"audiences": list(audiences), "lengths": [0] * groups}
                )
                rows = alone.execute("SELECT id, audiences FROM classes").fetchall()
            self._classes = {tuple(some): number for number, some in rows}
        return self._classes[audiences]

    @contextmanager
    def _adding(self) -> "Iterator[psycopg.Connection[Any]]":
        with self._connections.writing(self._schema) as alone:
            alone.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._schema,))
            yield alone

    def _look_up(
        self, db: "psycopg.Connection[Any]", hashes: Mapping[TermParts, int]
    ) -> Mapping[TermParts, int]:
        """Keep the numbers of the terms that have one, and return the others."""
        if not hashes:
            return {}
        with db.cursor(binary=True) as cursor:
            rows = cursor.execute(
                KNOWN, ("{" + ",".join(map(str, hashes.values())) + "}",)
            ).fetchall()
        self._terms |= {
            term: number for _, number, *row in rows if (term := (*term_of_row(row),)) in hashes
        }
        return (
            {term: hash for term, hash in hashes.items() if term not in self._terms}
            if rows
            else hashes
        )
