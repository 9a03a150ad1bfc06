"""Calls that have changed the control database, noted in the transaction of their first change.

The note is removed in the transaction that writes the call to the audit. A note that stays is of a process that ended
between the two: the audit's row is then rebuilt from it.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import Connection, delete

from pinakes.control.database.tables import audit_begun, storable
from pinakes.control.database.time_columns import to_microseconds
from pinakes.model.audit import AuditEntry

MOST_PARAMETERS = 65_536
_CURRENT: ContextVar[AuditEntry | None] = ContextVar("begun_call", default=None)


@contextmanager
def begun_call(entry: AuditEntry) -> Iterator[None]:
    """Let the control database know within the block which call changes it."""
    token = _CURRENT.set(entry)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def find_begun_call() -> AuditEntry | None:
    """Return the call that is being run in this context and may change something; None where there is none."""
    return _CURRENT.get()


class BegunCalls:
    """The calls of this process that are noted. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._noted: set[str] = set()

    def note(self, connection: Connection, call: AuditEntry) -> bool:
        """Note a call in a transaction that it makes; tell whether it was not noted before."""
        with self._guard:
            if call.call_id in self._noted:
                return False
        connection.execute(audit_begun.insert(), _row(call))
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
