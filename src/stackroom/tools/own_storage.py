"""The storage of what belongs to users, such as likes: only their user sees it, and it ends with them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from stackroom.errors import StorageError


class OwnDatabase(Protocol):
    """The database of users; a package has tables of its own in it, which refer to its table of users."""

    def begin(self) -> AbstractContextManager[Any]:
        """Open a write transaction, committed if the block does not raise."""

    def read(self) -> AbstractContextManager[Any]:
        """Open a read transaction over one snapshot."""

    def create_missing(self, tables: Any) -> None:
        """Create those of a package's tables that do not exist yet."""


class RecordPlay(Protocol):
    """Records for analytics that a user played a record's file, and for how long."""

    def __call__(self, user: str, record_id: str, seconds: float, /, *, catalogue: str = "") -> None:
        """Record it."""


def _record_nothing(_user: str, _record_id: str, _seconds: float, *, catalogue: str = "") -> None:
    """Record no events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStorage:
    """The storage of what belongs to users: the control database, or without accounts the local user's."""

    database: OwnDatabase
    record_play: RecordPlay = _record_nothing


def refuse_storage() -> OwnStorage:
    """Refuse to open a storage, where a catalogue is not in a library."""
    raise StorageError("there is no library here to keep records of your own in")


OpenStorage = Callable[[], OwnStorage]
