"""The store: a catalogue's records in one SQLite file, the truth that every index is derived from.

Each put or delete is a row in `changes`; the highest `change_no` is the version of the catalogue.
The row has the record before the change, so that earlier versions can be read. Embeddings are keyed
by model and digest of their text, so that no text is embedded twice. Commit point: the end of
`apply`'s transaction.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
import orjson

from stackroom.catalogue.codec import decode_record, encode_record
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ConflictError, StorageError, list_some
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.store_file import (
    PUT_BACK,
    STATEMENTS,
    StoreFile,
    create_tables,
    row_sum,
    set_meta,
)
from stackroom.shelf.port import (
    EVERY_KEY,
    LOCAL,
    Author,
    Change,
    Delete,
    Embedding,
    KeyRange,
    Op,
    PastChange,
    Put,
)

BULK_RECORDS = 100
MOVED_SHOWN = 3
FIRST_KEY = Key(0)
COLUMNS = "id, body, digest, sum"  # the columns that `_sound_body` takes
OF_IDS = f"SELECT {COLUMNS} FROM records WHERE id IN ({{}})"
SPEC_MARK = "spec"  # the row of `meta` with the digest of the spec that came with the last release
MAX_CHANGE_NO = 2**63 - 1
STORED_VECTORS, INDEXED_VECTORS = "vectors_stored", "vectors_indexed"
"""Counters in `meta`: the number of additions of vectors, and the number of the last one in the
index.
"""
HAS_NO_VECTOR = """NOT EXISTS (SELECT 1 FROM embeddings WHERE embeddings.digest = records.digest
                    AND model = (SELECT value FROM meta WHERE name = 'model'))"""
WITH_VECTORS = """FROM records LEFT JOIN embeddings
    ON embeddings.digest = records.digest
    AND model = (SELECT value FROM meta WHERE name = 'model')"""
# the columns that `sound_vector` takes
VECTOR_COLUMNS = "model, records.digest, vector, embeddings.sum"
_STATE = f"""SELECT ifnull((SELECT max(change_no) FROM changes), 0), ifnull((
                    SELECT CAST(value AS INTEGER) FROM meta WHERE name = '{INDEXED_VECTORS}'), 0)"""

logger = logging.getLogger(__name__)

LOGGED = "change_no, key, id, op, before, principal, call_id, at"
_NARROWED = {
    "before": "change_no < :before",
    "call_id": "call_id = :call_id",
    "ids": "id IN (SELECT value FROM json_each(:ids))",
}


def require_sound(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of the log (its columns `LOGGED` and its checksum); refuse a damaged one."""
    change_no, *values, told = row
    if told != row_sum(*values):
        raise StorageError(
            f"change {change_no} of the history is damaged; put the records back from a back-up"
        )
    return row


def require_unmoved(expected: Mapping[RecordId, int], versions: Mapping[RecordId, int]) -> None:
    """Raise ConflictError if the last change of an id is not the expected one; 0 stands for an id
    that never existed.
    """
    moved = sorted(one for one, change_no in expected.items() if versions.get(one, 0) != change_no)
    if not moved:
        return
    named = list_some([f"'{one}' (change {versions.get(one, 0)})" for one in moved], MOVED_SHOWN)
    raise ConflictError(f"changed since it was read: {named}; nothing was changed now")


def keepable(ids: Iterable[RecordId]) -> list[RecordId]:
    """Return the ids that can be stored: UTF-8 has no lone surrogates."""
    return [
        record_id for record_id in ids if record_id.encode(errors="ignore").decode() == record_id
    ]


class StoreState(NamedTuple):
    """The number of the last change, and of the last published addition of vectors."""

    change_no: int
    vector_no: int
    # a token of the history that the numbers are of; empty for the one that the store began with
    history: str = ""


class Switch(NamedTuple):
    """A change of the model and of the spec, by its digest, with a transaction.

    Without a model, or with an empty digest, the present one stays.
    """

    model: ModelId | None
    spec_digest: str


