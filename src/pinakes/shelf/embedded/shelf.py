"""The embedded shelf in a folder: opens the parts, updates the indexes to the store, returns snapshots.

    FOLDER/records.sqlite     the truth
    FOLDER/index/VERSION/     derived: text/ (tantivy), base-N/ (a segment), CURRENT (names the base)
    FOLDER/lock               held while anything is written

A write is one transaction of the store (`apply`), then the indexes follow (`publish`). A reader that finds them stale
updates them, so a process killed between the two loses nothing. Changes since the base segment was built are a small
tail in memory; when the tail has grown, a new base is built beside the old one and swapped in.
"""

import dataclasses
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import BusyError, ExpectedError, StorageError
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import WHOLE
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.embedded.base_folder import BaseFolder, size_of
from pinakes.shelf.embedded.index_check import check_index
from pinakes.shelf.embedded.index_process import IndexProcess, is_worthwhile, start_indexing
from pinakes.shelf.embedded.late_vectors import publish_late
from pinakes.shelf.embedded.segment import (
    DamagedIndexError,
    Segment,
    SegmentBuilder,
    SegmentRow,
    build_segment,
)
from pinakes.shelf.embedded.store import INDEXED_VECTORS, STORED_VECTORS, Store
from pinakes.shelf.embedded.text_index import TextIndex
from pinakes.shelf.embedded.view import EmbeddedView, alive_rows
from pinakes.shelf.lock import CatalogueLock, EmbeddingElsewhereError
from pinakes.shelf.port import (
    LOCAL,
    RECORDS_PART,
    Author,
    Change,
    Checkpoint,
    Problem,
    Put,
    ShelfDescription,
    ShelfReader,
    accept_any,
    never_stop,
)

STORE_FILE = "records.sqlite"
INDEX_FOLDER = "index"
WITHHELD_FILE = "update.lock"
"""Exists while an update is being judged: readers stay with the state before it."""
FORMER_INDEX_FOLDER = "index.former"
"""The index before a rebuild, until the new one is accepted."""
INDEX_FORMAT = 3

TAIL_ROWS = 1_000
TAIL_SHARE = 0.05
"""The tail may hold this many rows, or this share of the base, before a new base is built."""

READER_LOCK_TIMEOUT_S = 0.05
"""A reader updates stale indexes itself, unless another process writes: then it answers from what they have reached."""
SWAP_ATTEMPTS = 3
BEHIND = "another process is writing"
WRITER_LOCK_TIMEOUT_S = 10.0
READER_WAIT_S = 0.25
"""How long a reader without any snapshot waits for a writer before it is refused as busy."""
EMBEDDING_LOCK_FILE = "vectors.lock"

StepT = TypeVar("StepT")

logger = logging.getLogger(__name__)


