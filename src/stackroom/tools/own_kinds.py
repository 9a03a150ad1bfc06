"""Records that belong to users, such as likes: their kinds as packages declare them, and where they are kept.

They are no records of a catalogue: only their user sees them, and they refer to records by id. `catalog.mutate` changes
them by the same arguments, with a preview, and undoes them by the id of the call.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from stackroom.errors import StorageError
from stackroom.ingest.edits.draft import EditAction
from stackroom.model.principal import Principal
from stackroom.shelf.port import Op

TOKEN_LENGTH = 16


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRequest:
    """A requested change of one record of the caller's own."""

    action: EditAction
    kind: str
    id: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    catalogue: str | None = None
    """The catalogue of the records that are meant, where the caller names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCall:
    """The call that changes are made under."""

    call_id: str | None = None
    """The id that undoes them; None: nothing is changed, as in a preview."""
    token: str | None = None
    """The token of a preview: other changes than those are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChange:
    """A record of the caller's own before and after, as plain JSON; None where it does not exist."""

    kind: str
    id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def op(self) -> Op:
        """The operation on the record."""
        if self.after is None:
            return Op.DELETE
        return Op.INSERT if self.before is None else Op.UPDATE


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOutcome:
    """The changes that were made, or would be."""

    changes: Sequence[OwnChange]
    notes: Sequence[str] = ()

    @property
    def token(self) -> str:
        """A digest of the changes, but for the ids of new records, which are chosen when they are made."""
        plain = [[one.kind, one.id if one.before else "", one.before, one.after] for one in self.changes]
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:TOKEN_LENGTH]


class OwnKinds(Protocol):
    """The kinds of one package that belong to users. Every method acts for one user; what others have is unknown.

    `edit` makes its changes in one transaction, and keeps them under the id of the call, by which `undo` takes them
    back.
    """

    @property
    def fields(self) -> Mapping[str, Sequence[str]]:
        """The names of the kinds, each with the names of its fields."""

    def edit(self, principal: Principal, requests: Sequence[OwnRequest], call: OwnCall) -> OwnOutcome:
        """Make changes, all or none; refuse what is not valid."""

    def undo(self, principal: Principal, undone: str, call: OwnCall) -> OwnOutcome:
        """Take back the changes of a call; refuse where they were changed since."""

    def has_call(self, principal: Principal, call_id: str) -> bool:
        """Tell whether the caller changed something under this id of a call."""


OpenStorage = Callable[[], OwnStorage]
