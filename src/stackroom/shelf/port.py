"""The shelf port: the store and index that search, recommendation and tools read, and that ingest
writes.

A shelf keeps records (the truth) and the indexes it answers from. `Shelf.reader()` returns a
snapshot of the present state, so that the several reads of one call agree with each other.

Duties of every implementation, held by `tests/contract/`:
- each read applies its scope *before* ranking and counting: filter conditions, and the visibility
  of the caller;
- rankings are ordered by (−score, key) and are deterministic for the same data and query;
- an acknowledged put or delete is visible to the next `reader()` of every process;
- changes are applied atomically, one after the other, each with its own change number, and are kept
  as history;
- text is indexed as the tokens of `stackroom.text.analyser`, scored by BM25 (k1 1.2, b 0.75).

There are two tiers. In the first, every answer is exact. A shelf of the second, whose index no
server could hold, says so in `promises`: which share of the nearest records is found, up to where
totals are exact, and up to where values are counted rather than sampled. Everything else holds for
both.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ExpectedError, InputError
from stackroom.frozen import frozen
from stackroom.model.hits import FacetCount, Occurrences, Promises, Ranking, TitleMatch
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE, Scope, Visibility
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.series import Work
from stackroom.text.analyser import TextQuery

RECORDS_PART = "records"
INDEX_PART = "index"  # the parts of a catalogue that a shelf has
# a function that long work calls now and then; it may raise to end the work
Checkpoint = Callable[[], None]
BATCH_ROWS = 4096


class KeyRange(NamedTuple):
    """The keys after one, up to another."""

    after: Key
    until: Key


EVERY_KEY = KeyRange(Key(0), Key(2**63 - 1))


@frozen
class Embedding:
    """The vector of a record's text, under the text's digest; None if the shelf has it already."""

    digest: bytes
    vector: Vector | None = None

    @property
    def has_vector(self) -> bool:
        """Whether this value contains the vector."""
        return self.vector is not None

    def require_fits(self, model: ModelId | None) -> None:
        """Refuse a vector of another shape than the model's, or with values that are not finite."""
        if self.vector is None or model is None:
            return
        if self.vector.shape != (model.dimension,) or not np.isfinite(self.vector).all():
            raise InputError(
                f"a vector of shape {self.vector.shape} is not one of {model}, or is not finite"
            )


@frozen
class Put:
    """Upsert: insert the record, or replace the one with the same id."""

    record: Record
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the record with this id; without one, nothing happens."""

    id: RecordId


Change = Put | Delete


@frozen
class Author:
    """The author of a change: the principal, and the id of the call."""

    principal: str = "local"
    call_id: str = ""


LOCAL = Author()


class Op(StrEnum):
    """The effect of a change on the record of its id."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@frozen
class PastChange:
    """An entry of the history. A change of the vector alone is an update with equal `before` and
    `after`.
    """

    change_no: int
    id: RecordId
    op: Op
    author: Author
    at: datetime
    before: Record | None
    after: Record | None


@frozen
class Problem:
    """A fault of a catalogue: the part that has it, what is wrong, and what to do about it."""

    part: str
    message: str
    advice: str = ""

    @classmethod
    def from_error(cls, part: str, error: ExpectedError) -> "Problem":
        """Return the problem of an error, whose message has the advice after its first
        semicolon.
        """
        message, _, advice = error.message.partition("; ")
        return cls(part=part, message=message, advice=advice)

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message


@frozen
class ShelfDescription:
    """The state of a shelf, for those who run the server."""

    kind: str
    records: int
    change_no: int
    stale: str | None = None
    # whether its files cannot be written to, so that nothing can be changed
    is_read_only: bool = False
    model: ModelId | None = None
    index_bytes: int = 0
    sqlite_file: Path | None = None
    """The file with the tables `records` and `changes`, if the shelf keeps them in SQLite."""
    # figures of this implementation's indexes, by name
    counters: Mapping[str, int] = field(default_factory=dict)


def never_stop() -> None:
    """Let long work go on to its end."""