class EmbeddedShelf:
    """Implements `BuildableShelf` and `ShelfWriter` on a folder."""

    def __init__(self, folder: Path, spec: CatalogueSpec) -> None:
        self.folder = folder
        self.spec = spec
        self.store = Store(folder / STORE_FILE, spec)
        self._index = folder / INDEX_FOLDER / f"{INDEX_FORMAT}-{spec.digest[:12]}"
        self._bases = BaseFolder(self._index)
        self._text: TextIndex | None = None
        self._view: EmbeddedView | None = None
        self._guard = threading.RLock()
        self._lock = CatalogueLock(folder, spec.name)
        self._embedding = CatalogueLock(folder, spec.name, file=EMBEDDING_LOCK_FILE)
        self._is_withholding = False
        self._exclusive = 0
        self._indexing: IndexProcess | None = None

    @classmethod
    def create(cls, folder: Path, spec: CatalogueSpec, *, model: ModelId | None) -> "EmbeddedShelf":
        """Open the shelf in this folder for writing, with vectors of this model; create it where it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        shelf = cls(folder, spec)
        shelf._create(model)
        return shelf

    def switch_model(self, model: ModelId) -> None:
        """Use the stored vectors of another model from now on."""
        self._create(model)

    def _create(self, model: ModelId | None) -> None:
        with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:
            if self.store.create(model):
                shutil.rmtree(self.folder / INDEX_FOLDER, ignore_errors=True)  # it has the vectors of the other model
                self._view = self._text = None

    @classmethod
    def open(cls, folder: Path, spec: CatalogueSpec) -> "EmbeddedShelf":
        """Open the shelf in this folder, or raise StorageError where its file is missing."""
        if not (folder / STORE_FILE).is_file():
            raise StorageError(
                f"{folder.name}/{STORE_FILE} is missing; put it back from a back-up, or move the catalogue's folder "
                "away and add it again"
            )
        shelf = cls(folder, spec)
        shelf.store.require_tables()
        return shelf

    def close(self) -> None:
        """Close files and connections."""
        with self._guard:
            self.store.close()
            self._view = self._text = None

    def writer(self) -> "EmbeddedShelf":
        """Return the writing side: the shelf itself."""
        return self

    def reader(self) -> EmbeddedView:
        """Return a snapshot of the present state, or a stale one, marked so, where an update would take long."""
        with self._guard:
            if self._view is None or self._view.state != self.store.state():
                self._view = self._refreshed_or_stale()
            if self._view is not None:
                return self._view
        # Locks are taken in the order of `publish`, so that the two cannot deadlock.
        with self._lock.held(READER_WAIT_S), self._guard:
            self._view = self._rebuilding_if_damaged(self._caught_up)
            return self._view

    def find_reader(self) -> EmbeddedView | None:
        """Return the kept snapshot if it has the store's last change; takes no lock, and some µs."""
        view = self._view
        return view if view is not None and view.state == self.store.find_state() else None

    def history(self) -> Store:
        """Return the change log, which the store keeps."""
        return self.store

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author = LOCAL,
        expected: Mapping[RecordId, int] | None = None,
    ) -> int:
        """Commit the changes durably, all or none, and return the number of the last change."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            last = self.store.apply(changes, author, expected=expected)
            self._index_meanwhile(last)
            return last

    def publish(self) -> None:
        """Update every index to the store; build a new base segment if the tail has grown."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:  # in this order: readers never wait for the lock
            self._end_indexing()
            self._rebuilding_if_damaged(self._catch_up)

    def missing_embeddings(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return the digests without a stored vector."""
        return {digest for digest in digests if not self.store.has_embedding(digest)}

    def missing_vectors(self, digests: Iterable[bytes], model: ModelId) -> set[bytes]:
        """Return the digests without a stored vector of a model, which need not be the present one."""
        return {digest for digest in digests if not self.store.has_embedding(digest, model)}

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one; readers see none of it until `create` switches."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            self.store.keep_vectors(model, vectors)

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of the puts that would change nothing; a vector that is still to come is no change."""
        return self.store.unchanged(puts)

    def count_unembedded(self) -> int:
        """Return how many different texts have no vector yet."""
        return self.store.count_unembedded()

    def list_unembedded(self, *, after: Key | None = None, limit: int) -> list[tuple[Key, Record]]:
        """Return records without a vector that follow a key, in key order; some may have no text."""
        return self.store.list_unembedded(after=after, limit=limit)

    def add_vectors(self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]) -> int:
        """Store vectors of texts durably, and return how many of these records still have that text."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            return self.store.add_vectors(digests, vectors)

    def sole_embedder(self, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold the right to add vectors, which keeps no reader or writer waiting."""
        return self._embedding.held(wait_s, error_type=EmbeddingElsewhereError)

    def publish_vectors(self) -> None:
        """Add the vectors that were stored since to the index; the lock is held for the swap alone."""
        if self._bases.name() is None or self.store.model() is None:
            self.publish()
            return
        if any(publish_late(self.store, self._bases, self._swap_in) for _ in range(SWAP_ATTEMPTS)):
            return
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            publish_late(self.store, self._bases, self._swap_in)

    def _swap_in(self, fresh: Path, name: str, former: str) -> bool:
        """Replace the base, unless another process has done so since; tell whether it was replaced."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:
            if self._bases.name() != former:
                return False
            self._bases.swap_in(fresh, name)
            return True

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        """Return the present record of each id, None for a deleted one."""
        return self.store.current_or_deleted(ids)

    def _rebuilding_if_damaged(self, step: Callable[[], StepT]) -> StepT:
        """Run a step that reads the index; where that is damaged, retry under the lock, then rebuild the index."""
        try:
            return step()
        except DamagedIndexError:
            self._text = None
            self._require_own_spec()
        with self._lock.held(READER_WAIT_S):
            try:
                return step()  # another process may have been swapping it
            except DamagedIndexError as error:
                logger.warning("the index of catalogue '%s' is rebuilt: %s", self.spec.name, error.message)
            self._text = None
            shutil.rmtree(self._index, ignore_errors=True)
            return step()

    def _refreshed_or_stale(self) -> EmbeddedView | None:
        """Refresh the snapshot; where the index is being replaced and its writer does not let us, keep the last one."""
        try:
            return self._rebuilding_if_damaged(self._refreshed)
        except BusyError:
            if self._view is None:
                raise
            return dataclasses.replace(self._view, stale=BEHIND)

    def _require_own_spec(self) -> None:
        """Raise BusyError where the index that was open is gone, and there is one of another spec in its place."""
        if self._view is not None and not self._bases.name() and any(self._index.parent.glob("*/text")):
            raise BusyError(f"catalogue '{self.spec.name}' was just built by another spec; ask again")

    def _refreshed(self) -> EmbeddedView | None:
        """Return a current snapshot; while another process writes, a stale one, or None where none is kept."""
        if self._is_withheld():
            return None if self._view is None else dataclasses.replace(self._view, stale=BEHIND)
        if self._view is None:
            self._publish_left_vectors()
        view = self._find_view()
        if view is not None:
            return view
        try:
            with self._lock.held(READER_LOCK_TIMEOUT_S):
                return self._caught_up()
        except BusyError:
            known = self._view
            is_reached = known is not None and known.change_no == self.open_text().change_no()
            view = None if is_reached else self._find_view(may_be_behind=True)
            return view or (None if known is None else dataclasses.replace(known, stale=BEHIND))

    def _publish_left_vectors(self) -> None:
        """Publish the vectors that a process which was killed has stored, unless another one is embedding."""
        if self.store.counter(STORED_VECTORS) == self.store.counter(INDEXED_VECTORS):
            return
        with suppress(BusyError), self.sole_embedder(wait_s=0):
            self.publish_vectors()

    def _is_withheld(self) -> bool:
        """Tell whether another writer keeps its update from readers; a mark that was left behind is removed."""
        mark = self.folder / WITHHELD_FILE
        if self._is_withholding or not mark.exists():
            return False
        try:
            with self._lock.held(READER_LOCK_TIMEOUT_S):
                mark.unlink(missing_ok=True)
        except BusyError:
            return True
        return False

    def _caught_up(self) -> EmbeddedView:
        """Update every index and return a current snapshot. The lock is held."""
        self._catch_up()
        view = self._find_view()
        if view is None:
            raise DamagedIndexError(f"the index of '{self.folder.name}' is ahead of the store")
        return view

    def _find_view(self, *, may_be_behind: bool = False) -> EmbeddedView | None:
        """Return a snapshot of the state that the indexes have reached, or None where they lag behind the store.

        An edit is acknowledged after the indexes have reached it, so a stale snapshot has every acknowledged edit.
        """
        text = self.open_text()
        text.reload()
        with self.store.snapshot():
            change_no, last = text.change_no(), self.store.change_no()
            base = self._find_base()
            if base is None or not base.change_no <= change_no <= last or (change_no < last and not may_be_behind):
                return None
            model, vector_no = self.store.model(), self.store.state().vector_no
            changed = self.store.changed_since(base.change_no, until=change_no)
            tail = build_segment(
                self.store.iter_rows_as_of(changed, change_no),
                self.spec,
                change_no=change_no,
                model=model,
                mean=base.mean,
            )
        return EmbeddedView(
            spec=self.spec,
            store=self.store,
            text=text,
            searcher=text.searcher,
            base=base,
            tail=tail,
            base_alive=alive_rows(base, changed),
            model=model,
            change_no=change_no,
            vector_no=vector_no,
            stale=BEHIND if change_no < last else None,
        )

    def _catch_up(self) -> None:
        """Update every index to the store. The lock is held."""
        if self._bases.name() is None and not self.open_text().change_no() and self.store.change_no():
            self._build_first(self.store.iter_rows())
        else:
            self._catch_up_text()
            self._renew_base()

    def _build_first(self, rows: Iterable[SegmentRow]) -> None:
        """Build both indexes in one pass over all records. The lock is held."""
        builder = SegmentBuilder(self.spec, self.store.model())
        self.open_text().build(map(builder.added, rows), change_no=self.store.change_no)
        vector_no = self.store.counter(STORED_VECTORS)
        self._bases.swap(builder.build(self.store.change_no(), vector_no))
        self.store.note_indexed(vector_no)

    def _index_meanwhile(self, records: int) -> None:
        """Index the text of many new records while more are written. The lock is held until they are published."""
        if not self._exclusive or self._bases.name() is not None:
            return
        if self._indexing is None and is_worthwhile(records) and not self.open_text().change_no():
            self._indexing = start_indexing(self.folder, self.spec)
        if self._indexing is not None:
            self._indexing.note_written()

    def _end_indexing(self) -> None:
        """Build the base while the process that indexes text finishes, unless stored records were changed since."""
        indexing, self._indexing = self._indexing, None
        if indexing is None:
            return
        with closing(indexing):
            if self.store.change_no() != self.store.count():
                return
            indexing.note_all()
            self._renew_base()
            if not indexing.finish():
                logger.warning("the text index of catalogue '%s' is built again: its process failed", self.spec.name)

    def _catch_up_text(self) -> None:
        """Index the changes after the text index's marker. The lock is held."""
        text = self.open_text()
        text.reload()
        reached, wanted = text.change_no(), self.store.change_no()
        if reached < wanted:
            touched = self.store.changed_since(reached)
            text.update(touched, self.store.iter_rows(touched if reached else None), change_no=wanted)

    def _renew_base(self) -> None:
        """Build a new base segment where none exists or the tail has outgrown it. The lock is held."""
        base = self._find_base()
        if base is not None:
            waiting = len(self.store.changed_since(base.change_no))
            if waiting <= max(TAIL_ROWS, TAIL_SHARE * base.columns.size):
                return
        model, change_no = self.store.model(), self.store.change_no()
        vector_no = self.store.counter(STORED_VECTORS)  # before the rows: they may have more, and never less
        rows = self.store.iter_rows()
        segment = build_segment(rows, self.spec, change_no=change_no, model=model, vector_no=vector_no)
        self._bases.swap(segment)
        self.store.note_indexed(vector_no)

    def _find_base(self) -> Segment | None:
        """Return the current base, mapped once for each generation, or None where none was built yet."""
        name = self._bases.name()
        if name is None:
            return None
        if self._view is not None and self._view.base.name == name:
            return self._view.base
        return self._bases.open(name)

    def open_text(self) -> TextIndex:
        """Return the text index, opened once."""
        if self._text is None:
            self._text = TextIndex(self._index / "text", self.spec)
        return self._text

    def check(self, *, checkpoint: Checkpoint = never_stop) -> Iterator[Problem]:
        """Yield the faults of the file, or else those of the records and the indexes."""
        damage = self.store.check(checkpoint)
        if damage:
            yield from damage
            return
        try:
            yield from check_index(self.reader(), checkpoint)
        except StorageError as error:
            yield Problem.from_error(RECORDS_PART, error)

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Build the indexes anew beside the views that are in use, and return how many records are indexed."""
        with closing(EmbeddedShelf(self.folder, self.spec)) as other, other.exclusive():
            other._replace_index(accept)
            records = other.store.count()
        with self._guard:
            self._view = self._text = None
        return records

    def _replace_index(self, accept: Callable[[ShelfReader], None]) -> None:
        """Build a new index, and put the former one back where it is not accepted. The lock is held."""
        index, former = self.folder / INDEX_FOLDER, self.folder / FORMER_INDEX_FOLDER
        shutil.rmtree(former, ignore_errors=True)
        if index.is_dir():
            os.replace(index, former)
        try:
            self.publish()  # stopped before this, the next reader does it
            accept(self.reader())
        except ExpectedError:
            shutil.rmtree(index, ignore_errors=True)
            if former.is_dir():
                os.replace(former, index)
            raise
        shutil.rmtree(former, ignore_errors=True)

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""
        view = self.reader()
        return ShelfDescription(
            kind="embedded",
            records=view.count(WHOLE),
            change_no=view.change_no,
            stale=view.stale,
            model=view.model,
            index_bytes=size_of(self.folder / INDEX_FOLDER),
            sqlite_file=self.store.path,
            counters=view.counters(),
        )

    def is_empty(self) -> bool:
        """Tell whether the shelf has no record."""
        return not self.store.count()

    @contextmanager
    def withheld(self) -> Iterator[None]:
        """Keep other readers at the state before until the block ends. The lock is held."""
        mark = self.folder / WITHHELD_FILE
        mark.touch()
        self._is_withholding = True
        try:
            yield
        finally:
            self._is_withholding = False
            mark.unlink(missing_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write lock over several steps."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            self._exclusive += 1
            try:
                yield
            finally:
                self._exclusive -= 1
                if self._indexing is not None and not self._exclusive:
                    self._indexing.close()
                    self._indexing = None
