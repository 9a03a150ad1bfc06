"""The LanceDB shelf in a folder: one writer at a time, and views that every process builds for itself.

    FOLDER/lance/    the tables (`tables`), named after the folder
    FOLDER/lock      held while anything is written

A change is written to the tables and then named by the pointer, which is the one commit point. A view is of the version
that the pointer names: a base segment in memory, and a tail of what was changed since it was built. When the tail has
grown, the process loads a new base.
"""

import dataclasses
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb.expr import col
from lancedb.table import Table

from pinakes.catalogue.codec import decode_record, encode_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.vectors import ModelId
from pinakes.shelf.columns import Mask
from pinakes.shelf.history import keepable, require_unmoved, with_afters
from pinakes.shelf.lance.layout import DocumentRow, documents_schema, documents_table, indexed_columns
from pinakes.shelf.lance.plan import Plan, Planner, digests_of, ids_of, require_fitting
from pinakes.shelf.lance.segment import Segment, build_segment
from pinakes.shelf.lance.tables import Pointer, Tables
from pinakes.shelf.lance.view import Addresses, LanceView
from pinakes.shelf.lock import CatalogueLock
from pinakes.shelf.port import LOCAL, Author, Change, PastChange, Put

TABLES_FOLDER = "lance"
WRITER_LOCK_TIMEOUT_S = 10.0

TAIL_ROWS = 1_000
TAIL_SHARE = 0.05
"""The tail may hold this many rows, or this share of the base, before a new base is loaded."""

LOOSE_WRITES = 32
LOOSE_WRITES_SHARE = 0.002
"""So many writes, or so many as this share of the records, may lie apart before they are joined."""


