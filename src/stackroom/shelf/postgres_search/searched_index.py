"""The index of a catalogue in PostgreSQL, which follows the records of its store there."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from stackroom.errors import BusyError, ExpectedError, StorageError
from stackroom.model.hits import Promises
from stackroom.shelf.catalogue_folder import (
    READER_LOCK_TIMEOUT_S,
    READER_WAIT_S,
    WRITER_LOCK_TIMEOUT_S,
    CatalogueFolder,
)
from stackroom.shelf.catalogue_shelf import Index
from stackroom.shelf.embedded.checks import IndexedView, check_index, damaged_records
from stackroom.shelf.embedded.shelf_index import BEHIND
from stackroom.shelf.port import (
    RECORDS_PART,
    Checkpoint,
    Problem,
    ShelfReader,
    accept_any,
    never_stop,
)
from stackroom.shelf.postgres_search.database import Connections, Generations, Snapshot
from stackroom.shelf.postgres_search.filters import AudienceClass
from stackroom.shelf.postgres_search.index import SearchIndex
from stackroom.shelf.postgres_search.remote_store import RemoteStore
from stackroom.shelf.postgres_search.view import PostgresqlView
from stackroom.shelf.store_place import StorePlace

SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relnamespace ="
    " %s::regnamespace"
)


class PostgresqlIndex(Index):
    """Implements `Index`, with the second tier of the contract."""

    kind = "postgresql"
    store: RemoteStore

    def __init__(self, place: CatalogueFolder, database: StorePlace) -> None:
        super().__init__(place)
        self.promises = Promises()
        self._connections = Connections(database.url, database.schema)
        self._generations = Generations(self._connections, database.schema)
        self.search = SearchIndex(self._generations, self.spec, self.store, parts=database.parts)

    def drop(self) -> None:
        """Forget the snapshot; the next catching up builds an index with the other vectors."""
        self._view = None

    def publish(self) -> None:
        """Bring the index up to the store."""
        with self._place.writing():
            self.search.catch_up(wait_s=WRITER_LOCK_TIMEOUT_S)

    def publish_vectors(self) -> None:
        """Add the vectors that were stored since to the index."""
        self.publish()

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Build the index again beside the one in use, and return how many records are indexed."""
        with (
            self._place.writing(),
            self.search.alone(wait_s=WRITER_LOCK_TIMEOUT_S),
        ):
            generation = self.search.build()
            view = self._view_of(Snapshot(self._generations, built=generation))
            try:
                accept(view)
            except ExpectedError:
                view.snapshot.close()
                self._generations.drop_former()
                raise
            view.snapshot.close()
            self.search.publish(generation)
            self._view = None
            return self.store.count()

    def check(
        self, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
    ) -> Iterator[Problem]:
        """Yield the faults of the index, and records without their checksum; PostgreSQL checks its
        own files.
        """
        checkpoint()
        try:
            yield from check_index(self.reader(), checkpoint) if thorough else ()
        except StorageError as error:
            yield Problem.from_error(RECORDS_PART, error)
        yield from damaged_records(self.store)

    def mend(self, *, checkpoint: Checkpoint = never_stop) -> list[str]:
        """Do nothing: there are no files that could be derived again."""
        checkpoint()
        return []

    def size_bytes(self) -> int:
        """Return how much of the disk the index takes."""
        schema = self._generations.schema(self.reader().counters()["generation"])
        with self._connections.writing() as db:
            ((size,),) = db.execute(SIZE, (schema,)).fetchall()
        return int(size)

    def join_build(self) -> None:
        """Take part in the build that another process has begun, until it is published."""
        self.search.join_build()

    def find_progress(self) -> Mapping[str, Any]:
        """Return how far the machines are that build the index together."""
        return self._generations.find_progress()

    def close(self) -> None:
        """Close the connections and the store."""
        with self._place.guard:
            self.store.close()
            self._view = None
        self._connections.close()

    def _is_current(self, view: IndexedView | None) -> bool:
        """Tell whether a snapshot has the store's last change and the vectors that were
        published.
        """
        if view is None:
            return False
        state = self.store.state()
        is_same = (view.change_no, view.state.history) == (state.change_no, state.history)
        return is_same and view.vector_no >= state.vector_no

    def _refreshed_or_stale(self) -> IndexedView | None:
        """Return a current snapshot; while another process writes, a stale one, or None if there is
        none.
        """
        former = self._view
        if former is not None and (
            self._place.is_withheld() or self._place.has_other_spec(is_first=False)
        ):
            return former.as_stale(BEHIND)
        view = self._find_view()
        is_of_history = former is not None and former.state.history == self.store.history()
        if is_of_history and self._is_current(view):
            return view
        with suppress(BusyError), self._place.lock.held(READER_LOCK_TIMEOUT_S):
            return self._first_view(wait_s=READER_LOCK_TIMEOUT_S)
        is_ahead = view is not None and view.change_no > self.store.state().change_no
        kept = former if view is None or is_ahead else view
        return None if kept is None else kept.as_stale(BEHIND)

    def _first_view(self, *, wait_s: float = READER_WAIT_S) -> IndexedView:
        """Bring the index up to the store, and return a snapshot. The lock is held."""
        self.search.catch_up(wait_s=wait_s)
        view = self._find_view()
        if view is None or view.change_no > self.store.state().change_no:
            raise BusyError(
                f"the index of catalogue '{self.spec.name}' was just replaced; ask again"
            )
        return view

    def _find_view(self) -> PostgresqlView | None:
        """Return a snapshot of what the index has reached, or None if there is no index of this
        spec.
        """
        snapshot = Snapshot(self._generations)
        if snapshot.digest != self.search.digest():
            snapshot.close()
            return None
        return self._view_of(snapshot)

    def _view_of(self, snapshot: Snapshot) -> PostgresqlView:
        rows = snapshot.rows("SELECT id, audiences, records, lengths FROM classes ORDER BY id")
        return PostgresqlView(
            spec=self.spec,
            store=self.store,
            snapshot=snapshot,
            model=self.store.model(),
            change_no=snapshot.reached.change_no,
            vector_no=snapshot.reached.vector_no,
            history=self.store.history(),
            promises=self.promises,
            records=sum(records for _, _, records, _ in rows),
            classes=[
                AudienceClass(number, frozenset(some), *counts) for number, some, *counts in rows
            ],
        )