class ShelfReader(Protocol):
    """A snapshot of a shelf."""

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""

    @property
    def change_no(self) -> int:
        """The number of the last change in this snapshot."""

    @property
    def vector_no(self) -> int:
        """A number that grows with every publication of vectors."""

    @property
    def awaiting_vectors(self) -> int:
        """The number of records whose text has no vector yet; 0 without a model."""

    @property
    def model(self) -> ModelId | None:
        """The embedding model of the vectors, or None without vectors."""

    @property
    def mean(self) -> Vector | None:
        """The mean that was subtracted from the vectors, and must be subtracted from queries, or
        None.
        """

    @property
    def promises(self) -> Promises | None:
        """The promises of a shelf whose answers are not exact, or None if they are."""

    @property
    def stale(self) -> str | None:
        """Why this snapshot lags behind the store, or None if it is current."""

    def seen_by(self, visibility: Visibility) -> "ShelfReader":
        """Return the snapshot as if only the records that the caller may see existed: counts, words
        and their weights too.
        """

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and are visible, in key order."""

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        """Return the keys of these ids, where the records exist and are visible."""

    def ids(self, keys: Sequence[Key]) -> list[RecordId]:
        """Return the ids of keys that come from this snapshot."""

    def titles(self, keys: Sequence[Key]) -> list[str]:
        """Return the folded title of each key of this snapshot, to sort by; empty for records
        without a title.
        """

    def works(self, keys: Sequence[Key]) -> list[Work]:
        """Return the evidence of the series of each key of this snapshot; only where the spec says
        how to recommend.
        """

    def name_lines(self, keys: Sequence[Key]) -> list[list[str]]:
        """Return the names of each key of this snapshot as lines: in lower case, a tab, tokens
        without function words.

        Only where the spec has fields that are searched as names.
        """

    def lexical(
        self,
        query: TextQuery,
        *,
        scope: Scope,
        limit: int,
        counted: bool = True,
        in_names: bool = False,
    ) -> Ranking:
        """Rank the records in scope that have any of the terms, or have them in fields that are
        searched as names only.

        `total` is the number kept unless they are counted.
        """

    def having_words(self, words: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        """Rank the records in scope by the sum of the weights of the words that they have, each
        counted once.
        """

    def frequencies(self, tokens: Sequence[str]) -> list[int]:
        """Return the number of records with each of these tokens; deleted records may count until
        the index is compacted.
        """

    def term_scores(self, query: TextQuery, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return what each term adds to the score of each record in `lexical`: one row per key, 0
        for a missing term.

        The sum of a row is the record's score there.
        """

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        """Rank the records in scope by cosine to each of the vectors (n × dimension, unit
        length).
        """

    def vectors(self, keys: Sequence[Key]) -> Vector:
        """Return the vectors of these keys as rows, zeros for a record without a vector."""

    def stored_vectors(self, digests: Sequence[bytes]) -> Mapping[bytes, Vector]:
        """Return the vectors of texts as the model made them, by the digests of the texts; those
        unknown are left out.

        Unlike those of `vectors`, no mean is subtracted from them. They are the ones stored now,
        not of the snapshot.
        """

    def terms(self, field: str, keys: Sequence[Key]) -> list[frozenset[str]]:
        """Return for each key the folded values of a term column (a filter or facet that is not a
        number).
        """

    def count_terms(
        self, field: str, terms: Iterable[str], keys: Sequence[Key]
    ) -> NDArray[np.int64]:
        """Return for each key how many of these folded values of a term column it has."""

    def numbers(self, field: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return for each key the value of a number column, NaN for a missing one."""

    def titles_like(self, text: str, *, scope: Scope, limit: int) -> list[TitleMatch]:
        """Return the records in scope with the names most similar to the text."""

    def has_name(self, text: str, *, scope: Scope) -> bool:
        """Tell whether a record in scope has this name, ignoring case, accents and signs."""

    def facets(self, field: str, *, scope: Scope) -> list[FacetCount]:
        """Count the values of a facet or filter field over the records in scope, most frequent
        first.
        """

    def occurrences(self, field: str, *, scope: Scope) -> Occurrences:
        """Return which records in scope have which values of a facet or filter field, values in
        order of their term.
        """

    def count(self, scope: Scope) -> int:
        """Return how many records are in scope."""

    def scan(self, *, scope: Scope, after: Key | None = None, limit: int) -> list[Key]:
        """Return the keys in scope that follow `after`, in key order."""


def accept_any(_reader: ShelfReader) -> None:
    """Accept every index."""


class ShelfWriter(Protocol):
    """The writing side: the only way in which records change."""

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author = LOCAL,
        expected: Mapping[RecordId, int] | None = None,
    ) -> int:
        """Commit the changes durably, all or none, and return the number of the last change.

        `expected` has the number of the last change of each id, 0 for an id that never existed
        (optimistic locking). Where another number is found, nothing is changed and a ConflictError
        names the ids.
        """

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the write lock over several steps."""

    def publish(self) -> None:
        """Update every index to the store's last change, so that readers need not."""

    def missing_embeddings(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return the digests without a stored vector."""

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of the puts that would change nothing; a missing vector is not
        a change.
        """

    def count_unembedded(self) -> int:
        """Return how many different texts have no vector yet."""

    def list_unembedded(
        self, *, within: KeyRange = EVERY_KEY, limit: int
    ) -> list[tuple[Key, Record]]:
        """Return records of these keys without a vector, in key order; some may have no text."""

    def add_vectors(
        self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]
    ) -> int:
        """Store vectors of texts durably, and return how many of these records still have that
        text.

        A record is given by the digest of its text. It is not a change of the record: nothing is
        logged.
        """

    def embedding_parts(self, *, wait_s: float) -> AbstractContextManager[Iterable[KeyRange]]:
        """Yield ranges of keys whose vectors this process may add, until no range is left that no
        other process has.

        Raise EmbeddingElsewhereError if others have all that are left. It blocks no reader or
        writer.
        """

    def sole_embedder(self, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold the right to add vectors over many batches; raise EmbeddingElsewhereError if another
        process holds it.

        It blocks no reader or writer.
        """

    def publish_vectors(self) -> None:
        """Make the vectors added since visible to readers; holds the write lock for a moment
        only.
        """

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        """Return the present record of each id, None for a deleted one; ids that never existed are
        left out.
        """


class ShelfHistory(Protocol):
    """The change log."""

    def list_changes(
        self,
        *,
        limit: int,
        before: int | None = None,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[PastChange]:
        """Return past changes, newest first, optionally before a change number, of one call, or of
        these ids.
        """

    def versions(
        self, ids: Sequence[RecordId], *, as_of: int | None = None
    ) -> Mapping[RecordId, int]:
        """Return the number of the last change of each id, deletions included, no later than
        `as_of`.

        Ids that never existed are left out.
        """


class Shelf(Protocol):
    """A catalogue's records and indexes."""

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""

    def reader(self) -> ShelfReader:
        """Return a snapshot of the present state."""

    def find_reader(self) -> ShelfReader | None:
        """Return a current snapshot if one is at hand, without waiting; else None."""

    def writer(self) -> ShelfWriter:
        """Return the writing side."""

    def history(self) -> ShelfHistory:
        """Return the change log."""

    def check(
        self, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
    ) -> Iterator[Problem]:
        """Yield what is wrong with the records and the indexes; nothing if the shelf is sound.

        An implementation compares its files with their checksums, and where it is `thorough`, reads
        every record and compares the indexes with them. Damage is a problem with advice, not an
        error; changes made meanwhile are no problem. It calls `checkpoint` about once a second or
        more often, and lets through what that raises.
        """

    def mend(self, *, checkpoint: Checkpoint = never_stop) -> list[str]:
        """Replace what is damaged and can be derived from the records, and return what was done, in
        words.

        An implementation moves damaged indexes aside, builds them again and continues to answer
        reads, which say so meanwhile. It adds checksums if they are missing. Damaged records stay
        as they are: `check` yields them.
        """

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Derive every index again from the records, and return how many records are indexed.

        `accept` gets a view of the new indexes; if it raises an ExpectedError, the former ones are
        kept. An implementation holds the writers' lock meanwhile and continues to answer reads.
        Stopped at any point, it leaves a shelf that the next reader mends.
        """

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""

    def close(self) -> None:
        """Close files and connections."""


class BuildableShelf(Shelf, Protocol):
    """A shelf that a catalogue can be built on."""

    def is_empty(self) -> bool:
        """Tell whether the shelf has no record."""

    def switch_model(self, model: ModelId) -> None:
        """Use the stored vectors of another model from now on; no effect if it is the
        present one.
        """

    def withheld(self) -> AbstractContextManager[None]:
        """Let other readers see the former state until the block ends; the write lock
        must be held.
        """


def iter_key_batches(reader: ShelfReader) -> Iterator[list[Key]]:
    """Yield the keys of all records in key order, which is the order of their insertion."""
    after = None
    while keys := reader.scan(scope=WHOLE, after=after, limit=BATCH_ROWS):
        yield keys
        after = keys[-1]
