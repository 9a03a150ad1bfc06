"""The embedded shelf in a folder: opens the parts, updates the indexes to the store, returns
snapshots.

    FOLDER/records.sqlite     the truth, or a copy that follows it
    FOLDER/store.toml         names the database with the truth, where it is in one
    FOLDER/index/VERSION/     derived: text/ (tantivy), base-N/ (a segment), CURRENT (its name)
    FOLDER/lock               held while anything is written

A write is one transaction of the store (`apply`), then the indexes follow (`publish`). A reader
that finds them stale updates them, so a process killed between the two loses nothing. Changes since
the base segment was built are small tails in memory; when they have grown, a new base is built
beside the old one and swapped in.
"""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, ExpectedError, StorageError
from stackroom.library import PLACE_FILE
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.checks import (
    REBUILD,
    IndexedView,
    check_index,
    check_store,
    mend_store,
    seal_store,
)
from stackroom.shelf.embedded.index_files import quarantine, size_of
from stackroom.shelf.embedded.index_process import IndexProcess, is_worthwhile, start_indexing
from stackroom.shelf.embedded.segment import (
    DamagedIndexError,
    UnwritableIndexError,
    open_segment,
    with_late_vectors,
)
from stackroom.shelf.embedded.shelf_index import BEHIND, INDEX_FORMAT, ShelfIndex
from stackroom.shelf.embedded.store import INDEXED_VECTORS, STORED_VECTORS, Store, Switch
from stackroom.shelf.embedded.store_file import PUT_BACK
from stackroom.shelf.lock import EMBEDDING_LOCK_FILE, CatalogueLock, EmbeddingElsewhereError
from stackroom.shelf.port import (
    EVERY_KEY,
    INDEX_PART,
    LOCAL,
    RECORDS_PART,
    Author,
    Change,
    Checkpoint,
    KeyRange,
    Problem,
    ShelfDescription,
    ShelfReader,
    accept_any,
    never_stop,
)
from stackroom.shelf.sqlite_files import scratch_folder
from stackroom.shelf.store_place import SEARCHED, STORE_FILE, find_place, load_postgres, open_store

INDEX_FOLDER = "index"
# exists while an update is being judged: readers stay with the state before it
WITHHELD_FILE = "update.lock"
FORMER_INDEX_FOLDER = "index.former"  # the index before a rebuild, until the new one is accepted
WRITER_LOCK_TIMEOUT_S = 10.0
READER_LOCK_TIMEOUT_S = 0.05
"""A reader updates stale indexes itself, unless another process writes: then it answers from what
they have reached.
"""
SWAP_ATTEMPTS = 3
UNWRITABLE_PAUSE_S = 1.0
# how long a reader without any snapshot waits for a writer before it is refused as busy
READER_WAIT_S = 0.25

StepT = TypeVar("StepT")

logger = logging.getLogger(__name__)


