"""The audit log: every call, in rows of a hash chain (`chain`).

Rows are written by a `BatchWriter`: a durable row is committed when `write` returns, others within 200 ms. While
nothing can be written, calls are refused in the end rather than go unaudited. Old rows can be pruned, which the chain
records. Commit point: the end of a transaction in which `_extend` is called.
"""

import json
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
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
from pinakes.control.database.batch_writer import BatchLimits, BatchWriter, insert_rows
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.tables import audit, audit_anchor, audit_head, storable
from pinakes.control.database.time_columns import from_microseconds, to_microseconds, utc_now
from pinakes.errors import InputError, StorageError
from pinakes.model.audit import AuditEntry, Outcome
from pinakes.model.principal import LOCAL_USER

__all__ = ["AuditLog", "AuditReport", "AuditRow"]

LOG = logging.getLogger(__name__)
LIMITS = BatchLimits(group_rows=200, group_s=0.2)
MOST_LISTED = 10_000
CHECKED_AT_ONCE = 1000
PRUNED_AT_ONCE = 5_000
MOST_PARAMETERS = 65_536
"""How many characters of parameters a row holds."""
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)
COLUMNS = tuple(audit.c[name] for name in (*HASHED_COLUMNS, "hash"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(AuditEntry):
    """An entry as it is stored."""

    number: int
    hash: str


class AuditLog:
    """The audit log of a control database. Safe to use from several threads; several processes share one chain."""

    def __init__(self, database: ControlDatabase, *, limits: BatchLimits = LIMITS) -> None:
        self._database = database
        self._writer = BatchWriter(self._append, name="audit", limits=limits)

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Queue a call for the audit; if durable, return when it is committed. Raises StorageError if it cannot be."""
        self._writer.put(entry, durable=durable)

    def flush(self) -> None:
        """Return when every entry queued so far is committed; raise StorageError if it cannot be."""
        self._writer.flush()

    def close(self) -> None:
        """Write the queue and end the thread; entries that cannot be written are counted in the server's log."""
        self._writer.close()
        if self._writer.dropped:
            LOG.error("%d calls could not be written to the audit: %s", self._writer.dropped, self._writer.last_error)

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
        """Check every row; with `expect` (`NUMBER:HASH`), also that that row is still in the chain."""
        noted = None if expect is None else parse_head(expect)
        self.flush()
        with self._database.read() as connection:
            head, anchor = _find_head(connection), _find_anchor(connection)
            check = ChainCheck(expect=noted, anchor=anchor)
            _follow(connection, check)
        problem = check.end(head)
        return AuditReport(rows=check.rows, first_problem=problem, head=str(head or check.last), pruned=anchor.number)

    def prune(self, before: datetime) -> int:
        """Remove the oldest rows, up to the first that is not older than this, and return how many.

        The chain then begins after the last removed row, and a new row records it. Rows that are not as they were
        written are not removed, nor those after them.
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
        """Remove rows up to this one, a bounded number at a time so that writers do not wait, and record it."""
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

    def _append(self, entries: Sequence[AuditEntry]) -> None:
        """Write rows to the end of the chain, in one transaction."""
        with self._database.begin() as connection:
            _extend(connection, _lock_head(connection), entries)


def _extend(connection: Connection, last: Head, entries: Sequence[AuditEntry]) -> None:
    """Append rows to the chain, whose head is locked."""
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
    """Return the head of the chain, locked until the transaction ends."""
    head = _find_head(connection, lock=True)
    if head is None:
        raise StorageError("the head of the audit is missing, which Pinakes never takes away: check it")
    return head


def _find_head(connection: Connection, *, lock: bool = False) -> Head | None:
    wanted = select(audit_head.c.number, audit_head.c.hash).where(audit_head.c.id == 1)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    return None if row is None else Head(row.number, row.hash)


def _find_anchor(connection: Connection) -> Head:
    """Return the last row that was pruned; the beginning if its row is missing."""
    row = connection.execute(select(audit_anchor.c.number, audit_anchor.c.hash)).one_or_none()
    return BEGINNING if row is None else Head(row.number, row.hash)


def _follow(connection: Connection, check: ChainCheck, *, last: int | None = None) -> None:
    """Feed the check all rows, or those up to `last`, a page at a time, by number."""
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
    """Return parameters as JSON; values that are not JSON become text, and long ones are cut."""
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
