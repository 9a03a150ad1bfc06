"""A music catalogue in memory, edited by short calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from stackroom.errors import ExpectedError
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.ingest.edits.values import Place
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.shelf.port import Author
from support.memory_shelf import MemoryShelf

MUSIC = PACKAGES.get("music").spec


def request_of(given: Mapping[str, Any], place: Place | None = None) -> EditRequest:
    """Return a request from the arguments of a call."""
    return EditRequest(
        action=EditAction(given["action"]),
        id=given.get("id"),
        kind=given.get("kind"),
        fields=given.get("fields") or {},
        cascade=bool(given.get("cascade")),
        place=place or Place(),
    )


def batch_of(changes: Sequence[Mapping[str, Any]]) -> list[EditRequest]:
    """Return the requests in the `changes` of a call."""
    places = (Place(f"changes.{number}", f"changes.{number}.fields") for number in count())
    return [request_of(one, place) for one, place in zip(changes, places, strict=False)]


@dataclass(frozen=True, kw_only=True)
class EditBench:
    """A catalogue in memory, and its edits."""

    shelf: MemoryShelf
    embedder: Any = None

    @property
    def edits(self) -> Edits:
        """The edits of the catalogue."""
        return Edits(shelf=self.shelf, embedder=self.embedder)

    def get(self, record_id: str) -> Mapping[str, Any]:
        """Return the fields of a record."""
        return self.state()[RecordId(record_id)].fields

    def ids(self) -> list[str]:
        """Return the ids of all records, sorted."""
        return sorted(self.state())

    def state(self) -> dict[RecordId, Record]:
        """Return every record."""
        reader = self.shelf.reader()
        return {
            one.id: one
            for one in reader.fetch(reader.scan(scope=WHOLE, limit=1_000), scope=WHOLE).values()
        }


@dataclass(frozen=True, kw_only=True)
class MusicBench(EditBench):
    """A music catalogue and its edits, each of a call of its own."""

    shelf: MemoryShelf = field(default_factory=lambda: MemoryShelf(MUSIC))
    calls: list[str] = field(default_factory=list)

    def apply(self, *requests: EditRequest, by: str = "ed") -> list[str]:
        """Apply an edit, and return the ids of the records that changed."""
        call_id = f"c{len(self.calls)}"
        applied = self.edits.apply(*requests, author=Author(principal=by, call_id=call_id))
        self.calls.append(call_id)
        return [change.id for change in applied.plan.changes]

    def batch(self, *changes: Mapping[str, Any]) -> list[str]:
        """Make changes together, and return the ids of the records that changed."""
        return self.apply(*batch_of(changes))

    def create(self, kind: str, **fields: Any) -> str:
        """Create a record, and return its id."""
        return self.apply(EditRequest(action=EditAction.CREATE, kind=kind, fields=fields))[0]

    def update(self, record_id: str, *, by: str = "ed", **fields: Any) -> str:
        """Update a record, and return the call that did."""
        self.apply(EditRequest(action=EditAction.UPDATE, id=record_id, fields=fields), by=by)
        return self.calls[-1]

    def undo(self, call_id: str) -> str:
        """Undo a call, and return the call that did."""
        self.apply(EditRequest(action=EditAction.UNDO, id=call_id))
        return self.calls[-1]

    def refusal(self, *requests: EditRequest, kind: type[ExpectedError]) -> str:
        """Return why an edit is refused, with nothing changed by it."""
        before = self.state()
        with pytest.raises(kind) as refused:
            self.edits.apply(*requests)
        assert type(refused.value) is kind
        assert self.state() == before
        return refused.value.message
