"""Reading the audit: rows by who, what, outcome and time, and a check of its hash chain. Nothing here writes.

Each row's hash covers the row and the hash before it, so any change is detected. A person who can write the database
could build a whole new chain; that is detected by a head that was kept elsewhere (`expect`).

Rows may be pruned from the beginning. The chain then begins at its anchor, the last row that was pruned, and a later
row of the chain records it: rows that were removed without such a row are detected.
"""

import hashlib
import json
import time
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

HASHED_COLUMNS = (
    "number",
    "at",
    "call_id",
    "principal",
    "via",
    "operation",
    "target",
    "parameters",
    "outcome",
    "error_code",
    "duration_us",
    "result_bytes",
    "result_digest",
)
"""Every column but the hash itself, in the order in which they are hashed."""
OPERATION, TARGET = HASHED_COLUMNS.index("operation"), HASHED_COLUMNS.index("target")
MOST_DIGITS = 18
_CANONICAL = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=repr)
PRUNING = "audit/prune"
"""The operation of a row that records a pruning; its target is the head of the last row that was pruned."""

__all__ = ["FIRST_HASH", "HASHED_COLUMNS", "PRUNING", "AuditReport", "ChainCheck", "Head", "hash_of", "parse_head"]


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of a row, such as the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The result of checking the audit."""

    rows: int
    first_problem: str | None
    """The first row that is not as it was written, and why; None if all are."""
    head: str
    """`NUMBER:HASH` of the last row; kept elsewhere, it later proves that nothing before it was rewritten."""
    pruned: int = 0
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
    """Follows the chain from its first row, or from the row after its anchor, as rows are given to it."""

    def __init__(self, *, expect: Head | None, anchor: Head = BEGINNING, is_part: bool = False) -> None:
        """`is_part`: the rows up to `anchor` were checked before, or are known to be pruned."""
        self.problem: str | None = None
        self.last = anchor
        self.is_part = is_part
        self._anchor = anchor
        self._is_anchor_noted = is_part or anchor == BEGINNING
        self._expect = expect

    @property
    def rows(self) -> int:
        """How many rows are as they were written."""
        return self.last.number - self._anchor.number

    def follow(self, rows: Iterable[Sequence[Any]]) -> None:
        """Check further rows, each the values of `HASHED_COLUMNS` and then the hash; stop at the first problem."""
        for *values, digest in rows:
            self.problem = self._problem_with(values, digest)
            if self.problem is not None:
                return
            self.last = Head(values[0], digest)
            if values[OPERATION] == PRUNING and values[TARGET] == str(self._anchor):
                self._is_anchor_noted = True

    def end(self, head: Head | None) -> str | None:
        """Compare the last row with the head and with the expected one, and return the first problem, or None."""
        return self.problem or self._problem_with_end(head) or self._problem_with_beginning()

    def _problem_with_end(self, head: Head | None) -> str | None:
        last = self.last.number
        if head is None:
            return "the head of the audit is missing"
        written = max(head.number, 0 if self._expect is None else self._expect.number)
        if last < written:
            return f"row {last + 1} is missing: {written} rows were written"
        if last > head.number:
            return f"row {head.number + 1} was not written by Stackroom, which wrote {head.number}"
        if self.last.hash != head.hash:
            return f"row {last} is not the one that was written last"
        return None

    def _problem_with_beginning(self) -> str | None:
        pruned = self._anchor.number
        if not self._is_anchor_noted:
            return f"rows up to {pruned} are missing, and no row says that they were pruned"
        if self._expect is None or self._expect.number > pruned or self._expect == self._anchor:
            return None
        if self._expect.number == pruned:
            return f"row {pruned} does not have the expected hash: rows up to it were rewritten"
        return f"row {self._expect.number}, which is expected, was pruned with all rows up to {pruned}"

    def _problem_with(self, values: Sequence[Any], digest: str) -> str | None:
        number, wanted = values[0], self.last.number + 1
        if number != wanted:
            is_late = isinstance(number, int) and number > wanted
            return f"row {wanted} is missing" if is_late else f"row {number} was not written by Stackroom"
        if hash_of(self.last.hash, values) != digest:
            return f"row {number} is not as it was written, or the row before it is not"
        if self._expect is not None and self._expect.number == number and self._expect.hash != digest:
            return f"row {number} does not have the expected hash: rows up to it were rewritten"
        return None


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
