"""The index in a catalogue's folder, as readers meet it: snapshots, also while others write, and
repair.

    FOLDER/index/VERSION/     derived: text/ (tantivy), base-N/ (a segment), CURRENT (its name)

A reader that finds the index behind the store updates it. Changes since the base segment was built
are small tails in memory; when they have grown, a new base is built beside the old one and swapped
in. What is damaged is moved aside and built again.
"""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TypeVar

from stackroom.errors import BusyError, ExpectedError, StorageError
from stackroom.shelf.catalogue_folder import (
    READER_LOCK_TIMEOUT_S,
    READER_WAIT_S,
    WRITER_LOCK_TIMEOUT_S,
    CatalogueFolder,
)
from stackroom.shelf.catalogue_shelf import Index
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
from stackroom.shelf.embedded.shelf_index import BEHIND, INDEX_FOLDER, ShelfIndex
from stackroom.shelf.embedded.store import INDEXED_VECTORS, STORED_VECTORS
from stackroom.shelf.port import (
    INDEX_PART,
    RECORDS_PART,
    Change,
    Checkpoint,
    Problem,
    ShelfReader,
    accept_any,
    never_stop,
)
from stackroom.shelf.sqlite_files import scratch_folder

FORMER_INDEX_FOLDER = "index.former"  # the index before a rebuild, until the new one is accepted
SWAP_ATTEMPTS = 3
UNWRITABLE_PAUSE_S = 1.0

StepT = TypeVar("StepT")

logger = logging.getLogger(__name__)


