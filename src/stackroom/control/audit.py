"""The audit log: every call, in rows of a hash chain.

Rows are written by a `BatchWriter`: a durable row is committed when `write` returns, others within
200 ms. While nothing can be written, calls are refused in the end rather than go unaudited. A call
that changes something is noted before it runs, and its row removes the note: a note that stays is
of a process that was killed, and becomes a row with the outcome `interrupted`. Commit point: the
end of a transaction in which `_extend_chain` is called.

Each row's hash covers the row and the hash before it, so any change is detected. A person who can
write the database could build a whole new chain; that is detected by a head that was kept elsewhere
(`expect`). Rows may be pruned from the beginning. The chain then begins at its anchor, the last row
that was pruned, and a later row of the chain records it: rows that were removed without such a row
are detected.
"""

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from stackroom.control.database import tables
from stackroom.control.database.batch_writer import BatchLimits, BatchWriter, insert_rows
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import audit, audit_begun, storable, to_microseconds, utc_now
from stackroom.errors import InputError, StorageError
from stackroom.frozen import frozen
from stackroom.model.principal import LOCAL_USER, AuditEntry, Outcome

LOG = logging.getLogger(__name__)
LIMITS = BatchLimits(group_rows=200, group_s=0.2)
PRUNED_AT_ONCE = 5_000
REBUILT_AT_ONCE = 500
CHECKED_AT_ONCE = 1000
MOST_PARAMETERS = 65_536  # how many characters of parameters a row holds
# up to how many rows are counted; a page of more rows says that there are at least so many
MOST_COUNTED = 100_000
MOST_DIGITS = 18
COLUMNS = tuple(audit.c)
HASHED_COLUMNS = tuple(column.name for column in COLUMNS if column is not audit.c.hash)
"""The hashed columns, in the order in which they are hashed."""
PRUNING = "audit/prune"
"""The operation of a row that records a pruning; its target is the head of the last row that was
pruned.
"""
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)
_CANONICAL = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=repr)


