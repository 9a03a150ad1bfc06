"""A shelf whose index is in PostgreSQL: the records are those of its store, which the index
follows.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, ExpectedError, InputError, StorageError
from stackroom.library import PLACE_FILE
from stackroom.model.hits import Promises
from stackroom.shelf.embedded.checks import IndexedView, check_index, damaged_records
from stackroom.shelf.embedded.shelf import (
    READER_LOCK_TIMEOUT_S,
    READER_WAIT_S,
    WRITER_LOCK_TIMEOUT_S,
    EmbeddedShelf,
)
from stackroom.shelf.embedded.shelf_index import BEHIND
from stackroom.shelf.port import (
    RECORDS_PART,
    Change,
    Checkpoint,
    Problem,
    ShelfDescription,
    ShelfReader,
    accept_any,
    never_stop,
)
from stackroom.shelf.postgres_search.database import Connections, Generations, Snapshot
from stackroom.shelf.postgres_search.filters import AudienceClass
from stackroom.shelf.postgres_search.index import SearchIndex
from stackroom.shelf.postgres_search.remote_store import RemoteStore
from stackroom.shelf.postgres_search.view import PostgresqlView
from stackroom.shelf.store_place import find_place

SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relnamespace ="
    " %s::regnamespace"
)


class PostgresqlShelf(EmbeddedShelf):
    """Implements `BuildableShelf` and `ShelfWriter`, with the second tier of the contract."""

    store: RemoteStore

    def __init__(self, folder: Path, spec: CatalogueSpec) -> None:
        place = find_place(folder)
        if place is None:
            raise InputError(
                f"{folder.name}/{PLACE_FILE} is missing; it names the database with the index"
            )
        super().__init__(folder, spec)
        self.promises = Promises()
        self._connections = Connections(place.url, place.schema)
        self._generations = Generations(self._connections, place.schema)
        self.search = SearchIndex(self._generations, spec, self.store, parts=place.parts)

    def publish(self) -> None:
        """Bring the index up to the store."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            self.search.catch_up(wait_s=WRITER_LOCK_TIMEOUT_S)

    def publish_vectors(self) -> None:
        """Add the vectors that were stored since to the index."""
        self.publish()

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Build the index again beside the one in use, and return how many records are indexed."""
        with (
            self._lock.held(WRITER_LOCK_TIMEOUT_S),
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
            self._forget()
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

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""
        told = super().describe()
        schema = self._generations.schema(told.counters["generation"])
        with self._connections.writing() as db:
            ((size,),) = db.execute(SIZE, (schema,)).fetchall()
        return dataclasses.replace(told, kind="postgresql", index_bytes=int(size), sqlite_file=None)

    def join_build(self) -> None:
        """Take part in the build that another process has begun, until it is published."""
        self.search.join_build()

    def find_progress(self) -> Mapping[str, Any]:
        """Return how far the machines are that embed texts or build the index together."""
        return {**super().find_progress(), **self._generations.find_progress()}

    def close(self) -> None:
        """Close files and connections."""
        super().close()
        self._connections.close()

    def _index_meanwhile(self, changes: Sequence[Change], last: int) -> None:
        """Do nothing: the index follows when it is published."""

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
        if former is not None and (self._is_withheld() or self._is_of_former_spec(former)):
            return former.as_stale(BEHIND)
        view = self._find_view()
        is_of_history = former is not None and former.state.history == self.store.history()
        if is_of_history and self._is_current(view):
            return view
        with suppress(BusyError), self._lock.held(READER_LOCK_TIMEOUT_S):
            return self._caught_up(wait_s=READER_LOCK_TIMEOUT_S)
        is_ahead = view is not None and view.change_no > self.store.state().change_no
        kept = former if view is None or is_ahead else view
        return None if kept is None else kept.as_stale(BEHIND)

    def _caught_up(self, *, wait_s: float = READER_WAIT_S) -> IndexedView:
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