class LanceShelf:
    """Implements `BuildableShelf`, `ShelfWriter` and `ShelfHistory` on a folder."""

    def __init__(self, folder: Path, spec: CatalogueSpec) -> None:
        self.folder = folder
        self.spec = spec
        self._tables = Tables(folder / TABLES_FOLDER, folder.name)
        self._view: LanceView | None = None
        self._seen: Pointer | None = None
        self._guard = threading.RLock()
        self._lock = CatalogueLock(folder, spec.name)

    @classmethod
    def create(cls, folder: Path, spec: CatalogueSpec, *, model: ModelId | None) -> "LanceShelf":
        """Open the shelf in this folder for writing, with vectors by this model; made if it is new."""
        folder.mkdir(parents=True, exist_ok=True)
        shelf = cls(folder, spec)
        with shelf.exclusive():
            if Tables.exist(folder / TABLES_FOLDER, folder.name):
                shelf._bring_up(shelf._tables.pointer(), model)
            else:
                schema = documents_schema(spec, dimension=model.dimension if model else None)
                shelf._tables.create(schema, spec_digest=spec.digest, model=model)
        return shelf

    @classmethod
    def open(cls, folder: Path, spec: CatalogueSpec) -> "LanceShelf":
        """Open the shelf in this folder, or refuse where there is none."""
        if not Tables.exist(folder / TABLES_FOLDER, folder.name):
            raise StorageError(f"{folder}: there is no catalogue here")
        shelf = cls(folder, spec)
        shelf._tables.pointer()  # refuses what cannot be read
        return shelf

    def close(self) -> None:
        """Let go of what is kept in memory."""
        with self._guard:
            self._view = None
            self._seen = None

    def writer(self) -> "LanceShelf":
        """Return the way to change records: the shelf itself."""
        return self

    def reader(self) -> LanceView:
        """Return a view that is fresh at this moment."""
        pointer = self._current()
        with self._guard:
            if self._view is None or self._seen != pointer:
                self._view = self._refreshed(pointer)
                self._seen = pointer
            return self._view

    def find_reader(self) -> None:
        """Return nothing: to learn which version is the last takes too long here."""

    def history(self) -> "LanceShelf":
        """Return what was changed: the shelf itself knows."""
        return self

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author = LOCAL,
        expected: Mapping[RecordId, int] | None = None,
    ) -> int:
        """Make the changes durable, all or none, and return the number of the last change."""
        with self.exclusive():
            pointer = self._current()
            require_unmoved(expected or {}, self._tables.last_changes(list(expected or ()), pointer))
            plan = self._planned(changes, pointer, author)
            if plan.change_no > pointer.change_no or plan.spare:
                self._write(plan, pointer)
            return plan.change_no

    def publish(self) -> None:
        """Join what single writes have left apart; views need nothing to be up to date."""
        with self.exclusive():
            pointer = self._current()
            if self._is_scattered(pointer):
                version = self._tables.compact(pointer)
                joined = dataclasses.replace(pointer, documents_version=version, compacted_version=version)
                self._tables.commit(joined)
                self._tables.prune(joined)  # after the pointer, so that the version it named is never the one to go

    def missing_embeddings(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those digests for which the shelf has no vector."""
        wanted = set(digests)
        pointer = self._current()
        if not wanted or pointer.model is None:
            return wanted
        wanted -= self._tables.held_digests(wanted, pointer)
        return wanted - self._tables.spare_vectors(wanted, pointer.model_id).keys()

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of those puts that would change nothing."""
        stored = self._tables.stored_rows(ids_of(puts), self._current())
        unchanged = set()
        for put in puts:
            row = stored.get(put.record.id)
            digest = None if put.embedding is None else put.embedding.digest
            if row is not None and (row.body, row.digest) == (encode_record(put.record), digest):
                unchanged.add(put.record.id)
        return unchanged

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        """Return what these ids are now, None where the record was removed."""
        pointer = self._current()
        stored = self._tables.stored_rows(keepable(ids), pointer)
        found = {one: decode_record(one, row.body, self.spec) for one, row in stored.items()}
        removed = self._tables.last_changes([one for one in ids if one not in found], pointer)
        return {**found, **dict.fromkeys(removed)}

    def list_changes(
        self,
        *,
        limit: int,
        before: int | None = None,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[PastChange]:
        """Return past changes, newest first: those before a change, of one call, to these records."""
        pointer = self._current()
        page = self._tables.logged(pointer, limit=limit, before=before, call_id=call_id, ids=ids)
        if not page:
            return []
        touched = list({change.id for change in page})
        later = self._tables.logged(pointer, ids=touched, since=page[-1].change_no)
        present = {one: row.body for one, row in self._tables.stored_rows(touched, pointer).items()}
        return with_afters(page, [(change.id, change.change_no, change.before) for change in later], present, self.spec)

    def versions(self, ids: Sequence[RecordId], *, as_of: int | None = None) -> Mapping[RecordId, int]:
        """Return the number of the last change to each id, no later than `as_of`."""
        return self._tables.last_changes(ids, self._current(), as_of=as_of)

    def is_empty(self) -> bool:
        """Tell whether there is no record on it."""
        return not self._tables.documents(self._current()).count_rows()

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep every other writer out, for several steps."""
        return self._lock.held(WRITER_LOCK_TIMEOUT_S)

    def _current(self) -> Pointer:
        """Return the current state, with the documents' columns brought up to the spec where it has changed."""
        pointer = self._tables.pointer()
        if pointer.spec_digest == self.spec.digest:
            return pointer
        with self.exclusive():
            return self._bring_up(self._tables.pointer(), None)

    def _is_scattered(self, pointer: Pointer) -> bool:
        """Tell whether so many writes lie apart that reading them all has become slow."""
        loose = pointer.documents_version - pointer.compacted_version
        if loose <= LOOSE_WRITES:
            return False
        return loose > LOOSE_WRITES_SHARE * self._tables.documents(pointer).count_rows()

    def _planned(self, changes: Sequence[Change], pointer: Pointer, author: Author) -> Plan:
        """Work out what the changes come to. The lock is held."""
        require_fitting(changes, pointer.model_id)
        stored, held = self._tables.stored_and_held(ids_of(changes), digests_of(changes), pointer)
        digests = digests_of(changes) | held.keys()
        planner = Planner(
            stored,
            held=held,
            spare=self._tables.spare_vectors(digests, pointer.model_id) if digests else {},
            model=pointer.model_id,
            change_no=pointer.change_no,
            last_key=pointer.last_key,
            author=author,
            at=datetime.now(UTC),
        )
        planner.make(changes)
        return planner.plan()

    def _write(self, plan: Plan, pointer: Pointer) -> None:
        """Write what was planned, then name it. The lock is held."""
        rows = documents_table(plan.rows, self.spec, dimension=pointer.dimension)
        self._tables.put_by(dict(plan.spare), pointer.model_id)
        log_version = self._tables.write_log(pointer, plan.log)
        version = self._tables.write(pointer, gone=plan.gone, rows=rows)
        self._tables.commit(
            dataclasses.replace(pointer, change_no=plan.change_no, last_key=plan.last_key, documents_version=version)
        )
        self._tables.settle_log(log_version)

    def _bring_up(self, pointer: Pointer, model: ModelId | None) -> Pointer:
        """Write the documents anew where the spec or the model is another. The lock is held."""
        model = model or pointer.model_id
        if (pointer.spec_digest, pointer.model_id) == (self.spec.digest, model):
            return pointer
        rows = self._rows_to_rewrite(pointer, with_vectors=model == pointer.model_id)
        dimension = model.dimension if model else None
        version = self._tables.overwrite(documents_table(rows, self.spec, dimension=dimension))
        renewed = dataclasses.replace(
            pointer,
            spec_digest=self.spec.digest,
            model=model.name if model else None,
            dimension=dimension,
            generation=pointer.generation + 1,
            documents_version=version,
            compacted_version=version,
        )
        self._tables.commit(renewed)
        return renewed

    def _rows_to_rewrite(self, pointer: Pointer, *, with_vectors: bool) -> list[DocumentRow]:
        """Return every document, to be written under another spec, or without vectors for another model."""
        columns = ["key", "change_no", "id", "body"]
        if with_vectors and pointer.model is not None:
            columns += ["digest", "vector"]
        rows = self._tables.select(self._tables.documents(pointer), columns)
        return [_document_row(row, self.spec) for row in rows.to_pylist()]

    def _refreshed(self, pointer: Pointer) -> LanceView:
        """Return a view of this state, on the base of the last one where that will do."""
        table = self._tables.documents(pointer)
        addresses = self._addresses(table)
        base = self._find_base(pointer, addresses) or self._load_segment(table, pointer)
        return LanceView(
            spec=self.spec,
            table=table,
            addresses=addresses,
            base=base,
            tail=self._load_segment(table, pointer, after=base.change_no),
            base_alive=_alive(base, addresses),
            model=pointer.model_id,
            change_no=pointer.change_no,
        )

    def _addresses(self, table: Table) -> Addresses:
        rows = self._tables.select(table, ["key", "change_no", "_rowid"])
        order = np.argsort(rows["key"].to_numpy())
        keys, change_nos, row_ids = (rows[name].to_numpy()[order] for name in ("key", "change_no", "_rowid"))
        return Addresses(keys=keys, change_nos=change_nos, row_ids=row_ids)

    def _find_base(self, pointer: Pointer, addresses: Addresses) -> Segment | None:
        """Return the base that is loaded, or None where there is none of this generation, or too much has changed."""
        if self._view is None or self._seen is None or self._seen.generation != pointer.generation:
            return None
        base = self._view.base
        waiting = np.count_nonzero(addresses.change_nos > base.change_no)
        is_near = base.change_no <= pointer.change_no and waiting <= max(TAIL_ROWS, TAIL_SHARE * base.columns.size)
        return base if is_near else None

    def _load_segment(self, table: Table, pointer: Pointer, *, after: int = 0) -> Segment:
        """Load the rows that were written after a change; all of them after none."""
        columns = indexed_columns(table.schema)
        if after >= pointer.change_no:
            rows = table.schema.empty_table().select(columns)
        else:
            rows = self._tables.select(table, columns, where=col("change_no") > after if after else None)
        by_key = pa.array(np.argsort(rows["key"].to_numpy()))
        return build_segment(rows.take(by_key), self.spec, change_no=pointer.change_no)


def _alive(base: Segment, addresses: Addresses) -> Mask | None:
    """Return which rows of the base still hold, or None when all do."""
    unchanged = addresses.keys[addresses.change_nos <= base.change_no]
    alive = np.isin(base.keys, unchanged, assume_unique=True)
    return None if alive.all() else alive


def _document_row(row: dict[str, Any], spec: CatalogueSpec) -> DocumentRow:
    vector = row.get("vector")
    return DocumentRow(
        key=Key(row["key"]),
        change_no=row["change_no"],
        record=decode_record(RecordId(row["id"]), row["body"], spec),
        body=row["body"],
        digest=row.get("digest"),
        vector=None if vector is None else np.array(vector, dtype=np.float32),
    )