class FolderIndex(Index):
    """Implements `Index` on files in a catalogue's folder."""

    kind = "embedded"

    def __init__(self, place: CatalogueFolder) -> None:
        super().__init__(place)
        self.folder = place.path
        self.files = ShelfIndex.in_folder(self.folder, self.spec, self.store)
        self.rebuilt = ""
        """The reason of a rebuild that was not reported yet."""
        self._unwritable, self._unwritable_until = "", 0.0
        """The reason why the index could not be written, and the time until which readers do not
        try again.
        """
        self._indexing: IndexProcess | None = None

    def close(self) -> None:
        """Close the index, and the store under a seal."""
        with self._place.guard:
            if self.store.has_written and not self._place.lock.is_held():
                with suppress(StorageError):
                    seal_store(
                        self.store,
                        lambda: self._place.lock.held(READER_LOCK_TIMEOUT_S),
                        never_stop,
                    )
            self.store.close()
            self._forget()

    def drop(self) -> None:
        """Remove the index, which has the vectors of another model."""
        shutil.rmtree(self.folder / INDEX_FOLDER, ignore_errors=True)
        self._forget()

    def _forget(self) -> None:
        self._view = None
        self.files.forget()

    def size_bytes(self) -> int:
        """Return the size of the index."""
        return size_of(self.folder / INDEX_FOLDER)

    def _is_current(self, view: IndexedView | None) -> bool:
        """Tell whether a snapshot has the store's last change and the published vectors."""
        state = self.store.state()  # a copy follows by it, also where there is no view yet
        is_same = view is not None and view.state == state
        has_failed = self.files.text is not None and self.files.text.has_failed
        return is_same and not has_failed and not self.store.has_unpublished_vectors()

    def note_written(self, changes: Sequence[Change], last: int) -> None:
        """Index many new records in another process while more are written. The lock is held until
        they are published.
        """
        if not self._place.exclusive_blocks or self.files.bases.name() is not None:
            return
        if (
            self._indexing is None
            and is_worthwhile(last)
            and not self.files.open_text().change_no()
        ):
            self._indexing = start_indexing(self.folder, self.spec)
        if self._indexing is not None:
            self._indexing.note_written(changes, last, has_vectors=self.store.has_vectors())

    def end_block(self) -> None:
        """End the process that indexes records, if they were not published."""
        if self._indexing is not None:
            self._indexing.close()
            self._indexing = None

    def publish(self) -> None:
        """Update every index to the store; build a new base segment if the tail has grown."""
        # in this order: readers never wait for the lock
        with self._place.writing(), self._place.guard:
            self._end_indexing()
            self._rebuilding_if_damaged(self.files.catch_up)

    def publish_vectors(self) -> None:
        """Add the vectors stored since the last publication to the index; hold the lock for the
        swap alone.
        """
        if self.files.bases.name() is None or self.store.model() is None:
            self.publish()
            return
        if not any(self._publish_late() for _ in range(SWAP_ATTEMPTS)):
            with self._place.writing():
                self._publish_late()

    def _publish_late(self) -> bool:
        """Write the base again with the present vectors; return False if another process has
        replaced it meanwhile.
        """
        bases, model = self.files.bases, self.store.model()
        vector_no, name = self.store.counter(STORED_VECTORS), bases.name()
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
            with self._place.writing(), self._place.guard:
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
            if self.files.text is not None and self.files.text.has_failed:
                self.files.require_sound()
            return step()
        except DamagedIndexError:
            self.files.forget()
            if (
                self._view is not None
                and not self.files.bases.name()
                and any(self.files.folder.parent.glob("*/text"))
            ):
                raise BusyError(
                    f"catalogue '{self.folder.name}' was just built by another spec; ask again"
                ) from None
        with self._place.lock.held(READER_WAIT_S):
            try:
                return step()  # another process may have been swapping it
            except DamagedIndexError as error:
                self._put_aside(error.message)
            return step()

    def _put_aside(self, reason: str) -> None:
        """Move the damaged index aside, so that the next step builds another. The lock is held."""
        logger.warning("the index of catalogue '%s' is rebuilt: %s", self.folder.name, reason)
        self.rebuilt = reason
        self.files.forget()
        if self.files.folder.exists():
            quarantine(self.folder, self.files.folder)
        # gives them another number, so that every process opens the new index
        self.store.add_vectors({}, {})

    def _refreshed_or_stale(self) -> IndexedView | None:
        """Refresh the snapshot; keep the last one while another process replaces the index."""
        former = self._view
        if self._place.has_other_spec(is_first=former is None) and former is not None:
            return former.as_stale(BEHIND)
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
            if (view := self.files.find_view()) is not None:
                return view
        except DamagedIndexError as error:
            logger.warning(
                "the index of catalogue '%s' is not used: %s", self.folder.name, error.message
            )
        self.files = ShelfIndex(scratch_folder(self) / INDEX_FOLDER, self.spec, self.store)
        return self._caught_up()

    def _refreshed(self) -> IndexedView | None:
        """Return a current snapshot; while another process writes, a stale one, or None if none is
        kept.
        """
        if self._place.is_withheld():
            return None if self._view is None else self._view.as_stale(BEHIND)
        if self.store.has_unpublished_vectors():
            with suppress(BusyError):
                self.publish_vectors()
        elif self._view is None and self.store.counter(STORED_VECTORS) != self.store.counter(
            INDEXED_VECTORS
        ):
            # of a process that was killed
            with suppress(BusyError), self._place.sole_embedder(wait_s=0):
                self.publish_vectors()
        if (view := self.files.find_view()) is not None:
            return view
        if time.monotonic() < self._unwritable_until:
            return self._reached_view(self._unwritable)
        try:
            with self._place.lock.held(READER_LOCK_TIMEOUT_S):
                return self._caught_up()
        except BusyError:
            return self._reached_view(BEHIND)
        except UnwritableIndexError as error:
            self._unwritable = error.message
            self._unwritable_until = time.monotonic() + UNWRITABLE_PAUSE_S
            return self._reached_view(error.message)

    def _reached_view(self, reason: str) -> IndexedView | None:
        """Return a snapshot of what the indexes have reached, marked as stale, or None if they have
        nothing.
        """
        known = self._view
        is_reached = known is not None and known.change_no == self.files.open_text().change_no()
        view = (None if is_reached else self.files.find_view(may_be_behind=True)) or known
        return None if view is None else view.as_stale(reason)

    def _first_view(self) -> IndexedView:
        """Return a snapshot; a damaged index is built anew."""
        return self._rebuilding_if_damaged(self._caught_up)

    def _caught_up(self) -> IndexedView:
        """Update every index and return a current snapshot. The lock is held."""
        self.files.catch_up()
        view = self.files.find_view()
        if view is None:
            raise DamagedIndexError(f"the index of '{self.folder.name}' is ahead of the store")
        return view

    def _end_indexing(self) -> None:
        """Let the process that indexes the records finish, unless stored ones were changed
        since.
        """
        indexing, self._indexing = self._indexing, None
        if indexing is None:
            return
        with closing(indexing):
            records = self.store.count()
            if self.store.change_no() == records and not indexing.finish(records):
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
            self.files.require_sound(pace=checkpoint)
        except DamagedIndexError:
            if self.store.is_read_only:
                raise
            with suppress(BusyError), self._place.lock.held(wait_s):
                self.files.require_sound()  # another process may have been replacing it

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
            with self._place.guard:
                if self._view is not None:  # goes on answering, and says so
                    self._view = self._view.as_stale(f"its index is being rebuilt: {error.message}")
            with self._beside() as other:
                other._put_aside(error.message)
                other.publish()
            done.append(f"the index was rebuilt from the records: {error.message}")
        with suppress(BusyError), self._place.lock.held(READER_LOCK_TIMEOUT_S):
            self.files.add_missing_sums()
        try:
            self.reader()  # rebuilds an index that cannot be opened
        except StorageError:
            return done  # the check says why
        if self.rebuilt:
            done.append(f"the index was rebuilt from the records: {self.rebuilt}")
            self.rebuilt = ""
        return done + mend_store(self.store, self._place.writing, checkpoint)

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Rebuild the indexes beside the views that are in use, and return how many records are
        indexed.
        """
        with self._beside() as other:
            other._replace_index(accept)
            return other.store.count()

    @contextmanager
    def _beside(self) -> Iterator["FolderIndex"]:
        """Open the index a second time, under the lock; this one opens its files again
        afterwards.
        """
        again = self._place.open_again()
        with closing(FolderIndex(again)) as other, again.exclusive():
            yield other
        with self._place.guard:
            self._forget()

    def _replace_index(self, accept: Callable[[ShelfReader], None]) -> None:
        """Build a new index, and put the former one back if it is not accepted. The
        lock is held.
        """
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
