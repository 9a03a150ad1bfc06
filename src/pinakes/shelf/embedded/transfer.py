"""Writing a new store with everything that another shelf kept: keys, change numbers, vectors and history."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.record import Key, RecordId
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.embedded.row_sums import INSERT_VECTOR, register_row_sum
from pinakes.shelf.embedded.store import Store
from pinakes.shelf.history import LoggedChange
from pinakes.shelf.port import LOCAL, Op

SIDE_FILES = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """A record under its key, with the number of its last change and its embedding."""

    key: Key
    change_no: int
    id: RecordId
    body: bytes
    digest: bytes | None
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContent:
    """All that a shelf keeps of a catalogue."""

    model: ModelId | None
    change_no: int
    last_key: int
    records: Sequence[StoredRecord]
    changes: Sequence[LoggedChange]


def write_store(path: Path, spec: CatalogueSpec, content: StoreContent) -> None:
    """Write a store with this content, in place of one that was left unfinished."""
    try:
        for ending in SIDE_FILES:
            path.with_name(path.name + ending).unlink(missing_ok=True)
        with closing(Store(path, spec)) as store:
            store.create(content.model)
        with closing(apsw.Connection(str(path))) as db, db:
            register_row_sum(db)
            _insert_records(db, content)
            _insert_changes(db, content)
    except (apsw.Error, OSError) as error:
        raise StorageError(f"{path}: cannot be written: {error}") from error


def _insert_records(db: apsw.Connection, content: StoreContent) -> None:
    db.executemany(
        "INSERT INTO records (key, id, body, digest, sum) VALUES (?1, ?2, ?3, ?4, row_sum(?2, ?3, ?4))",
        ((one.key, one.id, one.body, one.digest) for one in content.records),
    )
    if content.model is not None:
        db.executemany(
            INSERT_VECTOR,
            (
                (content.model.name, one.digest, one.vector.tobytes())
                for one in content.records
                if one.digest is not None and one.vector is not None
            ),
        )


def _insert_changes(db: apsw.Connection, content: StoreContent) -> None:
    """Insert the history, and set the counters: keys and change numbers are never given twice."""
    keys = _keys_of(content)
    db.executemany(
        "INSERT INTO changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, row_sum(?2, ?3, ?4, ?5, ?6, ?7, ?8))",
        ((one.change_no, keys[one.id], one.id, *_details(one)) for one in (*content.changes, *_unlogged(content))),
    )
    counters = [("records", max((content.last_key, *keys.values()))), ("changes", content.change_no)]
    db.executemany("DELETE FROM sqlite_sequence WHERE name = ?", ((name,) for name, _ in counters))
    db.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", counters)


def _keys_of(content: StoreContent) -> dict[RecordId, Key]:
    """Return the key of each id; a record that was deleted, whose key is not known, is given a new one."""
    keys = {one.id: one.key for one in content.records}
    deleted = dict.fromkeys(change.id for change in content.changes if change.id not in keys)
    first = max((content.last_key, *keys.values())) + 1
    return keys | {record_id: Key(key) for key, record_id in enumerate(deleted, start=first)}


def _unlogged(content: StoreContent) -> list[LoggedChange]:
    """Return an insert for each record whose last change is not in the history."""
    logged, now = {change.change_no for change in content.changes}, datetime.now(UTC)
    return [
        LoggedChange(change_no=one.change_no, id=one.id, op=Op.INSERT, before=None, author=LOCAL, at=now)
        for one in content.records
        if one.change_no not in logged
    ]


def _details(change: LoggedChange) -> tuple[str, bytes | None, str, str, str]:
    at = change.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return str(change.op), change.before, change.author.principal, change.author.call_id, at
