"""Reading the audit: rows by who, what, outcome and time, and a check of its hash chain. Nothing here writes.

Each row's hash covers the row and the hash before it, so any change is detected. A person who can write the database
could build a whole new chain; that is detected by a head that was kept elsewhere (`expect`).

Rows may be pruned from the beginning. The chain then begins at its anchor, the last row that was pruned, and a later
row of the chain records it: rows that were removed without such a row are detected.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from stackroom.control.database.tables import (
    FIRST_HASH,
    audit,
    audit_anchor,
    audit_head,
    from_microseconds,
    storable,
    to_microseconds,
)
from stackroom.errors import InputError
from stackroom.model.principal import AuditEntry, Outcome

HASHED_COLUMNS = tuple(column.name for column in audit.c if column is not audit.c.hash)
"""In the order in which they are hashed."""
MOST_DIGITS = 18
_CANONICAL = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=repr)
PRUNING = "audit/prune"
"""The operation of a row that records a pruning; its target is the head of the last row that was pruned."""


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of a row, such as the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The result of checking the audit, or a part of it."""

    rows: int
    """How many rows are as they were written."""
    first_problem: str | None
    """The first row that is not as it was written, and why; None if all are."""
    last: str
    """`NUMBER:HASH` of the last row that was checked; the next part begins after it."""
    head: str | None
    """That of the last row that was written; kept elsewhere, it later proves that nothing before it was rewritten."""
    is_complete: bool
    """Whether every row up to the head was checked."""
    pruned: int
    """How many older rows were pruned; they are not counted in `rows`."""


def hash_of(previous: str, values: Sequence[Any]) -> str:
    """Return the hash of a row with these values in the order of `HASHED_COLUMNS`, after a row with that hash."""
    canonical = _CANONICAL.encode(list(values))
    return hashlib.sha256(f"{previous}{canonical}".encode("ascii")).hexdigest()


def parse_head(text: str, *, name: str = "expect") -> Head:
    """Parse a head of the form `NUMBER:HASH`."""
    number, _, digest = text.strip().partition(":")
    is_number = number.isdecimal() and len(number) <= MOST_DIGITS
    if not is_number or len(digest) != len(FIRST_HASH):
        raise InputError(f"'{name}' must be NUMBER:HASH as an earlier check printed it, not {text[:100]!r}")
    return Head(int(number), digest.lower())


BEGINNING = Head(0, FIRST_HASH)


class ChainCheck:
    """Follows the chain from the row after a head, as rows are given to it."""

    def __init__(self, start: Head = BEGINNING, *, problem: str | None = None) -> None:
        self.problem = problem
        self.last = start
        self._start = start

    @property
    def rows(self) -> int:
        """How many rows are as they were written."""
        return self.last.number - self._start.number

    def follow(self, rows: Iterable[Sequence[Any]]) -> None:
        """Check further rows, each the values of `HASHED_COLUMNS` and then the hash; stop at the first problem."""
        for *values, digest in rows:
            self.problem = self._problem_with(values, digest)
            if self.problem is not None:
                return
            self.last = Head(values[0], digest)

    def find_problem_at_end(self, head: Head | None) -> str | None:
        """Return the first problem, or how the last row differs from the head; None if all is as it was written."""
        last = self.last.number
        if self.problem is not None:
            return self.problem
        if head is None:
            return "the head of the audit is missing"
        if last < head.number:
            return f"row {last + 1} is missing: {head.number} rows were written"
        if last > head.number:
            return f"row {head.number + 1} was not written by Stackroom, which wrote {head.number}"
        return None if self.last == head else f"row {last} is not the one that was written last"

    def _problem_with(self, values: Sequence[Any], digest: str) -> str | None:
        number, wanted = values[0], self.last.number + 1
        if number != wanted:
            is_late = isinstance(number, int) and number > wanted
            return f"row {wanted} is missing" if is_late else f"row {number} was not written by Stackroom"
        if hash_of(self.last.hash, values) != digest:
            return f"row {number} is not as it was written, or the row before it is not"
        return None


COLUMNS = tuple(audit.c)
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
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None
    """The end, exclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of rows, newest first."""

    rows: list[AuditRow]
    total: int
    """How many rows match, counted up to `MOST_COUNTED`."""


