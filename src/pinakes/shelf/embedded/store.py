"""The store: a catalogue's records in one SQLite file, the truth that every index is derived from.

Each put or delete is a row in `changes`; the highest `change_no` is the version of the catalogue. The row has the
record before the change, so that earlier versions can be read. Embeddings are keyed by model and digest of their text,
so that no text is embedded twice. Commit point: the end of `apply`'s transaction.
"""

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
import orjson

from pinakes.catalogue.codec import decode_record, encode_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.embedded.change_log import CALLED_CHANGES, PAST_CHANGES, called_change, conditions_of, logged_change
from pinakes.shelf.embedded.schema import CHANGES_BY_ID, SCHEMA, SCHEMA_VERSION, TOUCH_EMBEDDED
from pinakes.shelf.embedded.segment import SegmentRow
from pinakes.shelf.history import keepable, require_unmoved, with_afters
from pinakes.shelf.port import (
    LOCAL,
    RECORDS_PART,
    Author,
    CalledChange,
    Change,
    Checkpoint,
    Delete,
    Embedding,
    PastChange,
    Problem,
    Put,
)
from pinakes.shelf.sqlite_check import check_sqlite_file

BUSY_TIMEOUT_MS = 5_000
MAX_BOUND_VALUES = 10_000
BULK_RECORDS = 100
FIRST_KEY = Key(0)
MAX_CHANGE_NO = 2**63 - 1
STORED_VECTORS, INDEXED_VECTORS = "vectors_stored", "vectors_indexed"
"""Counters in `meta`: how often vectors were added apart from changes, and the last of these that the index has."""
_STATE = f"""SELECT (SELECT max(change_no) FROM changes),
                    (SELECT CAST(value AS INTEGER) FROM meta WHERE name = '{INDEXED_VECTORS}')"""
_HAS_NO_VECTOR = """NOT EXISTS (SELECT 1 FROM embeddings WHERE embeddings.digest = records.digest
                    AND model = (SELECT value FROM meta WHERE name = 'model'))"""
PUT_BACK = "put it back from a back-up, or move the catalogue's folder away and add it again"
IF_DAMAGED = f"if it is damaged, {PUT_BACK}"


class StoreState(NamedTuple):
    """The number of the last change, and that of the last vectors in the index that came apart from changes."""

    change_no: int
    vector_no: int


