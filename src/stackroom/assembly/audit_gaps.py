"""Audit rows of calls that were killed between their change and their row, rebuilt beside a server.

The change log of each catalogue has the call of every change that a call made. Those whose call has no row get one.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from stackroom.background.task import Task, TaskContext
from stackroom.control.audit.gaps import REBUILT, AuditGaps, Compared
from stackroom.control.database.time_columns import utc_now
from stackroom.errors import ExpectedError
from stackroom.gate.auditing import redacted
from stackroom.model.audit import AuditEntry, Outcome
from stackroom.shelf.port import CalledChange, ShelfHistory
from stackroom.tools.catalogue import OpenCatalogue

logger = logging.getLogger(__name__)

AT_ONCE = 1_000
IDS_SHOWN = 20
GRACE = timedelta(seconds=30)
"""How old a change has to be: a younger one may be of a call that another server is still running."""
EDIT_TOOL = "catalog.mutate"
SECOND = timedelta(seconds=1)
"""The resolution of the times in the change log."""


def rebuild_rows(gaps: AuditGaps, catalogues: Sequence[OpenCatalogue], *, before: datetime) -> int:
    """Add the rows that are missing of changes before a time, and return how many they were.

    A catalogue that cannot be read is left for the next time.
    """
    added = gaps.rebuild_begun(before=before)
    for catalogue in catalogues:
        try:
            added += _rebuild_of_catalogue(gaps, catalogue.name, catalogue.shelf.history(), before=before)
        except ExpectedError as error:
            logger.warning("the audit was not compared with the changes of '%s': %s", catalogue.name, error.message)
    if added:
        logger.warning("%d audit rows of interrupted calls were rebuilt", added)
    return added


class AuditRepair:
    """Rebuilds the rows of interrupted calls, of changes that are old enough to be no call that still runs."""

    def __init__(
        self,
        gaps: AuditGaps,
        catalogues: Callable[[], Sequence[OpenCatalogue]],
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._gaps = gaps
        self._catalogues = catalogues
        self._now = now
        self._has_run = False

    def task(self) -> Task:
        """Return the task that rebuilds rows after a start, and again when changes of that time are old enough."""
        return Task(
            name="rebuild audit rows",
            description="Adds the audit rows of calls that were killed between their change and their row.",
            run=self._run,
        )

    def _run(self, context: TaskContext) -> str:
        if not self._has_run:
            context.run_again((GRACE + 2 * SECOND).total_seconds())
        self._has_run = True
        return f"{self.rebuild()} rows rebuilt"

    def rebuild(self) -> int:
        """Rebuild the rows that are missing now, and return how many they were."""
        return rebuild_rows(self._gaps, self._catalogues(), before=self._now() - GRACE)


def _rebuild_of_catalogue(gaps: AuditGaps, name: str, history: ShelfHistory, *, before: datetime) -> int:
    compared = _find_start(gaps, name, history)
    since = None if compared else gaps.find_beginning() or before
    added, after = 0, compared.change_no if compared else 0
    while calls := _next_calls(history, after, before):
        missed = [_entry_of(name, call) for call in calls if since is None or call[-1].at + SECOND > since]
        last = calls[-1][-1]
        after = last.change_no
        added += gaps.add_missing(missed, Compared(catalogue=name, change_no=after, call_id=last.author.call_id))
    return added


def _find_start(gaps: AuditGaps, name: str, history: ShelfHistory) -> Compared | None:
    """Return how far was compared; None where the log is another than at that time, as after a restore."""
    compared = gaps.find_compared(name)
    if compared is None:
        return None
    found = history.list_called(after=compared.change_no - 1, limit=1)
    is_same = bool(found) and (found[0].change_no, found[0].author.call_id) == (compared.change_no, compared.call_id)
    return compared if is_same else None


def _next_calls(history: ShelfHistory, after: int, before: datetime) -> list[list[CalledChange]]:
    """Return the changes of the next calls, by call; the last of a full page may be cut, and is left for the next."""
    page = history.list_called(after=after, limit=AT_ONCE)
    calls = list(_by_call(one for one in page if one.at + SECOND <= before))
    return calls[:-1] if len(page) == AT_ONCE and len(calls) > 1 else calls


def _by_call(changes: Iterator[CalledChange]) -> Iterator[list[CalledChange]]:
    for _call_id, some in groupby(changes, key=lambda change: change.author.call_id):
        yield list(some)


def _entry_of(name: str, changes: Sequence[CalledChange]) -> AuditEntry:
    first, last = changes[0], changes[-1]
    shown = [{"op": str(one.op), "id": one.id} for one in changes[:IDS_SHOWN]]
    parameters = {
        "catalogue": name,
        "changes": shown,
        "records": len(changes),
        "change_no": [first.change_no, last.change_no],
        REBUILT: "from the change log",
    }
    return AuditEntry(
        at=first.at,
        call_id=first.author.call_id,
        principal=first.author.principal,
        via="",
        operation="tools/call",
        target=EDIT_TOOL,
        parameters=redacted(parameters),
        outcome=Outcome.INTERRUPTED,
    )
