"""The change log of a store, as it is queried: past changes, newest first."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pinakes.errors import StorageError
from pinakes.model.record import RecordId
from pinakes.shelf.embedded.row_sums import row_sum
from pinakes.shelf.history import LoggedChange
from pinakes.shelf.port import Author, CalledChange, Op

PAST_CHANGES = "SELECT {} FROM changes {} ORDER BY change_no DESC LIMIT :limit"
LOGGED = "change_no, key, id, op, before, principal, call_id, at"
CALLED_CHANGES = """SELECT change_no, id, op, principal, call_id, at FROM changes WHERE change_no IN (
               SELECT change_no FROM changes WHERE call_id <> '' AND +change_no > ? ORDER BY +change_no LIMIT ?)
           ORDER BY change_no"""
"""The inner query reads the partial index by calls alone: a build may have made millions of other changes."""
_NARROWED = {
    "before": "change_no < :before",
    "call_id": "call_id = :call_id",
    "ids": "id IN (SELECT value FROM json_each(:ids))",
}


def conditions_of(asked: Mapping[str, Any]) -> str:
    """Return the WHERE clause of the given filters; their values are bound."""
    clauses = [clause for name, clause in _NARROWED.items() if asked[name] is not None]
    if asked["call_id"]:
        clauses.append("call_id <> ''")  # lets SQLite use the partial index
    return f"WHERE {' AND '.join(clauses)}" if clauses else ""


def require_sound(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of the log, the columns `LOGGED` and its checksum; refuse one that is damaged."""
    change_no, *values, told = row
    if told is not None and told != row_sum(*values):
        raise StorageError(f"change {change_no} of the history is damaged; put the records back from a back-up")
    return row


def logged_change(row: tuple[Any, ...]) -> LoggedChange:
    """Return a row of the log as a value."""
    change_no, _key, record_id, op, before, principal, call_id, at, *_sum = row
    return LoggedChange(
        change_no=change_no,
        id=RecordId(record_id),
        op=Op(op),
        before=before,
        author=Author(principal=principal, call_id=call_id),
        at=_moment(at),
    )


def called_change(row: tuple[Any, ...]) -> CalledChange:
    """Return a row of the changes by calls as a value."""
    change_no, record_id, op, principal, call_id, at = row
    author = Author(principal=principal, call_id=call_id)
    return CalledChange(change_no=change_no, id=RecordId(record_id), op=Op(op), author=author, at=_moment(at))


def _moment(at: str) -> datetime:
    return datetime.fromisoformat(at).replace(tzinfo=UTC)
