"""Checking a store: SQLite's own check, the checksum of each row, and the seal of the whole file; and mending it.

Records are the truth: a damaged one is left out of every answer and named, and cannot be derived from anything here.
A vector that is damaged is removed, since it can be made from its text again. A file that differs from its seal while
every row has its checksum is damaged where nothing reads it: it is written anew from its rows.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, suppress

import apsw

from stackroom.checksums import FileSum, SealState, measure_file
from stackroom.errors import StorageError
from stackroom.model.record import RecordId
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.store_file import PUT_BACK, are_counters_sound, is_meta_sound, list_damaged
from stackroom.shelf.port import RECORDS_PART, Checkpoint, Problem, never_stop
from stackroom.shelf.sqlite_files import check_connected, is_settled, stamp_of

NAMED = 5
"""How many damaged records a message names."""
ADD_AGAIN = "add its source again (stackroom add), or put the file back from a back-up"
EMBED_AGAIN = "the next stackroom add of its source embeds them again"
UNUSED_BYTES = "was changed by something else than Stackroom, where no record is stored"

Locked = Callable[[], AbstractContextManager[None]]
"""Holds the write lock of the catalogue for a block."""


def check_store(store: Store, checkpoint: Checkpoint = never_stop, *, thorough: bool = True) -> Iterator[Problem]:
    """Yield the faults that SQLite finds in the file, or else the rows and bytes that do not have their checksum.

    A check that is not thorough takes the seal of a file for enough.
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
        yield _problem(store, UNUSED_BYTES, "to write it anew from its records: stackroom job run integrity_check")


def _problem(store: Store, fault: str, advice: str) -> Problem:
    return Problem(part=RECORDS_PART, message=f"{store.label} {fault}", advice=advice)


def _check_rows(store: Store, db: apsw.Connection, checkpoint: Checkpoint) -> Iterator[Problem]:
    if not is_meta_sound(db) or not are_counters_sound(db):
        yield _problem(store, "is damaged: its counters or the name of its model are not what was written", PUT_BACK)
    store.damaged = {RecordId(str(one)) for (one,) in list_damaged(db, "records", "id", checkpoint)}
    yield from damaged_records(store)
    if vectors := list_damaged(db, "embeddings", "rowid", checkpoint):
        yield _problem(
            store, f"has {len(vectors)} damaged vectors; these records are found by words alone", EMBED_AGAIN
        )
    if changes := [str(row[0]) for row in list_damaged(db, "changes", "change_no", checkpoint)]:
        yield _problem(store, f"has {_named(changes, 'changes of its history')}; they cannot be undone", PUT_BACK)


def damaged_records(store: Store) -> Iterator[Problem]:
    """Yield which records were found damaged, if any were."""
    if store.damaged:
        named = _named(sorted(store.damaged), "records")
        yield _problem(store, f"has {named}; they are left out of answers", ADD_AGAIN)


def _named(names: list[RecordId] | list[str], what: str) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{len(names)} damaged {what}: {', '.join(names[:NAMED])}{more}"


def mend_store(store: Store, locked: Locked, checkpoint: Checkpoint = never_stop) -> list[str]:
    """Mend what can be, seal the file, and return what was replaced.

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
            db.execute("VACUUM")  # writes the file anew from its rows: nothing of the former pages is left
        done.append(f"{store.path.name} {UNUSED_BYTES}; the file was rebuilt from its records")
    seal_store(store, locked, checkpoint, is_checked=True)
    return done


def seal_store(store: Store, locked: Locked, checkpoint: Checkpoint = never_stop, *, is_checked: bool = False) -> bool:
    """Seal the file as it is, without keeping writers waiting; False where it is being used too much for that."""
    with locked(), closing(store.connect()) as db:
        with suppress(apsw.BusyError):  # another process reads from the `-wal` file, so that it is not settled
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        before = stamp_of(store.path)
    if not is_settled(store.path):
        return False
    measured: FileSum = measure_file(store.path, pace=checkpoint)
    with locked():
        if not is_settled(store.path) or stamp_of(store.path)[0] != before[0]:
            return False
        store.seal.save(measured, is_checked=is_checked)  # under the lock: whoever writes next breaks it first
    return True
