"""A catalogue's shelf: the store of its records, and an index that follows the store and answers.

A write is one transaction of the store (`apply`), then the index follows (`publish`). A reader that
finds the index behind brings it up to the store, so a process killed between the two loses nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.catalogue_folder import READER_WAIT_S, CatalogueFolder
from stackroom.shelf.embedded.checks import IndexedView
from stackroom.shelf.embedded.store import Store, Switch
from stackroom.shelf.port import (
    LOCAL,
    Author,
    Change,
    Checkpoint,
    Problem,
    ShelfDescription,
    ShelfReader,
    accept_any,
    never_stop,
)


class Index(ABC):
    """The index of a store, and the snapshots of both."""

    kind: str

    def __init__(self, place: CatalogueFolder) -> None:
        self.spec, self.store = place.spec, place.store
        self._place = place
        self._view: IndexedView | None = None

    def reader(self) -> IndexedView:
        """Return a snapshot of the present state, or one marked as stale if an update would take
        long.
        """
        with self._place.guard:
            if not self._is_current(self._view):
                self._view = self._refreshed_or_stale()
            if self._view is not None:
                reason = self.store.why_stale()
                return self._view if reason is None else self._view.as_stale(reason)
        # Locks are taken in the order of `publish`, so that the two cannot deadlock.
        with self._place.lock.held(READER_WAIT_S), self._place.guard:
            self._view = self._first_view()
            return self._view

    def find_reader(self) -> IndexedView | None:
        """Return the kept snapshot if it has the store's last change; takes microseconds and no
        lock.
        """
        view = self._view
        return view if view is not None and view.state == self.store.find_state() else None

    @abstractmethod
    def _is_current(self, view: IndexedView | None) -> bool:
        """Tell whether a snapshot has the store's last change and the published vectors."""

    @abstractmethod
    def _refreshed_or_stale(self) -> IndexedView | None:
        """Return a current snapshot; while another process writes, a stale one, or None if there is
        none.
        """

    @abstractmethod
    def _first_view(self) -> IndexedView:
        """Bring the index up to the store, and return a snapshot. The lock is held."""

    def note_written(self, changes: Sequence[Change], last: int) -> None:  # noqa: B027
        """Take note of changes of which the store has just committed the last. The write lock is
        held.
        """

    def end_block(self) -> None:  # noqa: B027
        """Take note that the write lock is not held over several steps any more."""

    @abstractmethod
    def publish(self) -> None:
        """Bring the index up to the store."""

    @abstractmethod
    def publish_vectors(self) -> None:
        """Add the vectors that were stored since the last publication."""

    @abstractmethod
    def drop(self) -> None:
        """Remove an index with vectors of another model. The write lock and the guard are held."""

    @abstractmethod
    def check(
        self, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
    ) -> Iterator[Problem]:
        """Yield the faults of the store and of the index."""

    @abstractmethod
    def mend(self, *, checkpoint: Checkpoint = never_stop) -> list[str]:
        """Replace what is damaged and can be derived, and return what was done."""

    @abstractmethod
    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Build the index again beside the one in use, and return how many records are indexed."""

    @abstractmethod
    def size_bytes(self) -> int:
        """Return how much of the disk the index takes."""

    def join_build(self) -> None:  # noqa: B027
        """Take part in the build that another process has begun, until it is published."""

    def find_progress(self) -> Mapping[str, Any]:
        """Return how far the machines are that build the index together."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Close the index and the store."""


class CatalogueShelf:
    """Implements `BuildableShelf` and `ShelfWriter` on a store in a folder and an index of it."""

    def __init__(self, place: CatalogueFolder, index: Index) -> None:
        self.folder, self.spec, self.store = place.path, place.spec, place.store
        self.index = index
        self._place = place
        store = self.store
        self.unchanged, self.current_or_deleted = store.unchanged, store.current_or_deleted
        self.count_unembedded, self.list_unembedded = store.count_unembedded, store.list_unembedded
        self.sole_embedder, self.embedding_parts = place.sole_embedder, place.embedding_parts
        self.withheld = place.withheld
        self.reader, self.find_reader = index.reader, index.find_reader
        self.check, self.mend, self.rebuild = index.check, index.mend, index.rebuild
        self.join_build, self.close = index.join_build, index.close

    def switch_model(self, model: ModelId | None) -> None:
        """Use the stored vectors of another model from now on; without a model, only create missing
        tables.
        """
        with self._place.writing(), self._place.guard:
            if self.store.create(model):
                self.index.drop()

    def writer(self) -> "CatalogueShelf":
        """Return the writing side: the shelf itself."""
        return self

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
        with self._place.writing():
            last = self.store.apply(changes, author, expected=expected)
            self.index.note_written(changes, last)
            return last

    def apply_release(self, changes: Sequence[Change], switch: Switch, *, author: Author) -> int:
        """Commit the changes of a release with its model and spec, all or none, and return the last
        change number.
        """
        with self._place.writing(), self._place.guard:
            # before the commit: a kill must leave no mix of vectors
            if switch.model not in (None, self.store.model()):
                self.index.drop()
            return self.store.apply(changes, author, switch=switch)  # commit point of a release

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write lock over several steps."""
        with self._place.exclusive():
            try:
                yield
            finally:
                if self._place.exclusive_blocks == 1:
                    self.index.end_block()

    def publish(self) -> None:
        """Update every index to the store."""
        self.index.publish()

    def publish_vectors(self) -> None:
        """Add the vectors stored since the last publication to the index."""
        self.index.publish_vectors()

    def missing_embeddings(
        self, digests: Iterable[bytes], model: ModelId | None = None
    ) -> set[bytes]:
        """Return the digests without a stored vector of a model, by default the present one."""
        wanted = set(digests)
        return wanted - self.store.find_embedded(list(wanted), model)

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one; readers see none of it until
        `switch_model`.
        """
        with self._place.writing():
            self.store.keep_vectors(model, vectors)

    def add_vectors(
        self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]
    ) -> int:
        """Store vectors of texts durably, and return how many of these records still have that
        text.
        """
        with self._place.writing():
            return self.store.add_vectors(digests, vectors)

    def find_progress(self) -> Mapping[str, Any]:
        """Return the progress of the machines that share work on this catalogue; nothing without a
        database.
        """
        database = self.store.database
        embedding = database.find_progress() if database else {}
        return {**embedding, **self.index.find_progress()}

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""
        view, file = self.reader(), self.store.path
        return ShelfDescription(
            kind=self.index.kind,
            records=view.count(WHOLE),
            change_no=view.change_no,
            stale=view.stale,
            is_read_only=self.store.is_read_only,
            model=view.model,
            index_bytes=self.index.size_bytes(),
            sqlite_file=file if file.is_file() else None,
            counters=view.counters(),
        )

    def is_empty(self) -> bool:
        """Tell whether the shelf has no record."""
        return not self.store.count()