class EmbeddedShelf:
    """Implements `BuildableShelf` and `ShelfWriter` on a folder."""

    def __init__(self, folder: Path, spec: CatalogueSpec) -> None:
        self.folder = folder
        self.spec = spec
        store = self.store = open_store(folder, spec)
        self.unchanged, self.current_or_deleted = store.unchanged, store.current_or_deleted
        self.count_unembedded, self.list_unembedded = store.count_unembedded, store.list_unembedded
        self._lock = CatalogueLock(folder, folder.name)
        self._embedding = CatalogueLock(folder, folder.name, file=EMBEDDING_LOCK_FILE)
        self._embeds_alone = False
        self.index = ShelfIndex(
            folder / INDEX_FOLDER / f"{INDEX_FORMAT}-{spec.digest[:12]}", spec, store
        )
        self._view: IndexedView | None = None
        self._guard = threading.RLock()
        self._is_withholding = False
        self._spec_mark = ""
        """The digest of the last release's spec when the first snapshot was made."""
        self.rebuilt = ""
        """The reason of a rebuild that was not reported yet."""
        self._unwritable, self._unwritable_until = "", 0.0
        """The reason why the index could not be written, and the time until which readers do not
        try again.
        """
        self._exclusive = 0
        self._indexing: IndexProcess | None = None

    @classmethod
    def create(cls, folder: Path, spec: CatalogueSpec, *, model: ModelId | None) -> "EmbeddedShelf":
        """Open the shelf in this folder for writing, with vectors of this model; create it if it is
        missing.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with cls._opening(folder, spec) as shelf:
            shelf.switch_model(model)
        return shelf

    def switch_model(self, model: ModelId | None) -> None:
        """Use the stored vectors of another model from now on; without a model, only create missing
        tables.
        """
        with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:
            if self.store.create(model):
                # it has the vectors of the other model
                shutil.rmtree(self.folder / INDEX_FOLDER, ignore_errors=True)
                self._forget()

    @classmethod
    def open(cls, folder: Path, spec: CatalogueSpec) -> "EmbeddedShelf":
        """Open the shelf in this folder, or raise StorageError if its file is missing."""
        if not (folder / STORE_FILE).is_file() and not (folder / PLACE_FILE).is_file():
            raise StorageError(f"{folder.name}/{STORE_FILE} is missing; {PUT_BACK}")
        with cls._opening(folder, spec) as shelf:
            shelf.store.require_tables()
        return shelf

    @classmethod
    @contextmanager
    def _opening(cls, folder: Path, spec: CatalogueSpec) -> Iterator["EmbeddedShelf"]:
        """Make the object of a folder's shelf, and close it if the block fails."""
        with ExitStack() as stack:
            shelf = cls._class_for(folder)(folder, spec)
            stack.callback(shelf.close)
            yield shelf
            stack.pop_all()

    @classmethod
    def _class_for(cls, folder: Path) -> "type[EmbeddedShelf]":
        """Return this class, or `PostgresqlShelf` if the index of this folder's catalogue is in
        PostgreSQL.
        """
        place = find_place(folder)
        searched: type[EmbeddedShelf] = (
            load_postgres(SEARCHED).PostgresqlShelf if place and place.search else cls
        )
        return searched

    def close(self) -> None:
        """Close files and connections."""
        with self._guard:
            if self.store.has_written and not self._lock.is_held():
                with suppress(StorageError):
                    seal_store(
                        self.store, lambda: self._lock.held(READER_LOCK_TIMEOUT_S), never_stop
                    )
            self.store.close()
            self._forget()

    def _forget(self) -> None:
        self._view = None
        self.index.forget()

    def writer(self) -> "EmbeddedShelf":
        """Return the writing side: the shelf itself."""
        return self

    def reader(self) -> IndexedView:
        """Return a snapshot of the present state, or one marked as stale if an update would take
        long.
        """
        with self._guard:
            if not self._is_current(self._view):
                self._view = self._refreshed_or_stale()
            if self._view is not None:
                reason = self.store.why_stale()
                return self._view if reason is None else self._view.as_stale(reason)
        # Locks are taken in the order of `publish`, so that the two cannot deadlock.
        with self._lock.held(READER_WAIT_S), self._guard:
            self._view = self._rebuilding_if_damaged(self._caught_up)
            return self._view

    def _is_current(self, view: IndexedView | None) -> bool:
        """Tell whether a snapshot has the store's last change and the published vectors."""
        state = self.store.state()  # a copy follows by it, also where there is no view yet
        is_same = view is not None and view.state == state and not self.index.has_failed()
        return is_same and not self.store.has_unpublished_vectors()

    def find_reader(self) -> IndexedView | None:
        """Return the kept snapshot if it has the store's last change; takes microseconds and no
        lock.
        """
        view = self._view
        return view if view is not None and view.state == self.store.find_state() else None

    def history(self) -> Store:
        """Return the change log, which the store keeps."""
        self.store.state()  # has a copy follow
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
            self._index_meanwhile(changes, last)
            return last

    def apply_release(self, changes: Sequence[Change], switch: Switch, *, author: Author) -> int:
        """Commit the changes of a release with its model and spec, all or none, and return the last
        change number.
        """
        with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:
            # before the commit: a kill must leave no mix of vectors
            if switch.model not in (None, self.store.model()):
                shutil.rmtree(self.folder / INDEX_FOLDER, ignore_errors=True)
                self._forget()
            return self.store.apply(changes, author, switch=switch)  # commit point of a release

    def publish(self) -> None:
        """Update every index to the store; build a new base segment if the tail has grown."""
        # in this order: readers never wait for the lock
        with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:
            self._end_indexing()
            self._rebuilding_if_damaged(self.index.catch_up)

    def missing_embeddings(
        self, digests: Iterable[bytes], model: ModelId | None = None
    ) -> set[bytes]:
        """Return the digests without a stored vector of a model, by default the present one."""
        wanted = set(digests)
        return wanted - self.store.find_embedded(list(wanted), model)

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one; readers see none of it until
        `create` switches.
        """
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            self.store.keep_vectors(model, vectors)

    def add_vectors(
        self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]
    ) -> int:
        """Store vectors of texts durably, and return how many of these records still have that
        text.
        """
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            return self.store.add_vectors(digests, vectors)

    @contextmanager
    def sole_embedder(self, *, wait_s: float) -> Iterator[None]:
        """Hold the right to add vectors, which keeps no reader or writer waiting."""
        held, database = (
            self._embedding.held(wait_s, error_type=EmbeddingElsewhereError),
            self.store.database,
        )
        with held, database.sole_embedder(wait_s=wait_s) if database else nullcontext():
            former, self._embeds_alone = self._embeds_alone, True
            try:
                yield
            finally:
                self._embeds_alone = former

    @contextmanager
    def embedding_parts(self, *, wait_s: float) -> Iterator[Iterable[KeyRange]]:
        """Hold the right to embed the texts of some keys, one part after the other; other machines
        may embed the rest.
        """
        held = self._embedding.held(wait_s, error_type=EmbeddingElsewhereError)
        with held:
            # Whoever embeds alone keeps others away by a lock of the database, which parts would
            # wait for.
            alone = nullcontext((EVERY_KEY,)) if self._embeds_alone else None
            with alone or self.store.embedding_parts(wait_s=wait_s) as parts:
                yield parts

    def find_progress(self) -> Mapping[str, Any]:
        """Return the progress of the machines that share work on this catalogue; nothing without a
        database.
        """
        return self.store.database.find_progress() if self.store.database else {}

    def join_build(self) -> None:
        """Take part in the build of a shared index; an index in a folder is not shared, so do
        nothing.
        """

    def publish_vectors(self) -> None:
        """Add the vectors stored since the last publication to the index; hold the lock for the
        swap alone.
        """
        if self.index.bases.name() is None or self.store.model() is None:
            self.publish()
            return
        is_done = any(self._publish_late() for _ in range(SWAP_ATTEMPTS))
        if is_done and self.store.shared_index is None:
            return
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            if not is_done:
                self._publish_late()
            self.index.share()

    def _publish_late(self) -> bool:
        """Write the base again with the present vectors; return False if another process has
        replaced it meanwhile.
        """
        bases, vector_no, model = (
            self.index.bases,
            self.store.counter(STORED_VECTORS),
            self.store.model(),
        )
        name = bases.name()
        if name is None or model is None:
            return False
        try:
            base = open_segment(bases.folder / name)
        except DamagedIndexError:
            return False
        if base.vector_no < vector_no:
            rows = self.store.iter_vectors()
            base = with_late_vectors(
                base, rows, model=model, vector_no=vector_no, folder=bases.folder
            )
            fresh = bases.write_late(base, like=name)
            if fresh is None:
                return False
            with self._lock.held(WRITER_LOCK_TIMEOUT_S), self._guard:
                if bases.name() != name:
                    return False
                bases.swap_in(fresh, base.name)
        self.store.note_indexed(base.vector_no)
        return True

    def _rebuilding_if_damaged(self, step: Callable[[], StepT]) -> StepT:
        """Run a step that reads the index; if that is damaged, retry under the lock, then rebuild
        the index.
        """
        try:
            if self.index.has_failed():
                self.index.require_sound()
            return step()
        except DamagedIndexError:
            self.index.forget()
            if (
                self._view is not None
                and not self.index.bases.name()
                and any(self.index.folder.parent.glob("*/text"))
            ):
                raise BusyError(
                    f"catalogue '{self.folder.name}' was just built by another spec; ask again"
                ) from None
        with self._lock.held(READER_WAIT_S):
            try:
                return step()  # another process may have been swapping it
            except DamagedIndexError as error:
                self._put_aside(error.message)
            return step()

    def _put_aside(self, reason: str) -> None:
        """Move the damaged index aside, so that the next step builds another. The lock is held."""
        logger.warning("the index of catalogue '%s' is rebuilt: %s", self.folder.name, reason)
        self.rebuilt = reason
        self.index.forget()
        self.index.fetches = False
        if self.index.folder.exists():
            quarantine(self.folder, self.index.folder)
        # gives them another number, so that every process opens the new index
        self.store.add_vectors({}, {})

    def _refreshed_or_stale(self) -> IndexedView | None:
        """Refresh the snapshot; keep the last one while another process replaces the index."""
        if self._is_of_former_spec(self._view) and self._view is not None:
            return self._view.as_stale(BEHIND)
        if self.store.is_read_only:
            return self._unwritable_view()
        try:
            return self._rebuilding_if_damaged(self._refreshed)
        except BusyError:
            if self._view is None:
                raise
            return self._view.as_stale(BEHIND)

    def _unwritable_view(self) -> IndexedView:
        """Return a snapshot of a catalogue that cannot be written to; a missing index is built in
        another folder.
        """
        try:
            if (view := self.index.find_view()) is not None:
                return view
        except DamagedIndexError as error:
            logger.warning(
                "the index of catalogue '%s' is not used: %s", self.folder.name, error.message
            )
        self.index = ShelfIndex(scratch_folder(self) / INDEX_FOLDER, self.spec, self.store)
        return self._caught_up()

    def _refreshed(self) -> IndexedView | None:
        """Return a current snapshot; while another process writes, a stale one, or None if none is
        kept.
        """
        if self._is_withheld():
            return None if self._view is None else self._view.as_stale(BEHIND)
        if self.store.has_unpublished_vectors():
            with suppress(BusyError):
                self.publish_vectors()
        elif self._view is None and self.store.counter(STORED_VECTORS) != self.store.counter(
            INDEXED_VECTORS
        ):
            with suppress(BusyError), self.sole_embedder(wait_s=0):  # of a process that was killed
                self.publish_vectors()
        if (view := self.index.find_view()) is not None:
            return view
        if time.monotonic() < self._unwritable_until:
            return self._reached_view(self._unwritable)
        try:
            with self._lock.held(READER_LOCK_TIMEOUT_S):
                return self._caught_up()
        except BusyError:
            return self._reached_view(BEHIND)
        except UnwritableIndexError as error:
            self._unwritable, self._unwritable_until = (
                error.message,
                time.monotonic() + UNWRITABLE_PAUSE_S,
            )
            return self._reached_view(error.message)

    def _reached_view(self, reason: str) -> IndexedView | None:
        """Return a snapshot of what the indexes have reached, marked as stale, or None if they have
        nothing.
        """
        known = self._view
        is_reached = known is not None and known.change_no == self.index.open_text().change_no()
        view = (None if is_reached else self.index.find_view(may_be_behind=True)) or known
        return None if view is None else view.as_stale(reason)

    def _is_withheld(self) -> bool:
        """Tell whether another writer withholds its update from readers; remove a mark that a
        killed writer left.
        """
        mark = self.folder / WITHHELD_FILE
        if self._is_withholding or not mark.exists():
            return False
        try:
            with self._lock.held(READER_LOCK_TIMEOUT_S):
                mark.unlink(missing_ok=True)
        except BusyError:
            return True
        return False

    def _is_of_former_spec(self, view: IndexedView | None) -> bool:
        """Tell whether a release with another spec was installed since; the former view is right
        until that spec is opened.
        """
        mark = self.store.spec_mark()
        if view is None:
            self._spec_mark = mark
        return mark not in (self._spec_mark, self.spec.digest)

    def _caught_up(self) -> IndexedView:
        """Update every index and return a current snapshot. The lock is held."""
        self.index.catch_up()
        view = self.index.find_view()
        if view is None:
            raise DamagedIndexError(f"the index of '{self.folder.name}' is ahead of the store")
        return view

    def _index_meanwhile(self, changes: Sequence[Change], last: int) -> None:
        """Index many new records in another process while more are written. The lock is held until
        they are published.
        """
        if not self._exclusive or self.index.bases.name() is not None:
            return
        if (
            self._indexing is None
            and is_worthwhile(last)
            and not self.index.open_text().change_no()
        ):
            self._indexing = start_indexing(self.folder, self.spec)
        if self._indexing is not None:
            self._indexing.note_written(changes, last, has_vectors=self.store.has_vectors())

    def _end_indexing(self) -> None:
        """Let the process that indexes the records finish, unless stored ones were changed
        since.
        """
        indexing, self._indexing = self._indexing, None
        if indexing is None:
            return
        with closing(indexing):
            records = self.store.count()
            if self.store.change_no() != records:
                return
            if not indexing.finish(records):
                logger.warning(
                    "the index of catalogue '%s' is built again: its process failed",
                    self.folder.name,
                )

    def check(
        self, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
    ) -> Iterator[Problem]:
        """Yield the faults of the file and its rows, then those of the indexes: their checksums and
        their entries.
        """
        problems = list(check_store(self.store, checkpoint, thorough=thorough))
        yield from problems
        try:
            self._check_files(checkpoint, wait_s=READER_WAIT_S)
            if thorough and not problems:
                yield from check_index(self.reader(), checkpoint)
        except DamagedIndexError as error:
            yield Problem(part=INDEX_PART, message=error.message, advice=REBUILD)
        except StorageError as error:
            yield Problem.from_error(RECORDS_PART, error)

    def _check_files(self, checkpoint: Checkpoint, *, wait_s: float) -> None:
        """Raise DamagedIndexError if a file of the index does not have its checksum."""
        try:
            self.index.require_sound(pace=checkpoint)
        except DamagedIndexError:
            if self.store.is_read_only:
                raise
            with suppress(BusyError), self._lock.held(wait_s):
                self.index.require_sound()  # another process may have been replacing it

    def mend(self, *, checkpoint: Checkpoint = never_stop) -> list[str]:
        """Rebuild damaged files that can be derived, add missing checksums, and return what was
        done.
        """
        if self.store.is_read_only:
            return []
        done = []
        try:  # first, so that nothing reads what is damaged
            self._check_files(checkpoint, wait_s=WRITER_LOCK_TIMEOUT_S)
        except DamagedIndexError as error:
            with self._guard:
                if self._view is not None:  # goes on answering, and says so
                    self._view = self._view.as_stale(f"its index is being rebuilt: {error.message}")
            with self._beside() as other:
                other._put_aside(error.message)
                other.publish()
            done.append(f"the index was rebuilt from the records: {error.message}")
        with suppress(BusyError), self._lock.held(READER_LOCK_TIMEOUT_S):
            self.index.add_missing_sums()
        try:
            self.reader()  # rebuilds an index that cannot be opened
        except StorageError:
            return done  # the check says why
        if self.rebuilt:
            done.append(f"the index was rebuilt from the records: {self.rebuilt}")
            self.rebuilt = ""
        return [
            *done,
            *mend_store(self.store, lambda: self._lock.held(WRITER_LOCK_TIMEOUT_S), checkpoint),
        ]

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Rebuild the indexes beside the views that are in use, and return how many records are
        indexed.
        """
        with self._beside() as other:
            other._replace_index(accept)
            return other.store.count()

    @contextmanager
    def _beside(self) -> Iterator["EmbeddedShelf"]:
        """Open the shelf a second time, under the lock; this one opens its index again
        afterwards.
        """
        with closing(EmbeddedShelf(self.folder, self.spec)) as other, other.exclusive():
            yield other
        with self._guard:
            self._forget()

    def _replace_index(self, accept: Callable[[ShelfReader], None]) -> None:
        """Build a new index, and put the former one back if it is not accepted. The
        lock is held.
        """
        self.index.fetches = False
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
            is_read_only=self.store.is_read_only,
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
            with self.store.database.withheld() if self.store.database else nullcontext():
                yield
        finally:
            self._is_withholding = False
            mark.unlink(missing_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write lock over several steps."""
        database = self.store.database
        with (
            self._lock.held(WRITER_LOCK_TIMEOUT_S),
            database.exclusive() if database else nullcontext(),
        ):
            self._exclusive += 1
            try:
                yield
            finally:
                self._exclusive -= 1
                if self._indexing is not None and not self._exclusive:
                    self._indexing.close()
                    self._indexing = None
