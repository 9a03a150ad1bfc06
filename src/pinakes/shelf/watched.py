"""A shelf whose failures are noted: between two tries of one that cannot be read, every read fails at once."""

from collections.abc import Callable, Iterator

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import BusyError, StorageError
from pinakes.shelf.conditions import CatalogueConditions, Condition
from pinakes.shelf.port import (
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
        self.retry_in_s = condition.retry_in_s or 0.0
        self.retry_after_s = self.retry_in_s


class WatchedShelf:
    """Implements `Shelf` over another one, and notes whether it can be read."""

    def __init__(self, inner: Shelf, name: str, conditions: CatalogueConditions) -> None:
        self._inner = inner
        self._name = name
        self._conditions = conditions

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""
        return self._inner.spec

    def reader(self) -> ShelfReader:
        """Return a snapshot of the present state; raise at once while a failing shelf is left alone."""
        if (condition := self._conditions.begin_try(self._name)) is not None:
            raise FailingCatalogueError(condition)
        try:
            reader = self._inner.reader()
        except BusyError:
            raise
        except StorageError as error:
            error.retry_after_s = self._conditions.note_failure(self._name, error.message)
            raise
        self._conditions.note_success(self._name)
        return reader

    def find_reader(self) -> ShelfReader | None:
        """Return a current snapshot if one is at hand, without waiting; else None."""
        return self._inner.find_reader()

    def writer(self) -> ShelfWriter:
        """Return the writing side."""
        return self._inner.writer()

    def history(self) -> ShelfHistory:
        """Return the change log."""
        return self._inner.history()

    def check(self, *, checkpoint: Checkpoint = never_stop) -> Iterator[Problem]:
        """Yield what is wrong with the records and the indexes."""
        yield from self._inner.check(checkpoint=checkpoint)

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        """Derive every index anew from the records, and return how many records are indexed."""
        return self._inner.rebuild(accept=accept)

    def describe(self) -> ShelfDescription:
        """Return the state of the shelf."""
        return self._inner.describe()

    def close(self) -> None:
        """Close files and connections."""
        self._inner.close()
