"""Comparing the indexes of the embedded shelf with its records: every record readable, indexed once, and findable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Self

import numpy as np

from stackroom.catalogue.spec import texts_of
from stackroom.errors import StorageError
from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE
from stackroom.shelf.embedded.store import Store, StoreState
from stackroom.shelf.port import INDEX_PART, RECORDS_PART, Checkpoint, Problem, ShelfReader, iter_key_batches
from stackroom.text.analyser import TextQuery, analyse_query

REBUILD = "run: stackroom job run rebuild_indexes"
KEYS_AT_ONCE = 5_000
WORDS_CHECKED = 500
"""How many records, spread over the catalogue, are searched for by the words of their own titles."""


class IndexedView(ShelfReader, Protocol):
    """A snapshot of an index that can be compared with its store."""

    @property
    def store(self) -> Store:
        """The store that the index is of."""

    @property
    def state(self) -> StoreState:
        """The state of the store that this snapshot is of."""

    def as_stale(self, reason: str) -> Self:
        """Return the same snapshot, marked as one that lags behind the store."""

    def counters(self) -> dict[str, int]:
        """Return figures of the index; `text_documents` is how many records it has."""

    def count_with_terms(self, query: TextQuery, keys: Sequence[Key]) -> int:
        """Return how many of these records have any of the terms."""


def check_index(view: IndexedView, checkpoint: Checkpoint) -> Iterator[Problem]:
    """Yield the problems of the records of a snapshot and of their index entries."""
    indexed = [key for keys in iter_key_batches(view) for key in keys]
    yield from _index_problems(_compare_keys(view, indexed))
    step = max(1, len(indexed) // WORDS_CHECKED)
    unfound: list[str] = []
    for start in range(0, len(indexed), KEYS_AT_ONCE):
        checkpoint()
        keys = indexed[start : start + KEYS_AT_ONCE]
        try:
            records = view.fetch(keys, scope=WHOLE)
        except StorageError as error:
            yield Problem.from_error(RECORDS_PART, error)
            continue
        yield from _index_problems(_check_entries(view, keys, records))
        unfound += _find_unfound(view, [(key, records[key]) for key in keys[::step] if key in records])
    if unfound:
        said = f"{len(unfound)} of its records are not found by their own words, such as '{unfound[0]}'"
        yield from _index_problems([said])


def _index_problems(messages: Iterable[str]) -> Iterator[Problem]:
    return (Problem(part=INDEX_PART, message=message, advice=REBUILD) for message in messages)


def _compare_keys(view: IndexedView, indexed: Sequence[Key]) -> Iterator[str]:
    """Yield how the keys and counts of the indexes differ from the stored ones, leaving out what changed later."""
    with view.store.snapshot():
        changed = set(view.store.changed_since(view.change_no))
        stored = set(view.store.list_keys()) - changed
    known = set(indexed) - changed
    if missing := len(stored - known):
        yield f"{missing} records are not indexed"
    if foreign := len(known - stored):
        yield f"{foreign} indexed records are not stored"
    columns, documents = view.count(WHOLE), view.counters()["text_documents"]
    if columns != documents:
        yield f"the columns have {columns} records, and the text index has {documents} records"


def _check_entries(view: IndexedView, keys: Sequence[Key], records: Mapping[Key, Record]) -> Iterator[str]:
    """Yield the faults of the entries of these keys: missing records, and vectors that are not finite."""
    missing = [key for key in keys if key not in records]
    if missing:
        yield f"{len(missing)} indexed records cannot be fetched, such as '{view.ids(missing[:1])[0]}'"
    broken = [keys[row] for row in np.flatnonzero(~np.isfinite(view.vectors(keys)).all(axis=1)).tolist()]
    if broken:
        yield f"{len(broken)} vectors are not finite, such as that of '{view.ids(broken[:1])[0]}'"


def _find_unfound(view: IndexedView, records: Iterable[tuple[Key, Record]]) -> Iterator[str]:
    """Yield the titles of the records that are not found by the words of their title, or of their text."""
    spec = view.spec
    fields = (spec.title_field,) if spec.title_field.searched else spec.searched_fields
    for key, record in records:
        text = " ".join(text for field in fields for text in texts_of(record.get(field.name)))
        query = analyse_query(text, synonyms={})
        if query.terms and view.count_with_terms(query, [key]) != 1:
            yield spec.title_of(record)