class Store(StoreFile):
    """The records of one catalogue. Safe to use from several threads and processes.

    A row with a wrong checksum is left out of reads, and noted in `damaged`.
    """

    database: Any = None
    """The `StoreDatabase` with the truth, which coordinates machines, or None if this store is the
    truth.
    """

    def __init__(self, path: Path, spec: CatalogueSpec) -> None:
        super().__init__(path)
        self.spec = spec
        self.damaged: set[RecordId] = set()
        """The records found damaged, until they are written again."""
        self._watch: apsw.Connection | None = None
        """The connection of `find_state`, without a busy timeout."""
        self._watch_guard = threading.Lock()

    def create(self, model: ModelId | None) -> bool:
        """Create missing tables, store the embedding model, and tell whether it replaced another
        one.
        """
        if self.database is None:
            self.make()
        with self._writing() as db:
            create_tables(db)
            before = self.model()
            if model is None or model == before:
                return False
            self._switch_model(db, model, LOCAL)
        return before is not None

    def require_tables(self) -> None:
        """Refuse a file without the tables of a store."""
        if self._db().pragma("user_version") == 0:
            raise StorageError(
                f"{self.label}: the file is empty; build the catalogue again (stackroom add)"
            )

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self._watch = None

    def change_no(self) -> int:
        """Return the number of the last change."""
        return int(self._find_row("SELECT max(change_no) FROM changes")[0] or 0)

    def state(self) -> StoreState:
        """Return the state that a current view must have."""
        with self._failing():
            return StoreState(*self._db().execute(_STATE).get)

    def find_state(self) -> StoreState | None:
        """Return the state, or None if reading it would wait."""
        if not self._watch_guard.acquire(blocking=False):
            return None
        try:
            if self._watch is None or self.is_outdated():
                self._watch = self.connect(busy_timeout_ms=0)
            return StoreState(*self._watch.execute(_STATE).get)
        except (apsw.Error, StorageError):
            return None
        finally:
            self._watch_guard.release()

    def history(self) -> str:
        """Return a token that differs after the records were replaced by those of another
        history.
        """
        return ""

    def why_stale(self) -> str | None:
        """Return why the file may lag behind the records, or None if it does not."""
        return None

    def has_unpublished_vectors(self) -> bool:
        """Tell whether vectors were published elsewhere that the index here does not have."""
        return False

    def embedding_parts(self, *, wait_s: float) -> AbstractContextManager[Iterable[KeyRange]]:  # noqa: ARG002
        """Yield the keys of the texts to embed, in parts that other machines may take as well."""
        return nullcontext((EVERY_KEY,))

    def count(self) -> int:
        """Return the number of records."""
        return int(self._find_row("SELECT count(*) FROM records")[0])

    def fetch(self, keys: Sequence[Key], *, as_of: int) -> dict[Key, Record]:
        """Return the records of these keys as of the change with that number."""
        written: dict[Key, tuple[RecordId, bytes | None]] = {}
        for key, *row in self._select(
            f"SELECT key, {COLUMNS} FROM records WHERE key IN ({{}})", keys
        ):
            written[key] = row[0], self._sound_body(*row)
        # Read after the records, so that a change made in between is among those that are undone.
        for _, key, record_id, _, before, *_ in self._later(f"key {_LAST_FIRST}", keys, as_of):
            written[key] = record_id, before
        return {
            key: decode_record(one, body, self.spec)
            for key, (one, body) in written.items()
            if body is not None
        }

    def find(self, ids: Sequence[RecordId], *, as_of: int) -> dict[RecordId, Key]:
        """Return the keys of these ids as of the change with that number."""
        wanted = keepable(ids)
        found: dict[RecordId, Key] = dict(self._select(STATEMENTS["keys_of_ids"], wanted))
        for _, key, record_id, op, *_ in self._later(f"id {_LAST_FIRST}", wanted, as_of):
            if op == "insert":
                found.pop(record_id, None)
            else:
                found[record_id] = key
        return found

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        *,
        expected: Mapping[RecordId, int] | None = None,
        switch: "Switch | None" = None,
    ) -> int:
        """Commit the changes in one transaction, unless a record moved; a put that changes nothing
        is not logged.
        """
        with self._writing() as db:
            require_unmoved(expected or {}, self.versions(list(expected or ())))
            model, mark = switch or (None, "")
            if model is not None and model != self.model():
                self._switch_model(db, model, author)
            if mark and mark != self.spec_mark():
                set_meta(db, {SPEC_MARK: mark})
            for change in () if self._insert_all(db, changes, author) else changes:
                if isinstance(change, Put):
                    self._put(db, change, author)
                else:
                    self._delete(db, change, author)
            return self.change_no()

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of the puts whose record, and vector if given, is already stored."""
        ids = keepable([put.record.id for put in puts])
        rows = self._select(OF_IDS, ids)
        stored = {row[0]: (self._sound_body(*row), row[2]) for row in rows}
        embedded = self.find_embedded(
            [digest for _, digest in stored.values() if digest is not None]
        )
        known = [put for put in puts if put.record.id in stored]
        return {put.record.id for put in known if _is_same(put, *stored[put.record.id], embedded)}

    def _bodies_of(self, ids: Sequence[RecordId]) -> dict[RecordId, bytes | None]:
        return {row[0]: self._sound_body(*row) for row in self._select(OF_IDS, ids)}

    def _sound_body(
        self, record_id: RecordId, body: bytes, digest: bytes | None, told: int | None
    ) -> bytes | None:
        """Return the body of a record, or None, with a note, if its checksum is wrong."""
        if told == row_sum(record_id, body, digest):
            return body
        if record_id not in self.damaged:
            self.damaged.add(record_id)
            logger.warning(
                "record '%s' of catalogue '%s' is damaged and left out",
                record_id,
                self.path.parent.name,
            )
        return None

    def list_unembedded(
        self, *, within: KeyRange = EVERY_KEY, limit: int
    ) -> list[tuple[Key, Record]]:
        """Return records of these keys without a vector of the present model, also those without a
        text.
        """
        wanted = f"key > ? AND key <= ? AND {HAS_NO_VECTOR} ORDER BY key LIMIT ?"
        rows = self.rows(f"SELECT key, {COLUMNS} FROM records WHERE {wanted}", (*within, limit))
        sound = ((key, row[0], self._sound_body(*row)) for key, *row in rows)
        return [
            (Key(key), decode_record(one, body, self.spec))
            for key, one, body in sound
            if body is not None
        ]

    def list_changes(
        self,
        *,
        limit: int,
        before: int | None = None,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[PastChange]:
        """Return past changes, newest first, read in one transaction."""
        wanted_ids = None if ids is None else orjson.dumps(keepable(ids)).decode()
        asked = {"limit": limit, "before": before, "call_id": call_id, "ids": wanted_ids}
        clauses = [clause for name, clause in _NARROWED.items() if asked[name] is not None]
        if call_id:
            clauses.append("call_id <> ''")  # lets SQLite use the partial index
        where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
        query = f"SELECT {LOGGED}, sum FROM changes {where} ORDER BY change_no DESC LIMIT :limit"
        with self.snapshot():
            page = [require_sound(row) for row in self.rows(query, asked)]
            touched = list({row[2] for row in page})
            oldest = page[-1][0] if page else 0
            later = list(self._later(f"id {_LAST_FIRST}", touched, oldest - 1))
            bodies = self._bodies_of(touched)
        wanted = {row[0] for row in page}
        found: list[PastChange] = []
        # the newest of each record first, so that the record after a change is known
        for row in later:
            if row[0] in wanted:
                found.append(self._past_change(row, after=bodies.get(row[2])))
            bodies[row[2]] = row[4]
        return sorted(found, key=lambda change: -change.change_no)

    def _past_change(self, row: tuple[Any, ...], *, after: bytes | None) -> PastChange:
        change_no, _key, record_id, op, before, principal, call_id, at, *_sum = row
        return PastChange(
            change_no=change_no,
            id=RecordId(record_id),
            op=Op(op),
            author=Author(principal=principal, call_id=call_id),
            at=datetime.fromisoformat(at).replace(tzinfo=UTC),
            before=None if before is None else decode_record(record_id, before, self.spec),
            after=None if after is None else decode_record(record_id, after, self.spec),
        )

    def _later(
        self, which: str, values: Sequence[Key] | Sequence[RecordId], change_no: int
    ) -> Iterator[Any]:
        """Yield the rows of the log after a change, with `LOGGED` columns."""
        rows = self._select(
            f"SELECT {LOGGED}, sum FROM changes WHERE change_no > ? AND {which}", values, change_no
        )
        return map(require_sound, rows)

    def versions(self, ids: Sequence[RecordId], *, as_of: int | None = None) -> dict[RecordId, int]:
        """Return the number of the last change of each id, no later than `as_of`."""
        if not ids:
            return {}
        self._index_by_id()
        wanted = keepable(ids)
        query = (
            "SELECT id, max(change_no) FROM changes WHERE change_no <= ? AND id IN ({}) GROUP BY id"
        )
        return dict(self._select(query, wanted, MAX_CHANGE_NO if as_of is None else as_of))

    def _index_by_id(self) -> None:
        """Create the index of the log by ids, unless it exists or the file cannot be written."""
        if (
            self._find_row("SELECT 1 FROM sqlite_schema WHERE name = 'changes_by_id'")
            or self.is_read_only
        ):
            return
        self.seal.break_up()
        # queries are only slower without it
        with self._failing(), suppress(apsw.ReadOnlyError, apsw.BusyError):
            self._db().execute(STATEMENTS["changes_by_id"])

    def current_or_deleted(self, ids: Sequence[RecordId]) -> dict[RecordId, Record | None]:
        """Return the present record of each id, None for a deleted one."""
        wanted = keepable(ids)
        bodies = self._bodies_of(wanted)
        found = {
            one: decode_record(one, body, self.spec)
            for one, body in bodies.items()
            if body is not None
        }
        removed = self.versions([record_id for record_id in wanted if record_id not in bodies])
        return {**found, **dict.fromkeys(removed)}

    def changed_since(self, change_no: int, *, until: int = MAX_CHANGE_NO) -> list[Key]:
        """Return the keys changed after `change_no` and no later than `until`, in key order."""
        query = (
            "SELECT DISTINCT key FROM changes WHERE change_no > ? AND change_no <= ? ORDER BY key"
        )
        return [Key(key) for (key,) in self.rows(query, (change_no, until))]

    def iter_rows(
        self, keys: Sequence[Key] | None = None, *, after: Key = FIRST_KEY
    ) -> Iterator[SegmentRow]:
        """Yield the records of these keys (all that follow `after` if None) with their vectors, in
        key order.
        """
        query = f"SELECT key, id, body, records.sum, {VECTOR_COLUMNS} {WITH_VECTORS}"
        if keys is None:
            rows = self.rows(f"{query} WHERE key > ? ORDER BY key", (after,))
        else:
            wanted = ",".join(str(int(key)) for key in keys) or "NULL"
            rows = self.rows(f"{query} WHERE key IN ({wanted}) ORDER BY key")
        for key, record_id, stored, told, model, digest, *vector_row in rows:
            body = self._sound_body(record_id, stored, digest, told)
            if body is None:
                continue
            vector = sound_vector(model, digest, *vector_row)
            yield SegmentRow(
                key=Key(key),
                record=decode_record(RecordId(record_id), body, self.spec),
                vector=vector,
                digest=digest,
                awaits_vector=digest is not None and vector is None,
            )

    def iter_rows_as_of(self, keys: Sequence[Key], change_no: int) -> Iterator[SegmentRow]:
        """Yield the records of these keys as of a change, in key order.

        Records changed since then have no vector: the former one is not stored.
        """
        if not keys:
            return
        moved = set(self.changed_since(change_no)).intersection(keys)
        former = self.fetch(sorted(moved), as_of=change_no)
        was = [SegmentRow(key=key, record=record, vector=None) for key, record in former.items()]
        unmoved = self.iter_rows([key for key in keys if key not in moved])
        yield from sorted((*was, *unmoved), key=lambda row: row.key) if was else unmoved

    def list_keys(self) -> list[Key]:
        """Return the keys of all records."""
        return [Key(key) for (key,) in self.rows("SELECT key FROM records")]

    def spec_mark(self) -> str:
        """Return the digest of the spec of the installed release, or an empty text."""
        return self.find_mark(SPEC_MARK) or ""

    def has_change_by(self, principal: str, *, after: int) -> bool:
        """Tell whether a principal has made a change after a change number."""
        query = "SELECT 1 FROM changes WHERE change_no > ? AND principal = ? LIMIT 1"
        return self._find_row(query, (after, principal)) is not None

    def ids_last_changed_by_others(self, prefix: str) -> set[RecordId]:
        """Return the ids whose last change is by a principal that does not begin with a prefix."""
        last = "SELECT max(change_no) FROM changes GROUP BY id"
        rows = self.rows(f"SELECT id, principal FROM changes WHERE change_no IN ({last})")
        return {record_id for record_id, principal in rows if not principal.startswith(prefix)}

    def _insert_all(self, db: apsw.Connection, changes: Sequence[Change], author: Author) -> bool:
        """Insert records that are all new, with their vectors; return False and do nothing if some
        exist.
        """
        puts = [change for change in changes if isinstance(change, Put)]
        ids, known = {put.record.id for put in puts}, "SELECT id FROM records WHERE id IN ({})"
        if len(ids) < max(len(changes), BULK_RECORDS) or set(self._select(known, keepable(ids))):
            return False
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").get or 0
        rows = [
            (put.record.id, encode_record(put.record), put.embedding and put.embedding.digest)
            for put in puts
        ]
        embeddings = [put.embedding for put in puts if put.embedding is not None]
        model = self.model()
        for embedding in embeddings:
            embedding.require_fits(model)
        vectors = [(one.digest, _as_bytes(one.vector)) for one in embeddings if one.has_vector]
        db.executemany(
            STATEMENTS["add_vector"], [(model.name, *one) for one in vectors] if model else []
        )
        keyed = [(key, *row, row_sum(*row)) for key, row in enumerate(rows, start=last + 1)]
        db.executemany(STATEMENTS["insert_keyed"], keyed)
        said = None, author.principal, author.call_id, db.execute("SELECT datetime('now')").get
        logged = [(key, row[0], "insert", *said) for key, row in enumerate(rows, start=last + 1)]
        db.executemany(STATEMENTS["log_insert"], [(*row, row_sum(*row)) for row in logged])
        return True

    def _put(self, db: apsw.Connection, put: Put, author: Author) -> None:
        body = encode_record(put.record)
        embedding = put.embedding
        digest = embedding and embedding.digest
        is_new = (
            embedding is not None and embedding.has_vector and self._insert_vector(db, embedding)
        )
        old = db.execute(
            "SELECT key, id, body, digest, sum FROM records WHERE id = ?", (put.record.id,)
        ).fetchone()
        if old is None:
            key = db.execute(STATEMENTS["insert_record"], (put.record.id, body, digest)).get
            self._log(db, author, key=key, id=put.record.id, op="insert", before=None)
            return
        before = self._sound_body(*old[1:])
        if is_new or before != body or not _is_same_digest(old[3], put):
            query = (
                "UPDATE records SET body = ?1, digest = ?2, sum = row_sum(id, ?1, ?2) WHERE key"
                " = ?3"
            )
            db.execute(query, (body, digest, old[0]))
            self.damaged.discard(put.record.id)
            # what is damaged must not be put back by an undo
            op = "insert" if before is None else "update"
            self._log(db, author, key=old[0], id=put.record.id, op=op, before=before)

    def _delete(self, db: apsw.Connection, change: Delete, author: Author) -> None:
        query = "DELETE FROM records WHERE id = ? RETURNING key, id, body, digest, sum"
        old = db.execute(query, (change.id,)).fetchone()
        if old is not None:
            self._log(
                db, author, key=old[0], id=change.id, op="delete", before=self._sound_body(*old[1:])
            )
            self.damaged.discard(change.id)

    def _log(self, db: apsw.Connection, author: Author, **change: Any) -> None:
        db.execute(
            STATEMENTS["log"], {**change, "principal": author.principal, "call_id": author.call_id}
        )

    # Vectors, which may come later than their records: they are no changes, and have counters of
    # their own.

    def model(self) -> ModelId | None:
        """Return the embedding model of the vectors, or None."""
        rows = self.rows(
            "SELECT name, value FROM meta WHERE name IN ('model', 'dimension', 'centred')"
        )
        meta: dict[str, str] = dict(rows)
        if "model" not in meta:
            return None
        is_centred = meta.get("centred") == "1"
        try:
            return ModelId(
                name=meta["model"], dimension=int(meta["dimension"]), is_centred=is_centred
            )
        except (KeyError, ValueError) as error:
            raise StorageError(
                f"{self.label}: the size of its vectors is damaged; {PUT_BACK}"
            ) from error

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one, which `create` switches to."""
        with self._writing() as db:
            rows = [(model.name, digest, vector.tobytes()) for digest, vector in vectors.items()]
            db.executemany(STATEMENTS["add_vector"], rows)

    def add_vectors(
        self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]
    ) -> int:
        """Store vectors of texts, and return how many of these records still have that text."""
        with self._writing() as db:
            for digest, vector in vectors.items():
                self._insert_vector(db, Embedding(digest=digest, vector=vector))
            embedded = 0
            for record_id, digest in digests.items():
                db.execute(STATEMENTS["set_digest"], (digest, record_id))
                embedded += db.changes()
            set_meta(db, {STORED_VECTORS: str(self.counter(STORED_VECTORS) + 1)})
        return embedded

    def has_vectors(self) -> bool:
        """Tell whether there is a vector of any model."""
        return self._find_row("SELECT 1 FROM embeddings LIMIT 1") is not None

    def count_unembedded(self) -> int:
        """Return how many different texts lack a vector of the present model."""
        return int(
            self._find_row(f"SELECT count(DISTINCT digest) FROM records WHERE {HAS_NO_VECTOR}")[0]
        )

    def unembedded_range(self) -> KeyRange | None:
        """Return the range of keys of records without a vector of the present model, or None if all
        have one.
        """
        first, last = self._find_row(
            f"SELECT min(key), max(key) FROM records WHERE {HAS_NO_VECTOR}"
        )
        return None if first is None else KeyRange(Key(first - 1), Key(last))

    def counter(self, name: str) -> int:
        """Return one of the counters of vectors."""
        row = self._find_row("SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?", (name,))
        return int(row[0]) if row else 0

    def note_indexed(self, vector_no: int) -> None:
        """Store that the index has the vectors of this number, so that readers open it."""
        if self.counter(INDEXED_VECTORS) == vector_no or self.is_read_only:
            return
        with self._writing_file() as db:
            set_meta(db, {INDEXED_VECTORS: str(vector_no)})

    def iter_vectors(self) -> Iterator[tuple[Key, Vector | None]]:
        """Yield the key of each record that has a text, with its vector if there is one."""
        query = f"SELECT key, {VECTOR_COLUMNS} {WITH_VECTORS} WHERE records.digest IS NOT NULL"
        for key, *row in self.rows(query):
            yield Key(key), sound_vector(*row)

    def vectors_of(self, digests: Sequence[bytes], model: ModelId) -> dict[bytes, Vector]:
        """Return the stored vectors of texts by a model, without damaged ones."""
        query = "SELECT digest, vector, sum FROM embeddings WHERE model = ? AND digest IN ({})"
        rows = self._select(query, digests, model.name)
        return {
            digest: vector
            for digest, *row in rows
            if (vector := sound_vector(model.name, digest, *row)) is not None
        }

    def find_embedded(self, digests: Sequence[bytes], model: ModelId | None = None) -> set[bytes]:
        """Return the digests whose vector is stored, by this store's model if none is given."""
        model = model or self.model()
        query = "SELECT digest FROM embeddings WHERE model = ? AND digest IN ({})"
        rows = self._select(query, digests, model.name) if model else ()
        return {digest for (digest,) in rows}

    def _switch_model(self, db: apsw.Connection, model: ModelId, author: Author) -> None:
        """Use the vectors of another model, in the caller's transaction."""
        before = self.model()
        centred = str(int(model.is_centred))
        set_meta(db, {"model": model.name, "dimension": str(model.dimension), "centred": centred})
        # Vectors are keyed by the model's name alone; older ones may have another length.
        size_bytes = model.dimension * np.dtype(np.float32).itemsize
        db.execute(
            "DELETE FROM embeddings WHERE model = ? AND length(vector) <> ?",
            (model.name, size_bytes),
        )
        if before is not None:
            self._touch_embedded(db, model, author)

    def _touch_embedded(self, db: apsw.Connection, model: ModelId, author: Author) -> None:
        db.execute(STATEMENTS["touch_embedded"], (author.principal, author.call_id, model.name))

    def remove_vectors(self, rows: Sequence[int]) -> None:
        """Remove stored vectors, so that their texts are embedded again."""
        with self._writing() as db:
            db.executemany("DELETE FROM embeddings WHERE rowid = ?", ((row,) for row in rows))

    def _insert_vector(self, db: apsw.Connection, embedding: Embedding) -> bool:
        """Store the vector of a text, and tell whether it is new; store nothing without a model."""
        embedding.require_fits(self.model())
        db.execute(STATEMENTS["insert_vector"], (embedding.digest, _as_bytes(embedding.vector)))
        return db.changes() > 0


_LAST_FIRST = "IN ({}) ORDER BY change_no DESC"


def _is_same(put: Put, body: bytes | None, digest: bytes | None, embedded: set[bytes]) -> bool:
    if body != encode_record(put.record) or not _is_same_digest(digest, put):
        return False
    return put.embedding is None or not put.embedding.has_vector or digest in embedded


def _is_same_digest(stored: bytes | None, put: Put) -> bool:
    """Tell whether a stored record refers to the text of a put; a record without a digest gets it
    with its vector.
    """
    if put.embedding is None:
        return stored is None
    return stored == put.embedding.digest or (stored is None and not put.embedding.has_vector)


def _as_bytes(vector: Vector | None) -> bytes:
    return np.ascontiguousarray(vector, dtype=np.float32).tobytes()


def sound_vector(
    model: str, digest: bytes, vector: bytes | None, told: int | None
) -> Vector | None:
    """Return a stored vector, or None if it is missing or its checksum is wrong."""
    if vector is None or told != row_sum(model, digest, vector):
        return None
    return np.frombuffer(vector, dtype=np.float32)
