"""Checking a shelf: its file by SQLite, the checksum of each row and its seal, its indexes by its
records; mending it.

Records are the truth: a damaged one is left out of every answer and named, and cannot be derived
from anything here. A vector that is damaged is removed, since it can be made from its text again. A
file that differs from its seal while every row has its checksum is damaged where nothing reads it:
it is written again from its rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import Protocol, Self

import apsw
import numpy as np

from stackroom.catalogue.spec import texts_of
from stackroom.checksums import FileSum, SealState, measure_file
from stackroom.errors import StorageError, list_some
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.embedded.store import Store, StoreState
from stackroom.shelf.embedded.store_file import (
    PUT_BACK,
    are_counters_sound,
    is_meta_sound,
    list_damaged,
)
from stackroom.shelf.port import (
    INDEX_PART,
    RECORDS_PART,
    Checkpoint,
    Problem,
    ShelfReader,
    iter_key_batches,
)
from stackroom.shelf.sqlite_files import check_connected, is_settled, stamp_of
from stackroom.text.analyser import TextQuery, analyse_query

NAMED = 5  # how many damaged records a message names
ADD_AGAIN = "add its source again (stackroom add), or put the file back from a back-up"
EMBED_AGAIN = "the next stackroom add of its source embeds them again"
UNUSED_BYTES = "was changed by something else than Stackroom, where no record is stored"
# holds the write lock of the catalogue for a block
Locked = Callable[[], AbstractContextManager[None]]
REBUILD = "run: stackroom job run rebuild_indexes"
KEYS_AT_ONCE = 5_000
# how many records, spread over the catalogue, are searched for by the words of their own titles
WORDS_CHECKED = 500


def check_store(
    store: Store, checkpoint: Checkpoint, *, thorough: bool = True
) -> Iterator[Problem]:
    """Yield the faults that SQLite finds in the file, or else the rows and bytes with a wrong
    checksum.

    A check that is not thorough trusts a valid seal.
    """
    if not thorough and store.seal.state(pace=checkpoint) is SealState.CHECKED:
        return
    try:
        with closing(store.connect()) as db:
            if faults := check_connected(db, checkpoint):
                yield from (_problem(store, f"is damaged: {fault}", PUT_BACK) for fault in faults)
                return
            damaged = list(_check_rows(store, db, checkpoint))
    except (apsw.Error, StorageError, UnicodeDecodeError) as error:
        yield _problem(store, f"is damaged: cannot be read: {error}", PUT_BACK)
        return
    yield from damaged
    if not damaged and store.seal.state(pace=checkpoint) is SealState.CHANGED:
        yield _problem(
            store,
            UNUSED_BYTES,
            "to write it anew from its records: stackroom job run integrity_check",
        )


def _problem(store: Store, fault: str, advice: str) -> Problem:
    return Problem(part=RECORDS_PART, message=f"{store.label} {fault}", advice=advice)


def _check_rows(store: Store, db: apsw.Connection, checkpoint: Checkpoint) -> Iterator[Problem]:
    if not is_meta_sound(db) or not are_counters_sound(db):
        yield _problem(
            store,
            "is damaged: its counters or the name of its model are not what was written",
            PUT_BACK,
        )
    store.damaged = {RecordId(str(one)) for (one,) in list_damaged(db, "records", "id", checkpoint)}
    yield from damaged_records(store)
    if vectors := list_damaged(db, "embeddings", "rowid", checkpoint):
        fault = f"has {len(vectors)} damaged vectors; these records are found by words alone"
        yield _problem(store, fault, EMBED_AGAIN)
    if changes := [str(row[0]) for row in list_damaged(db, "changes", "change_no", checkpoint)]:
        yield _problem(
            store,
            f"has {_named(changes, 'changes of its history')}; they cannot be undone",
            PUT_BACK,
        )


def damaged_records(store: Store) -> Iterator[Problem]:
    """Yield a problem that names the damaged records, if there are any."""
    if store.damaged:
        named = _named(sorted(store.damaged), "records")
        yield _problem(store, f"has {named}; they are left out of answers", ADD_AGAIN)


def _named(names: list[RecordId] | list[str], what: str) -> str:
    return f"{len(names)} damaged {what}: {list_some(names, NAMED)}"


def mend_store(store: Store, locked: Locked, checkpoint: Checkpoint) -> list[str]:
    """Repair what can be derived, seal the file, and return what was replaced.

    The write lock is held for one batch at a time.
    """
    try:
        return [] if store.is_read_only else _mend_readable(store, locked, checkpoint)
    except (apsw.Error, UnicodeDecodeError):
        return []  # the check says why


def _mend_readable(store: Store, locked: Locked, checkpoint: Checkpoint) -> list[str]:
    if store.seal.state(pace=checkpoint) is SealState.CHECKED:
        return []
    with closing(store.connect()) as db:
        if check_connected(db, checkpoint):
            return []  # SQLite cannot read it in full, and neither can what follows
    done = []
    with closing(store.connect()) as db:
        vectors = [int(row[0]) for row in list_damaged(db, "embeddings", "rowid", checkpoint)]
    if vectors:
        with locked():
            store.remove_vectors(vectors)
        done.append(f"{len(vectors)} damaged vectors were removed; {EMBED_AGAIN}")
    with closing(store.connect()) as db:
        if list(_check_rows(store, db, checkpoint)):
            return done
    if store.seal.state(pace=checkpoint) is SealState.CHANGED:
        with locked(), closing(store.connect()) as db:
            store.seal.break_up()
            # writes the file anew from its rows: nothing of the former pages is left
            db.execute("VACUUM")
        done.append(f"{store.path.name} {UNUSED_BYTES}; the file was rebuilt from its records")
    seal_store(store, locked, checkpoint, is_checked=True)
    return done


def seal_store(
    store: Store, locked: Locked, checkpoint: Checkpoint, *, is_checked: bool = False
) -> bool:
    """Seal the file without blocking writers; return False if it is too busy for that."""
    with locked(), closing(store.connect()) as db:
        # another process reads from the `-wal` file, so that it is not settled
        with suppress(apsw.BusyError):
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        before = stamp_of(store.path)
    if not is_settled(store.path):
        return False
    measured: FileSum = measure_file(store.path, pace=checkpoint)
    with locked():
        if not is_settled(store.path) or stamp_of(store.path)[0] != before[0]:
            return False
        # under the lock: whoever writes next breaks it first
        store.seal.save(measured, is_checked=is_checked)
    return True


class IndexedView(ShelfReader, Protocol):
    """A snapshot of an index that can be compared with its store."""

    @property
    def store(self) -> Store:
        """The store of the index."""

    @property
    def state(self) -> StoreState:
        """The state of the store in this snapshot."""

    def as_stale(self, reason: str) -> Self:
        """Return the same snapshot, marked as one that lags behind the store."""

    def counters(self) -> dict[str, int]:
        """Return counters of the index; `text_documents` is its number of records."""

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
        unfound += _find_unfound(
            view, [(key, records[key]) for key in keys[::step] if key in records]
        )
    if unfound:
        said = (
            f"{len(unfound)} of its records are not found by their own words, such as"
            f" '{unfound[0]}'"
        )
        yield from _index_problems([said])


def _index_problems(messages: Iterable[str]) -> Iterator[Problem]:
    return (Problem(part=INDEX_PART, message=message, advice=REBUILD) for message in messages)


def _compare_keys(view: IndexedView, indexed: Sequence[Key]) -> Iterator[str]:
    """Yield the differences between the keys and counts of the indexes and the stored ones, without
    later changes.
    """
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


def _check_entries(
    view: IndexedView, keys: Sequence[Key], records: Mapping[Key, Record]
) -> Iterator[str]:
    """Yield the faults of the entries of these keys: missing records, and vectors that are not
    finite.
    """
    missing = [key for key in keys if key not in records]
    if missing:
        yield (
            f"{len(missing)} indexed records cannot be fetched, such as"
            f" '{view.ids(missing[:1])[0]}'"
        )
    broken = [
        keys[row] for row in np.flatnonzero(~np.isfinite(view.vectors(keys)).all(axis=1)).tolist()
    ]
    if broken:
        yield f"{len(broken)} vectors are not finite, such as that of '{view.ids(broken[:1])[0]}'"


def _find_unfound(view: IndexedView, records: Iterable[tuple[Key, Record]]) -> Iterator[str]:
    """Yield the titles of the records that a search for the words of their title, or of their text,
    does not find.
    """
    spec = view.spec
    fields = (spec.title_field,) if spec.title_field.searched else spec.searched_fields
    for key, record in records:
        text = " ".join(text for field in fields for text in texts_of(record.get(field.name)))
        query = analyse_query(text, synonyms={})
        if query.terms and view.count_with_terms(query, [key]) != 1:
            yield spec.title_of(record)
