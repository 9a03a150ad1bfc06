"""Rows of the audit that a killed process did not write, rebuilt from what it did write.

A change of the control database has a note of its call (`begun_calls`). A change of a catalogue has the id of its call
in the change log: the caller compares that log with the audit, and remembers here how far. A rebuilt row has the
outcome `interrupted`. Nothing is added twice, also where several processes do this at once: the head of the chain is
locked while the rows are looked for. Commit point: the end of the transaction of `add_missing` or `rebuild_begun`.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select

from stackroom.control.audit.log import extend_chain, lock_head
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import audit, audit_begun, audit_compared, storable
from stackroom.control.database.time_columns import from_microseconds, to_microseconds
from stackroom.model.audit import AuditEntry, Outcome

AT_ONCE = 500
REBUILT = "rebuilt"
"""The parameter that says what a rebuilt row was rebuilt from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The last change of a catalogue whose call was looked for in the audit."""

    catalogue: str
    change_no: int
    call_id: str


class AuditGaps:
    """The rows that are missing from the audit of one control database."""

    def __init__(self, database: ControlDatabase) -> None:
        self._database = database

    def find_compared(self, catalogue: str) -> Compared | None:
        """Return how far the changes of a catalogue were compared; None if they never were."""
        wanted = select(audit_compared).where(audit_compared.c.catalogue == storable(catalogue))
        with self._database.read() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Compared(**row._asdict())

    def find_beginning(self) -> datetime | None:
        """Return the time of the earliest row that is kept; None where there is no row."""
        with self._database.read() as connection:
            first = connection.execute(select(func.min(audit.c.at))).scalar_one_or_none()
        return None if first is None else from_microseconds(first)

    def add_missing(self, entries: Sequence[AuditEntry], compared: Compared) -> int:
        """Add a row for each call that has none, remember how far was compared, and return the number of rows."""
        with self._database.begin() as connection:
            head = lock_head(connection)
            known = _find_known(connection, [entry.call_id for entry in entries])
            missing = [entry for entry in entries if entry.call_id not in known]
            if missing:
                extend_chain(connection, head, missing)
            values = {"change_no": compared.change_no, "call_id": storable(compared.call_id)}
            is_catalogue = audit_compared.c.catalogue == storable(compared.catalogue)
            if not connection.execute(audit_compared.update().where(is_catalogue).values(values)).rowcount:
                connection.execute(audit_compared.insert(), {"catalogue": storable(compared.catalogue), **values})
        return len(missing)

    def rebuild_begun(self, *, before: datetime) -> int:
        """Add a row for each call that changed this database before a time and has none; return the number of rows."""
        added = 0
        while True:
            with self._database.begin() as connection:
                head = lock_head(connection)
                wanted = select(audit_begun).where(audit_begun.c.at < to_microseconds(before)).limit(AT_ONCE)
                begun = [_entry_of(row) for row in connection.execute(wanted.order_by(audit_begun.c.at))]
                if not begun:
                    return added
                call_ids = [entry.call_id for entry in begun]
                known = _find_known(connection, call_ids)
                missing = [entry for entry in begun if entry.call_id not in known]
                if missing:
                    extend_chain(connection, head, missing)
                connection.execute(delete(audit_begun).where(audit_begun.c.call_id.in_(call_ids)))
            added += len(missing)


def _find_known(connection: Connection, call_ids: Iterable[str]) -> set[str]:
    """Return those of the calls that have a row."""
    wanted = sorted(storable(call_id) for call_id in call_ids)
    known: set[str] = set()
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        known.update(connection.execute(select(audit.c.call_id).where(audit.c.call_id.in_(some))).scalars())
    return known


def _entry_of(row: Any) -> AuditEntry:
    return AuditEntry(
        at=from_microseconds(row.at),
        call_id=row.call_id,
        principal=row.principal,
        via=row.via,
        operation=row.operation,
        target=row.target,
        parameters={**json.loads(row.parameters), REBUILT: "from the note of its first change"},
        outcome=Outcome.INTERRUPTED,
    )
