"""What belongs to users, such as likes and playlists: only their user sees it, and it ends with
them.

It is no record of a catalogue, and refers to records by id. `catalog.mutate` changes it by the same
arguments, at once.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.ingest.edits.draft import EditRequest
from stackroom.model.principal import Principal
from stackroom.shelf.port import Op


class OwnDatabase(Protocol):
    """The database of users; a package has tables of its own in it, which refer to its table of
    users.
    """

    def begin(self) -> AbstractContextManager[Any]:
        """Open a write transaction, committed if the block does not raise."""

    def read(self) -> AbstractContextManager[Any]:
        """Open a read transaction over one snapshot."""

    def create_missing(self, tables: Any) -> None:
        """Create those of a package's tables that do not exist yet."""


@frozen
class OwnStorage:
    """The storage of what belongs to users: the control database, or without accounts the local
    user's.
    """

    database: OwnDatabase
    record_play: Callable[..., None] = lambda *_play, **_catalogue: None
    """Records for analytics that a user played a record's file, and for how long."""


@frozen
class OwnChange:
    """Something of the caller's own that was changed: what it was, and what it is now; empty where
    it is not.
    """

    id: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    notes: Sequence[str] = ()

    @property
    def op(self) -> Op:
        """The kind of change."""
        if not self.before:
            return Op.INSERT
        return Op.UPDATE if self.after else Op.DELETE


class OwnKinds(Protocol):
    """The kinds of one package that belong to users. What others have is unknown to a user."""

    @property
    def fields(self) -> Mapping[str, Sequence[str]]:
        """The names of the kinds, each with the names of its fields."""

    def change(self, principal: Principal, request: EditRequest) -> OwnChange | None:
        """Make a change for a user, and return it; None where it is so already."""


def refuse_storage() -> OwnStorage:
    """Refuse to open a storage, where a catalogue is not in a library."""
    raise StorageError(
        "there is no library here to keep records of your own in; serve one that is installed"
    )


OpenStorage = Callable[[], OwnStorage]