class Store:
    """The records of one catalogue. Safe to use from several threads and processes."""

    def __init__(self, path: Path, spec: CatalogueSpec) -> None:
        self.path = path
        self.spec = spec
        self._label = f"{path.parent.name}/{path.name}"
        """The file's name in messages, which callers of a server read: without the folders of the server."""
        self._local = threading.local()
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()  # one per thread, dropped with it
        self._guard = threading.Lock()
        self._watch: apsw.Connection | None = None
        """The connection of `find_state`, without a busy timeout."""
        self._watch_guard = threading.Lock()

    def create(self, model: ModelId | None) -> bool:
        """Create missing tables, store the embedding model, and tell whether it replaced another one."""
        with self._transaction() as db:
            if db.pragma("user_version") == 0:
                db.execute(SCHEMA)
                db.pragma("user_version", SCHEMA_VERSION)
            before = self.model()
            if model is None or model == before:
                return False
            pairs = [
                ("model", model.name),
                ("dimension", str(model.dimension)),
                ("centred", str(int(model.is_centred))),
            ]
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", pairs)
            # Vectors are keyed by the model's name alone; older ones may have another length.
            size_bytes = model.dimension * np.dtype(np.float32).itemsize
            db.execute("DELETE FROM embeddings WHERE model = ? AND length(vector) <> ?", (model.name, size_bytes))
            if before is not None:
                db.execute(TOUCH_EMBEDDED, (LOCAL.principal, LOCAL.call_id, model.name))
        return before is not None

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one, which `create` switches to."""
        with self._transaction() as db:
            rows = [(model.name, digest, vector.tobytes()) for digest, vector in vectors.items()]
            db.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?, ?)", rows)

    def require_tables(self) -> None:
        """Refuse a file without the tables of a store."""
        if self._db().pragma("user_version") == 0:
            raise StorageError(f"{self._label}: the file is empty; build the catalogue again (pinakes add)")

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            for db in list(self._open):
                db.close()
            self._open.clear()
            self._watch = None
        self._local = threading.local()

    def change_no(self) -> int:
        """Return the number of the last change."""
        with self._failing():
            return _last_change(self._db())

    def state(self) -> StoreState:
        """Return what a view has to be up to."""
        with self._failing():
            return _state_of(self._db())

    def find_state(self) -> StoreState | None:
        """Return the same; None where reading it would wait."""
        if not self._watch_guard.acquire(blocking=False):
            return None
        try:
            if self._watch is None:
                self._watch = self._connect(busy_timeout_ms=0)
            return _state_of(self._watch)
        except (apsw.Error, StorageError):
            return None
        finally:
            self._watch_guard.release()

    def model(self) -> ModelId | None:
        """Return the embedding model of the vectors, or None."""
        rows = self._rows("SELECT name, value FROM meta WHERE name IN ('model', 'dimension', 'centred')")
        meta = {str(name): str(value) for name, value in rows}
        if "model" not in meta:
            return None
        is_centred = meta.get("centred") == "1"
        return ModelId(name=meta["model"], dimension=int(meta["dimension"]), is_centred=is_centred)

    def count(self) -> int:
        """Return the number of records."""
        return int(self._find_row("SELECT count(*) FROM records")[0])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read within one transaction, unaffected by concurrent writes."""
        with self._transaction():
            yield

    def fetch(self, keys: Sequence[Key], *, as_of: int) -> dict[Key, Record]:
        """Return the records of these keys as of the change with that number."""
        written: dict[Key, tuple[RecordId, bytes | None]] = {}
        for key, record_id, body in self._select("SELECT key, id, body FROM records WHERE key IN ({})", keys):
            written[key] = record_id, body
        # Read after the records, so that a change made in between is among those that are undone.
        for key, record_id, before in self._select(
            f"SELECT key, id, before {_LATER} AND key {_LAST_FIRST}", keys, as_of
        ):
            written[key] = record_id, before
        return {
            key: decode_record(record_id, body, self.spec)
            for key, (record_id, body) in written.items()
            if body is not None
        }

    def find(self, ids: Sequence[RecordId], *, as_of: int) -> dict[RecordId, Key]:
        """Return the keys of these ids as of the change with that number."""
        wanted = keepable(ids)
        found: dict[RecordId, Key] = dict(self._select("SELECT id, key FROM records WHERE id IN ({})", wanted))
        for record_id, key, op in self._select(f"SELECT id, key, op {_LATER} AND id {_LAST_FIRST}", wanted, as_of):
            if op == "insert":
                found.pop(record_id, None)
            else:
                found[record_id] = key
        return found

    def apply(
        self, changes: Sequence[Change], author: Author, *, expected: Mapping[RecordId, int] | None = None
    ) -> int:
        """Commit the changes in one transaction, unless a record moved; a put that changes nothing is not logged."""
        with self._transaction() as db:
            require_unmoved(expected or {}, self.versions(list(expected or ())))
            for change in () if self._insert_all(db, changes, author) else changes:
                if isinstance(change, Put):
                    self._put(db, change, author)
                else:
                    self._delete(db, change, author)
            return self.change_no()

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of the puts whose record is stored as it is, and whose vector is, where it is given."""
        ids = keepable([put.record.id for put in puts])
        stored = {row[0]: row[1:] for row in self._select("SELECT id, body, digest FROM records WHERE id IN ({})", ids)}
        return {put.record.id for put in puts if put.record.id in stored and self._is_same(put, *stored[put.record.id])}

    def _is_same(self, put: Put, body: bytes, digest: bytes | None) -> bool:
        if body != encode_record(put.record) or not _is_same_digest(digest, put):
            return False
        has_vector = put.embedding is not None and put.embedding.vector is not None
        return not has_vector or (digest is not None and self.has_embedding(digest))

    def count_unembedded(self) -> int:
        """Return how many different texts lack a vector of the present model."""
        return int(self._find_row(f"SELECT count(DISTINCT digest) FROM records WHERE {_HAS_NO_VECTOR}")[0])

    def list_unembedded(self, *, after: Key | None, limit: int) -> list[tuple[Key, Record]]:
        """Return records after a key that lack a vector of the present model, also those without a text."""
        query = f"SELECT key, id, body FROM records WHERE key > ? AND {_HAS_NO_VECTOR} ORDER BY key LIMIT ?"
        rows = self._rows(query, (after or 0, limit))
        return [(Key(key), decode_record(RecordId(record_id), body, self.spec)) for key, record_id, body in rows]

    def add_vectors(self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]) -> int:
        """Store vectors of texts, and return how many of these records still have that text."""
        with self._transaction() as db:
            for digest, vector in vectors.items():
                self._insert_vector(db, Embedding(digest=digest, vector=vector))
            query = "UPDATE records SET digest = ?1 WHERE id = ?2 AND ifnull(digest, ?1) = ?1"
            embedded = 0
            for record_id, digest in digests.items():
                db.execute(query, (digest, record_id))
                embedded += db.changes()
            db.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (STORED_VECTORS, str(self.counter(STORED_VECTORS) + 1))
            )
        return embedded

    def counter(self, name: str) -> int:
        """Return one of the counters of vectors."""
        row = self._find_row("SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?", (name,))
        return int(row[0]) if row else 0

    def note_indexed(self, vector_no: int) -> None:
        """Store that the index has the vectors of this number, so that readers open it."""
        if self.counter(INDEXED_VECTORS) == vector_no:
            return
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (INDEXED_VECTORS, str(vector_no)))

    def iter_vectors(self) -> Iterator[tuple[Key, Vector | None]]:
        """Yield the key of each record that has a text, with its vector if there is one."""
        query = """SELECT key, vector FROM records LEFT JOIN embeddings
                   ON embeddings.digest = records.digest AND model = (SELECT value FROM meta WHERE name = 'model')
                   WHERE records.digest IS NOT NULL"""
        for key, vector in self._rows(query):
            yield Key(key), None if vector is None else np.frombuffer(vector, dtype=np.float32)

    def has_embedding(self, digest: bytes, model: ModelId | None = None) -> bool:
        """Tell whether the vector of this text is stored, by this store's model where none is given."""
        model = model or self.model()
        if model is None:
            return False
        query = "SELECT 1 FROM embeddings WHERE model = ? AND digest = ?"
        return self._find_row(query, (model.name, digest)) is not None

    def list_changes(
        self,
        *,
        limit: int,
        before: int | None = None,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[PastChange]:
        """Return past changes, newest first, read in one transaction."""
        asked = {"limit": limit, "before": before, "call_id": call_id, "ids": None if ids is None else _as_json(ids)}
        with self.snapshot():
            page = [logged_change(row) for row in self._rows(PAST_CHANGES.format(conditions_of(asked)), asked)]
            touched = list({change.id for change in page})
            oldest = page[-1].change_no if page else 0
            later = list(self._select(f"SELECT id, change_no, before {_LATER} AND id IN ({{}})", touched, oldest))
            present = dict(self._select("SELECT id, body FROM records WHERE id IN ({})", touched))
        return with_afters(page, later, present, self.spec)

    def list_called(self, *, after: int, limit: int) -> list[CalledChange]:
        """Return the changes that calls made after a change number, oldest first."""
        return [called_change(row) for row in self._rows(CALLED_CHANGES, (after, limit))]

    def versions(self, ids: Sequence[RecordId], *, as_of: int | None = None) -> dict[RecordId, int]:
        """Return the number of the last change of each id, no later than `as_of`."""
        if not ids:
            return {}
        with self._failing(), suppress(apsw.ReadOnlyError, apsw.BusyError):  # the query is only slower without it
            self._db().execute(CHANGES_BY_ID)
        wanted = keepable(ids)
        query = "SELECT id, max(change_no) FROM changes WHERE change_no <= ? AND id IN ({}) GROUP BY id"
        return dict(self._select(query, wanted, MAX_CHANGE_NO if as_of is None else as_of))

    def current_or_deleted(self, ids: Sequence[RecordId]) -> dict[RecordId, Record | None]:
        """Return the present record of each id, None for a deleted one."""
        wanted = keepable(ids)
        bodies = dict(self._select("SELECT id, body FROM records WHERE id IN ({})", wanted))
        found: dict[RecordId, Record | None] = {
            record_id: decode_record(record_id, body, self.spec) for record_id, body in bodies.items()
        }
        removed = self.versions([record_id for record_id in wanted if record_id not in found])
        return {**found, **dict.fromkeys(removed)}

    def changed_since(self, change_no: int, *, until: int = MAX_CHANGE_NO) -> list[Key]:
        """Return the keys changed after `change_no` and no later than `until`, in key order."""
        query = "SELECT DISTINCT key FROM changes WHERE change_no > ? AND change_no <= ? ORDER BY key"
        return [Key(key) for (key,) in self._rows(query, (change_no, until))]

    def iter_rows(self, keys: Sequence[Key] | None = None, *, after: Key = FIRST_KEY) -> Iterator[SegmentRow]:
        """Yield the records of these keys (all that follow `after` if None) with their vectors, in key order."""
        query = """SELECT key, id, body, vector, records.digest IS NOT NULL FROM records LEFT JOIN embeddings
                   ON embeddings.digest = records.digest AND model = (SELECT value FROM meta WHERE name = 'model')"""
        if keys is None:
            rows = self._rows(f"{query} WHERE key > ? ORDER BY key", (after,))
        else:
            wanted = ",".join(str(int(key)) for key in keys)
            rows = self._rows(f"{query} WHERE key IN ({wanted}) ORDER BY key")
        for key, record_id, body, vector, has_text in rows:
            yield SegmentRow(
                key=Key(key),
                record=decode_record(RecordId(record_id), body, self.spec),
                vector=None if vector is None else np.frombuffer(vector, dtype=np.float32),
                awaits_vector=bool(has_text) and vector is None,
            )

    def iter_rows_as_of(self, keys: Sequence[Key], change_no: int) -> Iterator[SegmentRow]:
        """Yield the records of these keys as of a change, in key order.

        Records that were changed since come without a vector: the former one is not stored.
        """
        if not keys:
            return
        moved = set(self.changed_since(change_no)).intersection(keys)
        was = [
            SegmentRow(key=key, record=record, vector=None)
            for key, record in self.fetch(sorted(moved), as_of=change_no).items()
        ]
        unmoved = self.iter_rows([key for key in keys if key not in moved])
        yield from sorted((*was, *unmoved), key=lambda row: row.key) if was else unmoved

    def list_keys(self) -> list[Key]:
        """Return the keys of all records."""
        return [Key(key) for (key,) in self._rows("SELECT key FROM records")]

    def check(self, checkpoint: Checkpoint) -> list[Problem]:
        """Return the faults that SQLite finds in the file."""
        faults = check_sqlite_file(self.path, checkpoint=checkpoint)
        return [
            Problem(part=RECORDS_PART, message=f"{self._label} is damaged: {one}", advice=PUT_BACK) for one in faults
        ]

    def _insert_all(self, db: apsw.Connection, changes: Sequence[Change], author: Author) -> bool:
        """Insert records that are all new and have no vectors, at once; False where some are not: nothing is done."""
        puts = [one for one in changes if isinstance(one, Put) and not (one.embedding and one.embedding.has_vector)]
        ids = {put.record.id for put in puts}
        if len(ids) < max(len(changes), BULK_RECORDS) or set(self._select(_KNOWN_IDS, keepable(list(ids)))):
            return False
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").get or 0
        rows = [(put.record.id, encode_record(put.record), put.embedding and put.embedding.digest) for put in puts]
        db.executemany("INSERT INTO records (id, body, digest) VALUES (?, ?, ?)", rows)
        db.execute(_LOG_INSERTS, (author.principal, author.call_id, last))
        return True

    def _put(self, db: apsw.Connection, put: Put, author: Author) -> None:
        body = encode_record(put.record)
        digest, is_new = self._keep_embedding(db, put)
        old = db.execute("SELECT key, body, digest FROM records WHERE id = ?", (put.record.id,)).fetchone()
        if old is None:
            key = db.execute(
                "INSERT INTO records (id, body, digest) VALUES (?, ?, ?) RETURNING key", (put.record.id, body, digest)
            ).get
            self._log(db, author, key=key, id=put.record.id, op="insert", before=None)
        elif is_new or old[1] != body or not _is_same_digest(old[2], put):
            db.execute("UPDATE records SET body = ?, digest = ? WHERE key = ?", (body, digest, old[0]))
            self._log(db, author, key=old[0], id=put.record.id, op="update", before=old[1])

    def _keep_embedding(self, db: apsw.Connection, put: Put) -> tuple[bytes | None, bool]:
        """Store a given vector; return the digest that the record refers to, and whether the vector is new."""
        embedding = put.embedding
        if embedding is None:
            return None, False
        return embedding.digest, embedding.vector is not None and self._insert_vector(db, embedding)

    def _insert_vector(self, db: apsw.Connection, embedding: Embedding) -> bool:
        """Store the vector of a text, and tell whether it is new; without a model there is none."""
        embedding.require_fits(self.model())
        db.execute(
            "INSERT OR IGNORE INTO embeddings SELECT value, ?, ? FROM meta WHERE name = 'model'",
            (embedding.digest, np.ascontiguousarray(embedding.vector, dtype=np.float32).tobytes()),
        )
        return db.changes() > 0

    def _delete(self, db: apsw.Connection, change: Delete, author: Author) -> None:
        old = db.execute("DELETE FROM records WHERE id = ? RETURNING key, body", (change.id,)).fetchone()
        if old is not None:
            self._log(db, author, key=old[0], id=change.id, op="delete", before=old[1])

    def _log(self, db: apsw.Connection, author: Author, **change: Any) -> None:
        db.execute(
            """INSERT INTO changes (key, id, op, before, principal, call_id)
               VALUES (:key, :id, :op, :before, :principal, :call_id)""",
            {**change, "principal": author.principal, "call_id": author.call_id},
        )

    def _select(self, query: str, values: Sequence[Key] | Sequence[RecordId], *first: int) -> Iterator[Any]:
        """Yield the rows of a query with a list of keys or ids, whose values are bound, in batches."""
        for start in range(0, len(values), MAX_BOUND_VALUES):
            batch = values[start : start + MAX_BOUND_VALUES]
            yield from self._rows(query.format(",".join("?" * len(batch))), (*first, *batch))

    def _find_row(self, query: str, values: Any = ()) -> Any:
        return next(self._rows(query, values), None)

    def _rows(self, query: str, values: Any = ()) -> Iterator[Any]:
        with self._failing():
            yield from self._db().execute(query, values)

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        with self._failing(), self._db() as db:
            yield db

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise SQLite's errors as StorageError; a transaction within is rolled back."""
        try:
            yield
        except apsw.FullError as error:
            raise StorageError(f"{self._label}: the disk is full; nothing was changed") from error
        except apsw.BusyError as error:
            raise StorageError(f"{self._label}: another process is writing; nothing was changed") from error
        except apsw.Error as error:
            raise StorageError(f"{self._label}: cannot be read: {error}; {IF_DAMAGED}") from error

    def _db(self) -> apsw.Connection:
        """Return this thread's connection."""
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._connect()
            self._local.db = db
        return db

    def _connect(self, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
        try:
            db = apsw.Connection(str(self.path))
            db.set_busy_timeout(busy_timeout_ms)
            db.pragma("journal_mode", "wal")
            db.pragma("synchronous", "full")
            version = db.pragma("user_version")
        except apsw.Error as error:
            raise StorageError(f"{self._label}: cannot be opened: {error}; {IF_DAMAGED}") from error
        if version > SCHEMA_VERSION:
            raise StorageError(f"{self._label}: written by a newer Pinakes (layout {version}); update this one")
        with self._guard:
            self._open.add(db)
        return db


_KNOWN_IDS = "SELECT id FROM records WHERE id IN ({})"
_LOG_INSERTS = """
INSERT INTO changes (key, id, op, before, principal, call_id)
SELECT key, id, 'insert', NULL, ?, ? FROM records WHERE key > ? ORDER BY key
"""
_LATER = "FROM changes WHERE change_no > ?"
_LAST_FIRST = "IN ({}) ORDER BY change_no DESC"


def _as_json(ids: Sequence[RecordId]) -> str:
    return orjson.dumps(keepable(ids)).decode()


def _last_change(db: apsw.Connection) -> int:
    return int(db.execute("SELECT max(change_no) FROM changes").get or 0)


def _state_of(db: apsw.Connection) -> StoreState:
    row = db.execute(_STATE).fetchone() or (0, 0)
    return StoreState(row[0] or 0, row[1] or 0)


def _is_same_digest(stored: bytes | None, put: Put) -> bool:
    """Tell whether a stored record refers to the text of a put; one without a digest gets it with its vector."""
    if put.embedding is None:
        return stored is None
    return stored == put.embedding.digest or (stored is None and put.embedding.vector is None)