class Head(NamedTuple):
    """The number and the hash of a row, such as the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@frozen
class AuditReport:
    """The result of checking the audit, or a part of it."""

    rows: int  # how many rows are as they were written
    # the first row that is not as it was written, and why; None if all are
    first_problem: str | None
    last: str  # `NUMBER:HASH` of the last row that was checked; the next part begins after it
    head: str | None
    """The head of the last row; kept elsewhere, it later proves that no earlier row was
    rewritten.
    """
    is_complete: bool  # whether every row up to the head was checked
    pruned: int  # how many older rows were pruned; they are not counted in `rows`


@frozen
class AuditRow(AuditEntry):
    """An entry as it is stored."""

    number: int
    hash: str


@frozen
class AuditFilter:
    """Conditions on rows of the audit; None accepts any value."""

    principal: str | None = None
    operation: str | None = None
    target: str | None = None
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None  # the end, exclusive


@frozen
class AuditPage:
    """A page of rows, newest first."""

    rows: list[AuditRow]
    total: int  # how many rows match, counted up to `MOST_COUNTED`


BEGINNING = Head(0, tables.FIRST_HASH)


class AuditLog:
    """The audit log of a control database. Safe to use from several threads; several processes
    share one chain.
    """

    def __init__(self, database: ControlDatabase, *, limits: BatchLimits = LIMITS) -> None:
        self._database = database
        self._writer = BatchWriter(self._append, name="audit", limits=limits)
        self._begun: set[str] = set()

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Queue a call for the audit; if durable, return when it is committed. Raises StorageError
        if it cannot be.
        """
        self._writer.put(entry, durable=durable)

    def begin(self, entry: AuditEntry) -> None:
        """Note a call that is about to change something, until its row is written; raise
        StorageError if it cannot.
        """
        row = dict(zip(HASHED_COLUMNS, _values(0, entry), strict=True))
        with self._database.begin() as connection:
            connection.execute(
                audit_begun.insert(), {column.name: row[column.name] for column in audit_begun.c}
            )
        self._begun.add(entry.call_id)

    def add_interrupted(self, *, before: datetime) -> int:
        """Add a row for each call that was noted before a time and has none; return the number of
        rows.
        """
        added = 0
        while True:
            with self._database.begin() as connection:
                head = _lock_head(connection)
                wanted = (
                    select(audit_begun)
                    .where(audit_begun.c.at < to_microseconds(before))
                    .limit(REBUILT_AT_ONCE)
                )
                rows = connection.execute(wanted.order_by(audit_begun.c.at))
                begun = [AuditEntry(**_read_call(row), outcome=Outcome.INTERRUPTED) for row in rows]
                if not begun:
                    return added
                call_ids = [entry.call_id for entry in begun]
                written = select(audit.c.call_id).where(audit.c.call_id.in_(call_ids))
                known = set(connection.scalars(written))
                missing = [entry for entry in begun if entry.call_id not in known]
                if missing:
                    _extend_chain(connection, head, missing)
                connection.execute(delete(audit_begun).where(audit_begun.c.call_id.in_(call_ids)))
            added += len(missing)

    def flush(self) -> None:
        """Return when every entry queued so far is committed; raise StorageError if it cannot
        be.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write the queue and end the thread; entries that cannot be written are counted in the
        server's log.
        """
        self._writer.close()
        if self._writer.dropped:
            LOG.error(
                "%d calls could not be written to the audit: %s",
                self._writer.dropped,
                self._writer.last_error,
            )

    def find_problem(self) -> str | None:
        """Return the reason why entries wait to be written, or None if none wait."""
        return self._writer.find_problem()

    def page(self, wanted: AuditFilter, *, offset: int = 0, limit: int = 20) -> AuditPage:
        """Return a page of the rows that match the filter, newest first."""
        conditions = _conditions_of(wanted)
        newest_first = (
            select(*COLUMNS)
            .where(*conditions)
            .order_by(audit.c.number.desc())
            .offset(offset)
            .limit(limit)
        )
        counted = select(audit.c.number).where(*conditions).limit(MOST_COUNTED).subquery()
        with self._reading() as connection:
            return AuditPage(
                rows=[_audit_row(row) for row in connection.execute(newest_first)],
                total=connection.scalar(select(func.count()).select_from(counted)) or 0,
            )

    def verify(
        self, *, expect: str | None = None, after: str | None = None, most_s: float = float("inf")
    ) -> AuditReport:
        """Check every row; with `expect` (`NUMBER:HASH`), also that this row is still in the chain.

        With `after` (`NUMBER:HASH`), check only the rows after that one; stop after `most_s`
        seconds.
        """
        expected = None if expect is None else _parse_head(expect, name="expect")
        start = None if after is None else _parse_head(after, name="head")
        ends_at = time.monotonic() + most_s
        with self._reading() as connection:
            head, anchor = _find_head(connection), _find_anchor(connection)
            if start is None:
                check = _begin_check(connection, anchor)
            else:
                check = _ChainCheck(
                    connection, start, problem=_problem_with_noted(connection, start, anchor)
                )
            is_complete = check.follow(go_on=lambda: time.monotonic() < ends_at)
            problem = check.find_problem_at_end(head) if is_complete else check.problem
            if problem is None and expected is not None:
                problem = _problem_with_noted(connection, expected, anchor)
        last, written = str(check.last), None if head is None else str(head)
        return AuditReport(
            rows=check.rows,
            first_problem=problem,
            last=last,
            head=written,
            is_complete=is_complete,
            pruned=anchor.number,
        )

    def prune(self, before: datetime) -> int:
        """Remove the oldest rows, up to the first that is not older than this, and return how many.

        The chain then begins after the last removed row, and a new row records it. Rows that are
        not as they were written are not removed, nor those after them.
        """
        with self._reading() as connection:
            newer = select(func.min(audit.c.number)).where(audit.c.at >= to_microseconds(before))
            kept_from = connection.scalar(newer)
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
        """Remove rows up to this one, a bounded number at a time so that writers do not wait, and
        record the pruning.
        """
        with self._database.begin() as connection:
            head = _lock_head(connection)
            anchor = _find_anchor(connection)
            check = _begin_check(connection, anchor)
            check.follow(last=min(last, anchor.number + PRUNED_AT_ONCE))
            if check.problem is not None:
                raise StorageError(
                    f"nothing is pruned, since the audit is not whole: {check.problem}; see"
                    " stackroom audit verify"
                )
            if not check.rows:
                return 0
            connection.execute(delete(audit).where(audit.c.number <= check.last.number))
            connection.execute(
                update(tables.audit_anchor).values(number=check.last.number, hash=check.last.hash)
            )
            parameters = {**entry.parameters, "rows": check.rows}
            _extend_chain(
                connection, head, [replace(entry, target=str(check.last), parameters=parameters)]
            )
        return check.rows

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Open a read transaction in which every entry queued so far is committed."""
        self.flush()
        with self._database.read() as connection:
            yield connection

    def _append(self, entries: Sequence[AuditEntry]) -> None:
        """Write rows to the end of the chain, in one transaction."""
        ended = self._begun.intersection(entry.call_id for entry in entries)
        with self._database.begin() as connection:
            _extend_chain(connection, _lock_head(connection), entries)
            if ended:
                connection.execute(delete(audit_begun).where(audit_begun.c.call_id.in_(ended)))
        self._begun -= ended


class _ChainCheck:
    """Checks the rows of the chain after a head, up to the first damaged one."""

    def __init__(self, connection: Connection, start: Head, *, problem: str | None = None) -> None:
        self.problem = problem
        self.last = start
        self._start = start
        self._connection = connection

    @property
    def rows(self) -> int:
        """The number of intact rows."""
        return self.last.number - self._start.number

    def follow(self, *, last: int | None = None, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Check the rows that follow, up to `last`, a page at a time; tell whether it saw them
        all.
        """
        wanted = select(*COLUMNS).order_by(audit.c.number).limit(CHECKED_AT_ONCE)
        if last is not None:
            wanted = wanted.where(audit.c.number <= last)
        while self.problem is None:
            page = self._connection.execute(wanted.where(audit.c.number > self.last.number)).all()
            for *values, digest in page:
                self.problem = self._problem_with(values, digest)
                if self.problem is not None:
                    return True
                self.last = Head(values[0], digest)
            if len(page) < CHECKED_AT_ONCE:
                return True
            if not go_on():
                return False
        return True

    def find_problem_at_end(self, head: Head | None) -> str | None:
        """Return the first problem, or how the last row differs from the head, or None if the chain
        is intact.
        """
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
            return (
                f"row {wanted} is missing"
                if is_late
                else f"row {number} was not written by Stackroom"
            )
        if hash_of(self.last.hash, values) != digest:
            return f"row {number} is not as it was written, or the row before it is not"
        return None