def conditions_of(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter."""
    texts = {column: getattr(wanted, column.name) for column in (audit.c.principal, audit.c.operation, audit.c.target)}
    found: list[ColumnElement[bool]] = [column == storable(text) for column, text in texts.items() if text is not None]
    if wanted.outcome is not None:
        found.append(audit.c.outcome == str(wanted.outcome))
        if wanted.outcome != Outcome.OK:
            found.append(audit.c.outcome != str(Outcome.OK))  # lets the database use the partial index
    if wanted.since is not None:
        found.append(audit.c.at >= to_microseconds(wanted.since))
    if wanted.until is not None:
        found.append(audit.c.at < to_microseconds(wanted.until))
    return found


def read_page(connection: Connection, wanted: AuditFilter, *, offset: int, limit: int) -> AuditPage:
    """Return a page of rows, newest first."""
    conditions = conditions_of(wanted)
    newest_first = select(*COLUMNS).where(*conditions).order_by(audit.c.number.desc()).offset(offset).limit(limit)
    counted = select(audit.c.number).where(*conditions).limit(MOST_COUNTED).subquery()
    return AuditPage(
        rows=[audit_row(row) for row in connection.execute(newest_first)],
        total=int(connection.execute(select(func.count()).select_from(counted)).scalar_one()),
    )


def verify_rows(
    connection: Connection, *, expect: Head | None, after: Head | None, go_on: Callable[[], bool]
) -> AuditReport:
    """Check rows from the beginning, or after a row, while `go_on` says so; `expect` has to be in the chain too."""
    head, anchor = find_head(connection), find_anchor(connection)
    check = begin_check(connection, anchor)
    if after is not None:
        check = ChainCheck(after, problem=_problem_with_noted(connection, after, anchor))
    is_complete = follow_rows(connection, check, go_on=go_on)
    problem = check.find_problem_at_end(head) if is_complete else check.problem
    if problem is None and expect is not None:
        problem = _problem_with_noted(connection, expect, anchor)
    return AuditReport(
        rows=check.rows,
        first_problem=problem,
        last=str(check.last),
        head=None if head is None else str(head),
        is_complete=is_complete,
        pruned=anchor.number,
    )


def begin_check(connection: Connection, anchor: Head) -> ChainCheck:
    """Return a check of all rows, those after the anchor; a row before it, or no note of its pruning, is a problem."""
    before = connection.execute(select(audit.c.number).where(audit.c.number <= anchor.number).limit(1)).first()
    if before is not None:
        return ChainCheck(anchor, problem=f"row {before.number} was not written by Stackroom")
    noting = select(audit.c.number).where(audit.c.target == str(anchor), audit.c.operation == PRUNING).limit(1)
    if anchor == BEGINNING or connection.execute(noting).first() is not None:
        return ChainCheck(anchor)
    return ChainCheck(anchor, problem=f"rows up to {anchor.number} are missing, and no row says that they were pruned")


def follow_rows(
    connection: Connection, check: ChainCheck, *, last: int | None = None, go_on: Callable[[], bool] = lambda: True
) -> bool:
    """Feed the check the rows that follow, up to `last`, a page at a time; tell whether it saw them all."""
    wanted = select(*COLUMNS).order_by(audit.c.number).limit(CHECKED_AT_ONCE)
    if last is not None:
        wanted = wanted.where(audit.c.number <= last)
    while check.problem is None:
        page = connection.execute(wanted.where(audit.c.number > check.last.number)).all()
        check.follow(page)
        if check.problem is None and len(page) < CHECKED_AT_ONCE:
            return True
        if not go_on():
            return check.problem is not None
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


def _problem_with_noted(connection: Connection, noted: Head, anchor: Head) -> str | None:
    """Return why a head that was noted is not that of a row of the chain, or of the last that was pruned."""
    wanted = select(audit.c.hash).where(audit.c.number == noted.number)
    is_anchor = noted.number == anchor.number
    digest = anchor.hash if is_anchor else connection.execute(wanted).scalar_one_or_none()
    if digest == noted.hash:
        return None
    if digest is not None:
        return f"row {noted.number} does not have the expected hash: rows up to it were rewritten"
    was = f"was pruned with all rows up to {anchor.number}" if noted.number < anchor.number else "is missing"
    return f"row {noted.number}, which is expected, {was}"
