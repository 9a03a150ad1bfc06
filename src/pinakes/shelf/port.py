"""The shelf port: what search, recommendation and tools read from, and what ingest writes to.

A shelf keeps records (the truth) and whatever indexes it answers from. `Shelf.reader()` gives a view that is fresh at
that moment and does not change afterwards, so that the several reads of one call agree with each other.

Duties of every implementation, held by `tests/contract/`:
- each read honours its scope *before* ranking and counting: conditions, and what the caller may see;
- rankings are ordered by (−score, key) and are the same for the same data and query;
- a put or delete that was acknowledged is seen by the next `reader()` of every process;
- changes are applied one at a time, whole or not at all, each with its own change number, and can be read again;
- text is indexed as the tokens of `pinakes.text.analyser`, scored by BM25 (k1 1.2, b 0.75).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import ExpectedError, InputError
from pinakes.model.hits import FacetCount, Ranking, TitleMatch
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import Scope
from pinakes.model.vectors import ModelId, Vector
from pinakes.text.query import TextQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A record's vector, known by the digest of the text it was made from. No vector: the shelf has it already."""

    digest: bytes
    vector: Vector | None = None

    def require_fits(self, model: ModelId | None) -> None:
        """Refuse a vector that cannot be the model's: a shelf that kept it could not build its index."""
        if self.vector is None or model is None:
            return
        if self.vector.shape != (model.dimension,) or not np.isfinite(self.vector).all():
            raise InputError(f"a vector of shape {self.vector.shape} is not one of {model}, or is not finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Insert the record, or replace the one of that id."""

    record: Record
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the record of that id, if there is one."""

    id: RecordId


Change = Put | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who makes a change, and in which call."""

    principal: str = "local"
    call_id: str = ""


LOCAL = Author()


class Op(StrEnum):
    """What a change did to the record of its id."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastChange:
    """A change that was made. One that gave a record its vector alone is an update with the same before and after."""

    change_no: int
    id: RecordId
    op: Op
    author: Author
    at: datetime
    before: Record | None
    after: Record | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A fault of a catalogue: the part that has it, what is wrong, and what to do about it."""

    part: str
    message: str
    advice: str = ""

    @classmethod
    def from_error(cls, part: str, error: ExpectedError) -> "Problem":
        """Return the problem of an error, whose message has the advice after its first semicolon."""
        message, _, advice = error.message.partition("; ")
        return cls(part=part, message=message, advice=advice)

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message


RECORDS_PART = "records"
INDEX_PART = "index"
"""The parts of a catalogue that a shelf has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfDescription:
    """The state of a shelf, for those who run the server."""

    kind: str
    records: int
    change_no: int
    stale: str | None = None
    model: ModelId | None = None
    index_bytes: int = 0
    """The size of the indexes on disk."""
    sqlite_file: Path | None = None
    """The file with the tables `records` and `changes`, where the shelf keeps them in SQLite."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Figures of this implementation's indexes, by name."""


Checkpoint = Callable[[], None]
"""A function that long work calls now and then; it may raise to end the work."""


def never_stop() -> None:
    """Let long work go on to its end."""


class ShelfReader(Protocol):
    """An unchanging view of a shelf."""

    @property
    def change_no(self) -> int:
        """The number of the last change this view contains."""

    @property
    def model(self) -> ModelId | None:
        """The model of the vectors, or None where there are none."""

    @property
    def stale(self) -> str | None:
        """Why this view is older than the store, or None when it is not."""

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and may be seen."""

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        """Return the keys of these ids, where they exist and may be seen."""

    def ids(self, keys: Sequence[Key]) -> list[RecordId]:
        """Return the ids of keys that this view gave out."""

    def lexical(self, query: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        """Rank the records in scope that have any of the terms."""

    def count_with_terms(self, query: TextQuery, keys: Sequence[Key]) -> int:
        """Return how many of these records, keys that this view gave out, have any of the terms."""

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        """Rank the records in scope by cosine to each of the vectors (n × dimension, unit length)."""

    def vectors(self, keys: Sequence[Key]) -> Vector:
        """Return the vectors of these keys as rows; a record without one has a row of zeros."""

    def terms(self, field: str, keys: Sequence[Key]) -> list[frozenset[str]]:
        """Return for each key the folded values of a term column (a filter or facet that is not a number)."""

    def numbers(self, field: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return for each key the value of a number column, NaN where there is none."""

    def titles_like(self, text: str, *, scope: Scope, limit: int) -> list[TitleMatch]:
        """Return the records in scope with the names most like the text."""

    def facets(self, field: str, *, scope: Scope) -> list[FacetCount]:
        """Count the values of a facet or filter field over the records in scope, most frequent first."""

    def count(self, scope: Scope) -> int:
        """Return how many records are in scope."""

    def scan(self, *, scope: Scope, after: Key | None = None, limit: int) -> list[Key]:
        """Return the keys in scope that follow `after`, in key order."""


class ShelfWriter(Protocol):
    """The one way records change."""

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author = LOCAL,
        expected: Mapping[RecordId, int] | None = None,
    ) -> int:
        """Make the changes durable, all or none, and return the number of the last change.

        Where the last change of one of the `expected` ids has not the number expected of it (0: never changed), none
        is made, and a ConflictError says which.
        """

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep every other writer out, for several steps."""

    def publish(self) -> None:
        """Bring every index up to the store, so that readers need not."""

    def missing_embeddings(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those digests for which the shelf has no vector."""

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of those puts that would change nothing."""

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        """Return what these ids are now, None where the record was removed; ids that never were are left out."""


class ShelfHistory(Protocol):
    """What was changed, by whom."""

    def list_changes(
        self,
        *,
        limit: int,
        before: int | None = None,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[PastChange]:
        """Return past changes, newest first: those before a change, of one call, to these records."""

    def versions(self, ids: Sequence[RecordId], *, as_of: int | None = None) -> Mapping[RecordId, int]:
        """Return the number of the last change to each id, removals too, no later than `as_of`.

        Ids that were never changed are left out.
        """


class Shelf(Protocol):
    """A catalogue's records and indexes."""

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""

    def reader(self) -> ShelfReader:
        """Return a view that is fresh at this moment."""

    def find_reader(self) -> ShelfReader | None:
        """Return what `reader` would, where that is here and known to be fresh at once; never wait for anything."""

    def writer(self) -> ShelfWriter:
        """Return the way to change records."""

    def history(self) -> ShelfHistory:
        """Return what was changed, by whom."""

    def check(self, *, checkpoint: Checkpoint = never_stop) -> Iterator[Problem]:
        """Yield what is wrong with the records and the indexes; nothing where the shelf is sound.

        An implementation reads every record and compares the indexes with them. Damage is a problem with advice, not an
        error; changes made meanwhile are no problem. It calls `checkpoint` about once a second or more often, and lets
        through what that raises.
        """

    def rebuild(self) -> int:
        """Derive every index anew from the records, and return how many records are indexed.

        An implementation holds the writers' lock meanwhile and goes on answering reads. Stopped at any point, it leaves
        a shelf that the next reader mends.
        """

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""

    def close(self) -> None:
        """Let go of files and connections."""


class BuildableShelf(Shelf, Protocol):
    """A shelf that a catalogue is built on."""

    def is_empty(self) -> bool:
        """Tell whether there is no record on it."""