def _begin_check(connection: Connection, anchor: Head) -> _ChainCheck:
    """Return a check of all rows after the anchor; a row before it, or a pruning without a record,
    is a problem.
    """
    numbers, problem = select(audit.c.number).limit(1), None
    before = connection.scalar(numbers.where(audit.c.number <= anchor.number))
    noting = numbers.where(audit.c.target == str(anchor), audit.c.operation == PRUNING)
    if before is not None:
        problem = f"row {before} was not written by Stackroom"
    elif anchor != BEGINNING and connection.scalar(noting) is None:
        problem = f"rows up to {anchor.number} are missing, and no row says that they were pruned"
    return _ChainCheck(connection, anchor, problem=problem)


def _problem_with_noted(connection: Connection, noted: Head, anchor: Head) -> str | None:
    """Return why a recorded head belongs neither to a row of the chain nor to the last pruned row,
    or None.
    """
    wanted = select(audit.c.hash).where(audit.c.number == noted.number)
    is_anchor = noted.number == anchor.number
    digest = anchor.hash if is_anchor else connection.scalar(wanted)
    if digest == noted.hash:
        return None
    if digest is not None:
        return f"row {noted.number} does not have the expected hash: rows up to it were rewritten"
    was = (
        f"was pruned with all rows up to {anchor.number}"
        if noted.number < anchor.number
        else "is missing"
    )
    return f"row {noted.number}, which is expected, {was}"


