"""The audit: every call, in rows that show whether they were changed (`audit_chain`).

Rows are queued and written by one thread, in groups. A durable row is there when `write` returns; the others are there
within 200 ms. Whoever is asked to note something while nothing can be written is refused in the end, rather than let
through unnoted. Old rows can be pruned, in a way that the chain shows. Commit point: the end of a transaction in which
`_extend` is called.
"""

import json
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from pinakes.control.audit.chain import (
    BEGINNING,
    HASHED_COLUMNS,
    PRUNING,
    AuditReport,
    ChainCheck,
    Head,
    hash_of,
    parse_head,
)
from pinakes.control.database.bulk_insert import insert_rows
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.storable_text import storable
from pinakes.control.database.tables import audit, audit_anchor, audit_head
from pinakes.control.database.time_columns import from_microseconds, to_microseconds, utc_now
from pinakes.errors import InputError, StorageError
from pinakes.model.audit import AuditEntry, Outcome
from pinakes.model.principal import LOCAL_USER

__all__ = ["AuditLog", "AuditReport", "AuditRow"]

LOG = logging.getLogger(__name__)
MOST_QUEUED = 10_000
GROUP_ROWS = 200
GROUP_S = 0.2
MOST_IN_ONE = 1000
RETRY_S = 0.5
PATIENCE_S = 5.0
"""How long `write` waits for room in the queue."""
MOST_LISTED = 10_000
CHECKED_AT_ONCE = 1000
PRUNED_AT_ONCE = 5_000
MOST_PARAMETERS = 65_536
"""How many characters of parameters a row holds."""
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)
COLUMNS = tuple(audit.c[name] for name in (*HASHED_COLUMNS, "hash"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(AuditEntry):
    """An entry as it was written."""

    number: int
    hash: str


class _Waiter:
    """Somebody who waits for a row of theirs."""

    __slots__ = ("error", "settled")

    def __init__(self) -> None:
        self.settled = threading.Event()
        self.error: StorageError | None = None


_Queued = tuple[AuditEntry, _Waiter | None]


class AuditLog:
    """The audit of one control database. Safe to use from several threads; several processes share one chain."""

    def __init__(self, database: ControlDatabase) -> None:
        self._database = database
        self._guard = threading.RLock()
        self._has_work = threading.Condition(self._guard)
        self._has_moved = threading.Condition(self._guard)
        self._queue: deque[_Queued] = deque()
        self._queued = 0
        """How many rows were ever queued; `_settled`: how many of them are written or given up."""
        self._settled = 0
        self._urgent = 0
        """Up to which row the queue is written without waiting for others to join."""
        self._failures = 0
        self._last_error: StorageError | None = None
        self._is_closing = False
        self._has_given_up = False
        """Whether an attempt failed after which there is no other, since the log is being closed."""
        self._thread: threading.Thread | None = None

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Note a call; where it must be durable, return when it is. What cannot be noted is refused."""
        waiter = _Waiter() if durable else None
        with self._guard:
            if self._is_closing or self._thread is None:
                self._require_thread()
            if len(self._queue) >= MOST_QUEUED:
                self._require_room()
            self._queue.append((entry, waiter))
            self._queued += 1
            if durable:
                self._urgent = self._queued
            if durable or len(self._queue) in {1, GROUP_ROWS}:
                self._has_work.notify()
        if waiter is not None:
            waiter.settled.wait()
            if waiter.error is not None:
                raise StorageError(waiter.error.message) from waiter.error

    def flush(self) -> None:
        """Return when everything that was noted before is written; where it cannot be, raise."""
        with self._guard:
            wanted, failures = self._queued, self._failures
            if self._settled >= wanted:
                return
            self._urgent = wanted
            self._require_thread()
            self._has_work.notify()
            self._has_moved.wait_for(lambda: self._settled >= wanted or self._failures > failures)
            if self._settled < wanted:
                raise StorageError(str(self._last_error))

    def close(self) -> None:
        """Write what is queued, and end the thread. What cannot be written is counted in the log."""
        with self._guard:
            self._is_closing = True
            thread = self._thread
            self._has_work.notify()
        if thread is not None:
            thread.join()
        if self._queue:
            LOG.error("%d calls could not be noted in the audit: %s", len(self._queue), self._last_error)

    def tail(
        self,
        *,
        limit: int = 100,
        after: int = 0,
        principal: str | None = None,
        operation: str | None = None,
        outcome: str | None = None,
    ) -> list[AuditRow]:
        """Return the last rows; with `after`, the first ones past that number. Always the oldest first."""
        if not 1 <= limit <= MOST_LISTED or after < 0:
            raise InputError(f"'limit' must be 1 to {MOST_LISTED:,} and 'after' at least 0")
        self.flush()
        wanted: Select[Any] = select(*COLUMNS).where(audit.c.number > after).limit(limit)
        for column, value in ((audit.c.principal, principal), (audit.c.operation, operation)):
            if value is not None:
                wanted = wanted.where(column == storable(value))
        if outcome is not None:
            wanted = wanted.where(audit.c.outcome == _outcome(outcome))
        order = audit.c.number if after else audit.c.number.desc()
        with self._database.read() as connection:
            rows = [_audit_row(row) for row in connection.execute(wanted.order_by(order))]
        return sorted(rows, key=lambda row: row.number)

    def verify(self, *, expect: str | None = None) -> AuditReport:
        """Check every row; with `expect` also that the row that was noted then (`NUMBER:HASH`) is still there."""
        noted = None if expect is None else parse_head(expect)
        self.flush()
        with self._database.read() as connection:
            head, anchor = _find_head(connection), _find_anchor(connection)
            check = ChainCheck(expect=noted, anchor=anchor)
            _follow(connection, check)
        problem = check.end(head)
        return AuditReport(rows=check.rows, first_problem=problem, head=str(head or check.last), pruned=anchor.number)

    def prune(self, before: datetime) -> int:
        """Remove the oldest rows, up to the first that is not older than this, and return how many they were.

        The chain then begins after the last row that was removed, and a row of it says so. Rows that are not as they
        were written are not removed, and neither is what follows them.
        """
        self.flush()
        with self._database.read() as connection:
            newer = select(func.min(audit.c.number)).where(audit.c.at >= to_microseconds(before))
            kept_from = connection.execute(newer).scalar_one()
            head = _find_head(connection)
        last = kept_from - 1 if kept_from is not None else 0 if head is None else head.number
        entry = AuditEntry(
            at=utc_now(),
            call_id=secrets.token_hex(8),
            principal=LOCAL_USER.name,
            via="job",
            operation=PRUNING,
            target="",
            parameters={"before": before.isoformat()},
            outcome=Outcome.OK,
        )
        removed = 0
        while some := self._prune_some(last, entry):
            removed += some
        return removed

    def _prune_some(self, last: int, entry: AuditEntry) -> int:
        """Remove rows up to this one, but no more at once than keeps others waiting for a moment; note it so."""
        with self._database.begin() as connection:
            head = _lock_head(connection)
            anchor = _find_anchor(connection)
            check = ChainCheck(expect=None, anchor=anchor)
            _follow(connection, check, last=min(last, anchor.number + PRUNED_AT_ONCE))
            if check.problem is not None:
                raise StorageError(f"nothing is pruned, since the audit is not whole: {check.problem}")
            if not check.rows:
                return 0
            connection.execute(delete(audit).where(audit.c.number <= check.last.number))
            connection.execute(update(audit_anchor).values(number=check.last.number, hash=check.last.hash))
            parameters = {**entry.parameters, "rows": check.rows}
            _extend(connection, head, [replace(entry, target=str(check.last), parameters=parameters)])
        return check.rows

    def _require_thread(self) -> None:
        """Start the thread where it does not run; called with the lock held."""
        if self._is_closing:
            raise StorageError("the audit is closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
            self._thread.start()

    def _require_room(self) -> None:
        """Wait for room in the queue; called with the lock held."""
        if not self._has_moved.wait_for(lambda: len(self._queue) < MOST_QUEUED, timeout=PATIENCE_S):
            reason = "" if self._last_error is None else f": {self._last_error.message}"
            raise StorageError(f"the audit cannot keep up, and nothing goes unnoted{reason}")

    def _run(self) -> None:
        """Write what is queued, until the log is closed; a bug ends the thread, and the next entry starts another."""
        try:
            while group := self._next_group():
                self._try_to_write(group)
        except BaseException:
            with self._guard:  # as one: the next thread must not find rows that are being put off
                self._thread = None
                error = StorageError("the audit's writer failed, which is a bug; the log has it")
                self._put_off(list(self._queue), error)
            raise

    def _try_to_write(self, group: Sequence[_Queued]) -> None:
        try:
            self._append([entry for entry, _ in group])
        except StorageError as error:
            self._put_off(group, error)
            if not self._is_closing:
                time.sleep(RETRY_S)
        else:
            self._settle(group)

    def _next_group(self) -> list[_Queued]:
        """Return what to write next, waiting for others to join it; nothing when the log is closed and can be."""
        with self._guard:
            self._has_work.wait_for(lambda: self._queue or self._is_closing)
            self._has_work.wait_for(self._is_pressing, timeout=GROUP_S)
            return [] if self._has_given_up else list(islice(self._queue, MOST_IN_ONE))

    def _is_pressing(self) -> bool:
        return len(self._queue) >= GROUP_ROWS or self._urgent > self._settled or self._is_closing

    def _settle(self, group: Sequence[_Queued]) -> None:
        """Take written rows from the queue, and tell who waits."""
        with self._guard:
            for _ in group:
                self._queue.popleft()
            self._settled += len(group)
            self._last_error = None
            self._has_moved.notify_all()
        for _, waiter in group:
            if waiter is not None:
                waiter.settled.set()

    def _put_off(self, group: Sequence[_Queued], error: StorageError) -> None:
        """Keep rows for another attempt, but for those that somebody waits for, who is told."""
        with self._guard:
            kept = [one for one in group if one[1] is None]
            for _ in group:
                self._queue.popleft()
            self._queue.extendleft(reversed(kept))
            self._settled += len(group) - len(kept)
            if self._last_error is None:
                LOG.error("the audit cannot be written: %s", error.message)
            self._last_error = error
            self._has_given_up = self._is_closing
            self._failures += 1
            self._has_moved.notify_all()
        for _, waiter in group:
            if waiter is not None:
                waiter.error = error
                waiter.settled.set()

    def _append(self, entries: Sequence[AuditEntry]) -> None:
        """Write rows to the end of the chain, in one transaction."""
        with self._database.begin() as connection:
            _extend(connection, _lock_head(connection), entries)


def _extend(connection: Connection, last: Head, entries: Sequence[AuditEntry]) -> None:
    """Write rows after the last one, which is locked."""
    rows = []
    for entry in entries:
        values = _values(last.number + 1, entry)
        last = Head(last.number + 1, hash_of(last.hash, values))
        rows.append((*values, last.hash))
    try:
        insert_rows(connection, COLUMNS, rows)
    except IntegrityError as error:
        raise StorageError("the audit has rows past its end, which Pinakes did not write: check it") from error
    connection.execute(update(audit_head).values(number=last.number, hash=last.hash))


def _lock_head(connection: Connection) -> Head:
    """Return the end of the chain, which no other process can move until the transaction ends."""
    head = _find_head(connection, lock=True)
    if head is None:
        raise StorageError("the head of the audit is missing, which Pinakes never takes away: check it")
    return head


def _find_head(connection: Connection, *, lock: bool = False) -> Head | None:
    wanted = select(audit_head.c.number, audit_head.c.hash).where(audit_head.c.id == 1)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    return None if row is None else Head(row.number, row.hash)


def _find_anchor(connection: Connection) -> Head:
    """Return the last row that was pruned; where nobody knows of it any more, the beginning."""
    row = connection.execute(select(audit_anchor.c.number, audit_anchor.c.hash)).one_or_none()
    return BEGINNING if row is None else Head(row.number, row.hash)


def _follow(connection: Connection, check: ChainCheck, *, last: int | None = None) -> None:
    """Give the check all rows, or those up to the last, a page at a time, in the order of their numbers."""
    wanted = select(*COLUMNS).order_by(audit.c.number).limit(CHECKED_AT_ONCE)
    if last is not None:
        wanted = wanted.where(audit.c.number <= last)
    page = connection.execute(wanted).all()
    while page and check.problem is None:
        check.follow(page)
        page = connection.execute(wanted.where(audit.c.number > page[-1].number)).all()


def _values(number: int, entry: AuditEntry) -> tuple[Any, ...]:
    """Return the values of a row, in the order of `HASHED_COLUMNS`."""
    return (
        number,
        to_microseconds(entry.at),
        storable(entry.call_id),
        storable(entry.principal),
        storable(entry.via),
        storable(entry.operation),
        storable(entry.target),
        _json(entry.parameters),
        str(entry.outcome),
        None if entry.error_code is None else storable(entry.error_code),
        round(entry.duration_ms * 1000),
        entry.result_bytes,
        storable(entry.result_digest),
    )


def _json(parameters: Any) -> str:
    """Return parameters as JSON; what is not JSON as text, what is too long as its beginning."""
    try:
        text = _ENCODER.encode(dict(parameters))
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"unreadable": type(error).__name__})
    if len(text) <= MOST_PARAMETERS:
        return text
    return json.dumps({"cut_off": text[: MOST_PARAMETERS // 2], "characters": len(text)})


def _outcome(name: str) -> str:
    known = [str(outcome) for outcome in Outcome]
    if name not in known:
        raise InputError(f"'outcome': no '{name[:80]}'; known: {', '.join(known)}")
    return name


def _audit_row(row: Any) -> AuditRow:
    return AuditRow(
        number=row.number,
        at=from_microseconds(row.at),
        call_id=row.call_id,
        principal=row.principal,
        via=row.via,
        operation=row.operation,
        target=row.target,
        parameters=json.loads(row.parameters),
        outcome=Outcome(row.outcome),
        error_code=row.error_code,
        duration_ms=row.duration_us / 1000,
        result_bytes=row.result_bytes,
        result_digest=row.result_digest,
        hash=row.hash,
    )
