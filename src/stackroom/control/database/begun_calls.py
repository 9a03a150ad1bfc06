"""Calls that have changed the control database, noted in the transaction of their first change.

The note is removed in the transaction that writes the call to the audit. A note that stays is of a process that ended
between the two: the audit's row is then rebuilt from it.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import Connection, delete, text

from stackroom.control.database.tables import audit_begun, storable
from stackroom.control.database.time_columns import to_microseconds
from stackroom.model.audit import AuditEntry

MOST_PARAMETERS = 65_536
INSERT = text(
    "INSERT INTO audit_begun (call_id, at, principal, via, operation, target, parameters) "
    "VALUES (:call_id, :at, :principal, :via, :operation, :target, :parameters) ON CONFLICT (call_id) DO NOTHING"
)
"""A note may be there although its commit was reported to have failed."""


class BegunCalls:
    """The calls of this process that are noted. Safe to use from several threads."""

    def __init__(self, place: str) -> None:
        """`place` is the name of the database."""
        self.place = place
        self._guard = threading.Lock()
        self._noted: set[str] = set()

    def note(self, connection: Connection, call: AuditEntry) -> bool:
        """Note a call in a transaction that it makes; tell whether it was not noted before."""
        with self._guard:
            if call.call_id in self._noted:
                return False
        connection.execute(INSERT, _row(call))
        return True

    def remember(self, call_id: str) -> None:
        """Remember that the note of a call is committed."""
        with self._guard:
            self._noted.add(call_id)

    def remove(self, connection: Connection, call_ids: Iterable[str]) -> list[str]:
        """Remove the notes of those of the calls that have one, and return their ids."""
        with self._guard:
            ended = [call_id for call_id in call_ids if call_id in self._noted]
        if ended:
            connection.execute(delete(audit_begun).where(audit_begun.c.call_id.in_(ended)))
        return ended

    def forget(self, call_ids: Iterable[str]) -> None:
        """Forget calls whose notes are removed."""
        with self._guard:
            self._noted.difference_update(call_ids)


_CURRENT: ContextVar[tuple[AuditEntry, BegunCalls] | None] = ContextVar("begun_call", default=None)


@contextmanager
def begun_call(entry: AuditEntry, calls: BegunCalls) -> Iterator[None]:
    """Let the control database know within the block which call changes it."""
    token = _CURRENT.set((entry, calls))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def find_begun_call(place: str) -> tuple[AuditEntry, BegunCalls] | None:
    """Return the call that this context runs, with the notes it is in; None where it is audited in another database."""
    current = _CURRENT.get()
    return current if current is not None and current[1].place == place else None


def _row(call: AuditEntry) -> dict[str, object]:
    parameters = json.dumps(dict(call.parameters), default=str)
    return {
        "call_id": storable(call.call_id),
        "at": to_microseconds(call.at),
        "principal": storable(call.principal),
        "via": storable(call.via),
        "operation": storable(call.operation),
        "target": storable(call.target),
        "parameters": parameters if len(parameters) <= MOST_PARAMETERS else "{}",
    }
