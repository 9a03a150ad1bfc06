"""A shelf that records its failures: while it cannot be read, every read between two attempts fails
at once.
"""

import threading
from collections.abc import Callable, Iterator

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, StorageError
from stackroom.model.scope import WHOLE
from stackroom.shelf.conditions import CatalogueConditions, Condition
from stackroom.shelf.port import (
    RECORDS_PART,
    Checkpoint,
    Problem,
    Shelf,
    ShelfDescription,
    ShelfHistory,
    ShelfReader,
    ShelfWriter,
    accept_any,
    never_stop,
)


class FailingCatalogueError(StorageError):
    """A catalogue that cannot be read, and is not tried again before its pause is over."""

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition.reason)
        self.retry_in_s = self.retry_after_s = condition.retry_in_s or 0.0


class WatchedShelf:
    """Implements `Shelf` over another one, which is opened at first use, and notes whether it can
    be read.
    """

    def __init__(
        self,
        spec: CatalogueSpec,
        open_shelf: Callable[[], Shelf],
        *,
        name: str,
        conditions: CatalogueConditions,
        is_there: Callable[[], bool] = lambda: True,
    ) -> None:
        """Create the watch; `is_there` tells whether the open files are still those of the
        catalogue.
        """
        self._spec = spec
        self._open_shelf = open_shelf
        self._name = name
        self._conditions = conditions
        self._is_there = is_there
        self._inner: Shelf | None = None
        self._opening = threading.Lock()

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""
        return self._spec

    @property
    def is_open(self) -> bool:
        """Whether the inner shelf is open."""
        return self._inner is not None

    def open(self) -> Shelf:
        """Return the inner shelf, opened once; raise StorageError if that fails."""
        if (inner := self._inner) is None:
            with self._opening:
                if (inner := self._inner) is None:
                    inner = self._inner = self._open_shelf()
        return inner

    def let_go(self) -> None:
        """Open the inner shelf again at the next read; readers that are in use stay as they are."""
        self._inner = None

    def reader(self) -> ShelfReader:
        """Return a snapshot of the present state; raise at once while a failing shelf is left
        alone.
        """
        is_probe = self._name in self._conditions.failing
        if is_probe and (condition := self._conditions.begin_try(self._name)) is not None:
            raise FailingCatalogueError(condition)
        return self._noted_reader(is_probe=is_probe)

    def probe(self) -> None:
        """Read one record, and note whether that fails; no effect while a failing shelf is left
        alone.
        """
        if self._conditions.begin_try(self._name) is None:
            self._noted_reader(is_probe=True)

    def _noted_reader(self, *, is_probe: bool) -> ShelfReader:
        try:
            reader = self.open().reader()
            if is_probe:
                reader.fetch(reader.scan(scope=WHOLE, limit=1), scope=WHOLE)
        except BusyError:
            raise
        except StorageError as error:
            is_gone, reason = not self._is_there(), error.message
            error.retry_after_s = self._conditions.note_failure(self._name, reason, is_gone=is_gone)
            raise
        if is_probe:
            self._conditions.note_success(self._name)
        return reader

    def find_reader(self) -> ShelfReader | None:
        """Return a current snapshot if one is at hand, without waiting; else None."""
        return None if (inner := self._inner) is None else inner.find_reader()

    def writer(self) -> ShelfWriter:
        """Return the writing side; raise StorageError if its files were removed, so that writes
        would be lost.
        """
        inner = self.open()
        if not self._is_there():
            self.let_go()
            inner = self.open()
        return inner.writer()

    def history(self) -> ShelfHistory:
        """Return the change log."""
        return self.open().history()

    def check(
        self, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
    ) -> Iterator[Problem]:
        """Yield what is wrong with the records and the indexes."""
        try:
            inner = self.open()
        except StorageError as error:
            yield Problem.from_error(RECORDS_PART, error)
            return
        yield from inner.check(checkpoint=checkpoint, thorough=thorough)

    def mend(self, *, checkpoint: Checkpoint = never_stop) -> list[str]:
        """Replace what is damaged and can be derived, and return what was done."""
        try:
            return self.open().mend(checkpoint=checkpoint)
        except StorageError:
            return []  # the check says why

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Derive every index again from the records, and return how many records are indexed."""
        return self.open().rebuild(accept=accept)

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""
        return self.open().describe()

    def close(self) -> None:
        """Close files and connections."""
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()
