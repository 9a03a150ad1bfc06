"""The audit log: every call, in rows of a hash chain (`chain`), which `reading` reads.

Rows are written by a `BatchWriter`: a durable row is committed when `write` returns, others within 200 ms. While
nothing can be written, calls are refused in the end rather than go unaudited. A call that changes something is noted
before it runs, and its row removes the note: a note that stays is of a process that was killed, and becomes a row with
the outcome `interrupted`. Old rows can be pruned, which the chain records. Commit point: the end of a transaction in
which `_extend_chain` is called.
"""

import json
import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from stackroom.control.audit.reading import (
    COLUMNS,
    HASHED_COLUMNS,
    PRUNING,
    AuditFilter,
    AuditPage,
    AuditReport,
    AuditRow,
    Head,
    begin_check,
    find_anchor,
    find_head,
    follow_rows,
    hash_of,
    parse_head,
    read_page,
    verify_rows,
)
from stackroom.control.database.batch_writer import BatchLimits, BatchWriter, insert_rows
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import (
    audit,
    audit_anchor,
    audit_begun,
    audit_head,
    from_microseconds,
    storable,
    to_microseconds,
    utc_now,
)
from stackroom.errors import StorageError
from stackroom.model.principal import LOCAL_USER, AuditEntry, Outcome

__all__ = ["AuditFilter", "AuditLog", "AuditPage", "AuditReport", "AuditRow"]

LOG = logging.getLogger(__name__)
LIMITS = BatchLimits(group_rows=200, group_s=0.2)
PRUNED_AT_ONCE = 5_000
REBUILT_AT_ONCE = 500
MOST_PARAMETERS = 65_536
"""How many characters of parameters a row holds."""
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


class AuditLog:
    """The audit log of a control database. Safe to use from several threads; several processes share one chain."""

    def __init__(self, database: ControlDatabase, *, limits: BatchLimits = LIMITS) -> None:
        self._database = database
        self._writer = BatchWriter(self._append, name="audit", limits=limits)
        self._begun: set[str] = set()

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Queue a call for the audit; if durable, return when it is committed. Raises StorageError if it cannot be."""
        self._writer.put(entry, durable=durable)

    def begin(self, entry: AuditEntry) -> None:
        """Note a call that is about to change something, until its row is written; raise StorageError if it cannot."""
        row = dict(zip(HASHED_COLUMNS, _values(0, entry), strict=True))
        with self._database.begin() as connection:
            connection.execute(audit_begun.insert(), {column.name: row[column.name] for column in audit_begun.c})
        self._begun.add(entry.call_id)

    def add_interrupted(self, *, before: datetime) -> int:
        """Add a row for each call that was noted before a time and has none; return the number of rows."""
        added = 0
        while True:
            with self._database.begin() as connection:
                head = _lock_head(connection)
                wanted = select(audit_begun).where(audit_begun.c.at < to_microseconds(before)).limit(REBUILT_AT_ONCE)
                begun = [_interrupted(row) for row in connection.execute(wanted.order_by(audit_begun.c.at))]
                if not begun:
                    return added
                call_ids = [entry.call_id for entry in begun]
                known = set(connection.execute(select(audit.c.call_id).where(audit.c.call_id.in_(call_ids))).scalars())
                missing = [entry for entry in begun if entry.call_id not in known]
                if missing:
                    _extend_chain(connection, head, missing)
                connection.execute(delete(audit_begun).where(audit_begun.c.call_id.in_(call_ids)))
            added += len(missing)

    def flush(self) -> None:
        """Return when every entry queued so far is committed; raise StorageError if it cannot be."""
        self._writer.flush()

    def close(self) -> None:
        """Write the queue and end the thread; entries that cannot be written are counted in the server's log."""
        self._writer.close()
        if self._writer.dropped:
            LOG.error("%d calls could not be written to the audit: %s", self._writer.dropped, self._writer.last_error)

    def find_problem(self) -> str | None:
        """Return why calls wait to be written; None where none do."""
        return self._writer.find_problem()

    def page(self, wanted: AuditFilter, *, offset: int = 0, limit: int = 20) -> AuditPage:
        """Return a page of the rows that are wanted, newest first."""
        with self._reading() as connection:
            return read_page(connection, wanted, offset=offset, limit=limit)

    def verify(
        self, *, expect: str | None = None, after: str | None = None, most_s: float = float("inf")
    ) -> AuditReport:
        """Check every row; with `expect` (`NUMBER:HASH`), also that that row is still in the chain.

        With `after` (`NUMBER:HASH`), only the rows after that one are checked; and for so long at most.
        """
        expected = None if expect is None else parse_head(expect)
        start = None if after is None else parse_head(after, name="head")
        ends_at = time.monotonic() + most_s
        with self._reading() as connection:
            return verify_rows(connection, expect=expected, after=start, go_on=lambda: time.monotonic() < ends_at)

    def prune(self, before: datetime) -> int:
        """Remove the oldest rows, up to the first that is not older than this, and return how many.

        The chain then begins after the last removed row, and a new row records it. Rows that are not as they were
        written are not removed, nor those after them.
        """
        with self._reading() as connection:
            newer = select(func.min(audit.c.number)).where(audit.c.at >= to_microseconds(before))
            kept_from = connection.execute(newer).scalar_one()
            head = find_head(connection)
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
        """Remove rows up to this one, a bounded number at a time so that writers do not wait, and record it."""
        with self._database.begin() as connection:
            head = _lock_head(connection)
            anchor = find_anchor(connection)
            check = begin_check(connection, anchor)
            follow_rows(connection, check, last=min(last, anchor.number + PRUNED_AT_ONCE))
            if check.problem is not None:
                raise StorageError(
                    f"nothing is pruned, since the audit is not whole: {check.problem}; see stackroom audit verify"
                )
            if not check.rows:
                return 0
            connection.execute(delete(audit).where(audit.c.number <= check.last.number))
            connection.execute(update(audit_anchor).values(number=check.last.number, hash=check.last.hash))
            parameters = {**entry.parameters, "rows": check.rows}
            _extend_chain(connection, head, [replace(entry, target=str(check.last), parameters=parameters)])
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
        raise StorageError(
            "the audit has rows past its end, which Stackroom did not write; check it: stackroom audit verify"
        ) from error
    connection.execute(update(audit_head).values(number=last.number, hash=last.hash))


def _lock_head(connection: Connection) -> Head:
    """Return the head of the chain, locked until the transaction ends."""
    head = find_head(connection, lock=True)
    if head is None:
        raise StorageError(
            "the head of the audit is missing, which Stackroom never takes away; check it: stackroom audit verify"
        )
    return head


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


def _interrupted(row: Any) -> AuditEntry:
    return AuditEntry(
        at=from_microseconds(row.at),
        call_id=row.call_id,
        principal=row.principal,
        via=row.via,
        operation=row.operation,
        target=row.target,
        parameters=json.loads(row.parameters),
        outcome=Outcome.INTERRUPTED,
    )


def _json(parameters: Any) -> str:
    """Return parameters as JSON; values that are not JSON become text, and long ones are cut."""
    try:
        text = _ENCODER.encode(dict(parameters))
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"unreadable": type(error).__name__})
    if len(text) <= MOST_PARAMETERS:
        return text
    return json.dumps({"cut_off": text[: MOST_PARAMETERS // 2], "characters": len(text)})