def _conditions_of(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [
        column == storable(text)
        for column in (audit.c.principal, audit.c.operation, audit.c.target)
        if (text := getattr(wanted, column.name)) is not None
    ]
    if wanted.outcome is not None:
        found.append(audit.c.outcome == str(wanted.outcome))
        if wanted.outcome != Outcome.OK:
            # lets the database use the partial index
            found.append(audit.c.outcome != str(Outcome.OK))
    if wanted.since is not None:
        found.append(audit.c.at >= to_microseconds(wanted.since))
    if wanted.until is not None:
        found.append(audit.c.at < to_microseconds(wanted.until))
    return found


def hash_of(previous: str, values: Sequence[Any]) -> str:
    """Return the hash of a row with these values in the order of `HASHED_COLUMNS`, after a row with
    that hash.
    """
    canonical = _CANONICAL.encode(list(values))
    return hashlib.sha256(f"{previous}{canonical}".encode("ascii")).hexdigest()


def _parse_head(text: str, *, name: str) -> Head:
    number, _, digest = text.strip().partition(":")
    is_number = number.isdecimal() and len(number) <= MOST_DIGITS
    if not is_number or len(digest) != len(tables.FIRST_HASH):
        raise InputError(
            f"'{name}' must be NUMBER:HASH as an earlier check printed it, not {text[:100]!r}"
        )
    return Head(int(number), digest.lower())


def _extend_chain(connection: Connection, last: Head, entries: Sequence[AuditEntry]) -> None:
    """Append rows to the chain, whose head is locked."""
    rows = []
    for entry in entries:
        values = _values(last.number + 1, entry)
        last = Head(last.number + 1, hash_of(last.hash, values))
        rows.append((*values, last.hash))
    try:
        insert_rows(connection, COLUMNS, rows)
    except IntegrityError as error:
        problem = (
            "the audit has rows past its end, which Stackroom did not write; check it: stackroom"
            " audit verify"
        )
        raise StorageError(problem) from error
    connection.execute(update(tables.audit_head).values(number=last.number, hash=last.hash))


def _find_anchor(connection: Connection) -> Head:
    """Return the head of the last pruned row, or the beginning if it is missing."""
    return _find_head(connection, tables.audit_anchor) or BEGINNING


def _find_head(
    connection: Connection, table: Table = tables.audit_head, *, lock: bool = False
) -> Head | None:
    """Return the head in a table (of the chain, or of its anchor), or None if it is missing."""
    wanted = select(table.c.number, table.c.hash).where(table.c.id == 1)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    return None if row is None else Head(row.number, row.hash)


def _lock_head(connection: Connection) -> Head:
    """Return the head of the chain, locked until the transaction ends."""
    head = _find_head(connection, lock=True)
    if head is None:
        problem = (
            "the head of the audit is missing, which Stackroom never takes away; check it:"
            " stackroom audit verify"
        )
        raise StorageError(problem)
    return head


def _values(number: int, entry: AuditEntry) -> tuple[Any, ...]:
    """Return the values of a row, in the order of `HASHED_COLUMNS`."""
    return (
        number,
        to_microseconds(entry.at),
        *map(storable, (entry.call_id, entry.principal, entry.via, entry.operation, entry.target)),
        _json(entry.parameters),
        str(entry.outcome),
        None if entry.error_code is None else storable(entry.error_code),
        round(entry.duration_ms * 1000),
        entry.result_bytes,
        storable(entry.result_digest),
    )


def _audit_row(row: Any) -> AuditRow:
    same = {
        name: getattr(row, name)
        for name in ("number", "error_code", "result_bytes", "result_digest", "hash")
    }
    return AuditRow(
        **_read_call(row), **same, outcome=Outcome(row.outcome), duration_ms=row.duration_us / 1000
    )


def _read_call(row: Any) -> dict[str, Any]:
    """Return the part of a row that says who called which operation."""
    texts = {name: getattr(row, name) for name in tables.CALL_TEXTS}
    return {
        **texts,
        "at": tables.from_microseconds(row.at),
        "parameters": json.loads(row.parameters),
    }


def _json(parameters: Any) -> str:
    """Return parameters as JSON; values that are not JSON become text, and long ones are cut."""
    try:
        text = _ENCODER.encode(dict(parameters))
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"unreadable": type(error).__name__})
    if len(text) <= MOST_PARAMETERS:
        return text
    return json.dumps({"cut_off": text[: MOST_PARAMETERS // 2], "characters": len(text)})
