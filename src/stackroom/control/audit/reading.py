"""Reading the audit: rows by who, what, outcome and time, and a check of its chain in parts. Nothing here writes."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from stackroom.control.audit.chain import BEGINNING, HASHED_COLUMNS, PRUNING, AuditReport, ChainCheck, Head
from stackroom.control.database.tables import audit, audit_anchor, audit_head, storable
from stackroom.control.database.time_columns import from_microseconds, to_microseconds
from stackroom.errors import InputError
from stackroom.model.audit import AuditEntry, Outcome

COLUMNS = tuple(audit.c[name] for name in (*HASHED_COLUMNS, "hash"))
CHECKED_AT_ONCE = 1000
MOST_COUNTED = 100_000
"""Up to how many rows are counted; a page of more rows says that there are at least so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(AuditEntry):
    """An entry as it is stored."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """The rows that are wanted; None: any."""

    principal: str | None = None
    operation: str | None = None
    target: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """The end, exclusive."""
    up_to: int | None = None
    """The highest number, so that pages agree while rows are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of rows, newest first."""

    rows: list[AuditRow]
    total: int
    """How many rows match, counted up to `MOST_COUNTED`."""
    up_to: int
    """The highest number that was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartReport:
    """The result of checking a part of the chain."""

    rows: int
    first_problem: str | None
    last: Head
    """The last row that was checked; the next part begins after it."""
    head: Head | None
    """The last row that was written."""
    is_complete: bool
    """Whether every row up to the head was checked."""
    pruned: int


def conditions_of(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter."""
    found: list[ColumnElement[bool]] = []
    texts = (
        (audit.c.principal, wanted.principal),
        (audit.c.operation, wanted.operation),
        (audit.c.target, wanted.target),
    )
    found += [column == storable(value) for column, value in texts if value is not None]
    if wanted.outcome is not None:
        found.append(audit.c.outcome == _outcome(wanted.outcome))
        if wanted.outcome != Outcome.OK:
            found.append(audit.c.outcome != str(Outcome.OK))  # lets the database use the partial index
    if wanted.since is not None:
        found.append(audit.c.at >= to_microseconds(wanted.since))
    if wanted.until is not None:
        found.append(audit.c.at < to_microseconds(wanted.until))
    if wanted.up_to is not None:
        found.append(audit.c.number <= wanted.up_to)
    return found


def list_rows(connection: Connection, wanted: AuditFilter, *, limit: int, after: int) -> list[AuditRow]:
    """Return the last rows; with `after`, the first ones past that number. Always the oldest first."""
    order = audit.c.number if after else audit.c.number.desc()
    query = select(*COLUMNS).where(audit.c.number > after, *conditions_of(wanted)).order_by(order).limit(limit)
    return sorted((audit_row(row) for row in connection.execute(query)), key=lambda row: row.number)


def read_page(connection: Connection, wanted: AuditFilter, *, offset: int, limit: int) -> AuditPage:
    """Return a page of rows, newest first."""
    conditions = conditions_of(wanted)
    newest_first = select(*COLUMNS).where(*conditions).order_by(audit.c.number.desc()).offset(offset).limit(limit)
    counted = select(audit.c.number).where(*conditions).limit(MOST_COUNTED).subquery()
    head = find_head(connection)
    return AuditPage(
        rows=[audit_row(row) for row in connection.execute(newest_first)],
        total=int(connection.execute(select(func.count()).select_from(counted)).scalar_one()),
        up_to=wanted.up_to or (0 if head is None else head.number),
    )


def verify_all(connection: Connection, *, expect: Head | None) -> AuditReport:
    """Check every row; with `expect`, also that that row is still in the chain."""
    head, anchor = find_head(connection), find_anchor(connection)
    check = ChainCheck(expect=expect, anchor=anchor)
    follow_rows(connection, check)
    problem = check.end(head)
    return AuditReport(rows=check.rows, first_problem=problem, head=str(head or check.last), pruned=anchor.number)


def verify_part(
    connection: Connection, *, after: Head | None, most_s: float, clock: Callable[[], float] = time.monotonic
) -> PartReport:
    """Check rows for so long at most, from the beginning or after a row that must still have its hash."""
    head, anchor = find_head(connection), find_anchor(connection)
    check = ChainCheck(expect=None, anchor=after or anchor, is_part=True)
    check.problem = _problem_with_start(connection, after, anchor)
    ends_at = clock() + most_s
    is_complete = follow_rows(connection, check, go_on=lambda: clock() < ends_at)
    return PartReport(
        rows=check.rows,
        first_problem=check.end(head) if is_complete else check.problem,
        last=check.last,
        head=head,
        is_complete=is_complete,
        pruned=anchor.number,
    )


def follow_rows(
    connection: Connection,
    check: ChainCheck,
    *,
    last: int | None = None,
    go_on: Callable[[], bool] = lambda: True,
) -> bool:
    """Feed the check all rows, or a part's, up to `last`, a page at a time; tell whether it saw them all."""
    wanted = select(*COLUMNS).order_by(audit.c.number).limit(CHECKED_AT_ONCE)
    if last is not None:
        wanted = wanted.where(audit.c.number <= last)
    first = wanted.where(audit.c.number > check.last.number) if check.is_part else wanted
    page = connection.execute(first).all()
    while page and check.problem is None:
        check.follow(page)
        if not go_on() and check.problem is None and len(page) == CHECKED_AT_ONCE:
            return False
        page = connection.execute(wanted.where(audit.c.number > page[-1].number)).all()
    return True


def find_head(connection: Connection, *, lock: bool = False) -> Head | None:
    """Return the last row that was written; None if its note is missing."""
    wanted = select(audit_head.c.number, audit_head.c.hash).where(audit_head.c.id == 1)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    return None if row is None else Head(row.number, row.hash)


def find_anchor(connection: Connection) -> Head:
    """Return the last row that was pruned; the beginning if its note is missing."""
    row = connection.execute(select(audit_anchor.c.number, audit_anchor.c.hash)).one_or_none()
    return BEGINNING if row is None else Head(row.number, row.hash)


def audit_row(row: Any) -> AuditRow:
    """Return a row of the table as a value."""
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


def _problem_with_start(connection: Connection, after: Head | None, anchor: Head) -> str | None:
    """Return why a part cannot begin after this row, or at the beginning of the chain; None where it can."""
    if after is None or after == anchor:
        return _problem_with_anchor(connection, anchor)
    digest = connection.execute(select(audit.c.hash).where(audit.c.number == after.number)).scalar_one_or_none()
    if digest == after.hash:
        return None
    if digest is None:
        was = "was pruned" if after.number <= anchor.number else "is missing"
        return f"row {after.number}, which is expected, {was}"
    return f"row {after.number} does not have the expected hash: rows up to it were rewritten"


def _problem_with_anchor(connection: Connection, anchor: Head) -> str | None:
    before = connection.execute(select(audit.c.number).where(audit.c.number <= anchor.number).limit(1)).first()
    if before is not None:
        return f"row {before.number} was not written by Stackroom"
    noting = select(audit.c.number).where(audit.c.target == str(anchor), audit.c.operation == PRUNING).limit(1)
    if anchor == BEGINNING or connection.execute(noting).first() is not None:
        return None
    return f"rows up to {anchor.number} are missing, and no row says that they were pruned"


def _outcome(name: str) -> str:
    known = [str(outcome) for outcome in Outcome]
    if name not in known:
        raise InputError(f"'outcome': no '{name[:80]}'; known: {', '.join(known)}")
    return name
