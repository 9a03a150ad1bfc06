"""Calls that change something are noted before they run; where their process ends, the note becomes
a row.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stackroom.control.audit import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import audit_begun
from stackroom.errors import StorageError
from stackroom.gate.auditing import CallContext
from stackroom.gate.gate import Gate
from stackroom.model.principal import AuditEntry, Cost, Outcome
from stackroom.tools.operation import origin_of
from stackroom.tools.toolbox import Toolbox
from support.control import audit_rows

pytestmark = [pytest.mark.row("Z13"), pytest.mark.row("N5")]

LATER = timedelta(hours=1)


@pytest.fixture
def log(database: ControlDatabase) -> Iterator[AuditLog]:
    log = AuditLog(database)
    yield log
    log.close()


class Died(BaseException):
    """Stands for the end of the process."""


class DyingLog:
    """An audit whose process ends before a row is written."""

    def __init__(self, log: AuditLog) -> None:
        self.begin = log.begin

    def write(self, _entry: AuditEntry, *, durable: bool) -> None:
        raise Died


def perform(observer: Any, work: Callable[[], object], **changes: Any) -> None:
    asked: dict[str, Any] = {
        "origin": origin_of(via="rest"),
        "operation": "player/like",
        "target": "track-1",
        "parameters": {"n": 1},
    }
    context = CallContext(cost=Cost.WRITE, **{"call_id": "begun", **asked, **changes})
    Gate(Toolbox([]), observers=[observer]).perform(context, work)


def notes_of(database: ControlDatabase) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(audit_begun.select()).scalars())


def nothing() -> None:
    """Change nothing."""


def test_a_call_that_changes_something_has_its_row_whenever_its_process_ends(
    database: ControlDatabase, log: AuditLog
) -> None:
    with pytest.raises(Died):
        perform(DyingLog(log), nothing)
    assert audit_rows(log) == [], "the control: nothing else would add it"
    assert log.add_interrupted(before=datetime.now(UTC) - LATER) == 0, (
        "the call may still be running"
    )
    assert [log.add_interrupted(before=datetime.now(UTC) + LATER) for _ in range(2)] == [1, 0]
    (row,) = audit_rows(log)
    assert (row.call_id, row.principal, row.via, row.operation) == (
        "begun",
        "local",
        "rest",
        "player/like",
    )
    assert (row.target, row.outcome, row.parameters) == ("track-1", Outcome.INTERRUPTED, {"n": 1})
    assert log.verify().first_problem is None


def test_a_row_is_added_once_by_servers_that_start_at_once(
    place: Any, log: AuditLog, at_once: Callable[..., list[Any]]
) -> None:
    for number in range(5):
        with pytest.raises(Died):
            perform(DyingLog(log), nothing, call_id=f"lost {number}")
    logs, before = [AuditLog(place.open()) for _ in range(4)], datetime.now(UTC) + LATER
    assert sum(at_once([lambda log=log: log.add_interrupted(before=before) for log in logs])) == 5
    assert [row.call_id for row in audit_rows(log)] == [f"lost {number}" for number in range(5)]
    assert log.verify().first_problem is None


@pytest.mark.parametrize(
    ("error", "outcome"), [(None, Outcome.OK), (StorageError("away"), Outcome.ERROR)]
)
def test_a_call_that_ends_leaves_no_note(
    database: ControlDatabase, log: AuditLog, error: Exception | None, outcome: Outcome
) -> None:
    noted: list[list[str]] = []

    def change() -> None:
        noted.append(notes_of(database))
        if error is not None:
            raise error

    with nullcontext() if error is None else pytest.raises(StorageError):
        perform(log, change)
    assert (noted, notes_of(database)) == ([["begun"]], [])
    assert [row.outcome for row in audit_rows(log)] == [outcome]
    assert log.add_interrupted(before=datetime.now(UTC) + LATER) == 0


def test_nothing_is_changed_where_the_call_cannot_be_noted() -> None:
    class Away:
        def begin(self, _entry: AuditEntry) -> None:
            raise StorageError("away")

        def write(self, _entry: AuditEntry, *, durable: bool) -> None:
            raise StorageError("away")

    done: list[int] = []
    with pytest.raises(StorageError):
        perform(Away(), lambda: done.append(1))
    assert not done


def test_a_change_is_acknowledged_where_only_its_row_cannot_be_written(
    database: ControlDatabase, log: AuditLog
) -> None:
    class Late:
        begin = log.begin

        def write(self, _entry: AuditEntry, *, durable: bool) -> None:
            raise StorageError("away")

    perform(Late(), nothing)
    assert notes_of(database) == ["begun"]


def test_the_note_of_a_call_has_no_secret(database: ControlDatabase, log: AuditLog) -> None:
    with pytest.raises(Died):
        perform(DyingLog(log), nothing, parameters={"password": "correct horse", "bad": "\ud800\0"})
    with database.read() as connection:
        (note,) = connection.execute(audit_begun.select()).all()
    assert "correct horse" not in str(note)
