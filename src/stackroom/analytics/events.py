"""Analytics events: searches, plays, downloads, and other answers.

Events are written by a `BatchWriter`. No call waits for them: when the queue is full, or the database cannot be written
for long, they are dropped and counted. They are not an audit: they can be pruned, and the oldest are removed when
there are too many. Commit point: the end of `_append`'s transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select

from stackroom.control.database.batch_writer import BatchLimits, BatchWriter, insert_rows
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import events, storable, to_microseconds, utc_now
from stackroom.model.principal import AuditEntry, Outcome

LIMITS = BatchLimits(group_rows=500, group_s=0.5)
MOST_KEPT = 1_000_000
"""How many events are kept; beyond that the oldest are removed."""
COUNTED_EVERY = 10_000
"""How many events are written between two checks whether there are too many."""
LONGEST_SUBJECT = 200
LONGEST_NAME = 100
COLUMNS = tuple(column for column in events.c if column is not events.c.number)
QUERY = "query"
CATALOGUE = "catalogue"
EVERYTHING = "*"
"""The query of a list, which searches for nothing."""
NOT_SEARCHES = ("debug.", "analytics.", "users.")
"""Prefixes of tools whose `query` argument is not a search."""


class EventKind(StrEnum):
    """The kind of an event."""

    SEARCH = "search"
    PLAY = "play"
    DOWNLOAD = "download"
    SERVE = "serve"
    """An answer that is neither a search nor a play: a record, a resource, a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An analytics event."""

    at: datetime
    kind: EventKind
    user: str
    subject: str = ""
    """Its subject: the query, the id of the record, the download or the URI."""
    catalogue: str = ""
    tool: str = ""
    results: int | None = None
    """How many records a search found; None if unknown."""
    seconds: float = 0
    """How long a record was played."""
    bytes: int = 0
    """The size of the answer, or of the downloaded files."""
    duration_ms: float = 0.0


class EventLog:
    """The events of one control database; implements the gate's `Observer`. Safe in several threads and processes."""

    def __init__(self, database: ControlDatabase, *, most_kept: int = MOST_KEPT, limits: BatchLimits = LIMITS) -> None:
        self._database = database
        self._most_kept = most_kept
        self._untrimmed = 0
        """How many events were written since the last check whether there are too many."""
        self._writer = BatchWriter(self._append, name="events", limits=limits, is_lossy=True)

    @property
    def dropped(self) -> int:
        """How many events were dropped."""
        return self._writer.dropped

    def note(self, event: Event) -> None:
        """Queue an event; where the queue is full it is dropped, and counted."""
        self._writer.offer(event)

    def write(self, entry: AuditEntry, *, durable: bool) -> None:  # noqa: ARG002 - the port's
        """Queue the event of a call; it never waits, and never fails the call."""
        event = event_of(entry)
        if event is not None:
            self.note(event)

    def record_play(self, user: str, record_id: str, seconds: float, *, catalogue: str = "") -> None:
        """Record that a user played a record's file, and for how long."""
        self._note_now(EventKind.PLAY, user=user, subject=record_id, catalogue=catalogue, seconds=seconds)

    def record_download(self, user: str, subject: str, size_bytes: int, *, catalogue: str = "") -> None:
        """Record that something was downloaded for a user."""
        self._note_now(EventKind.DOWNLOAD, user=user, subject=subject, catalogue=catalogue, bytes=size_bytes)

    def _note_now(self, kind: EventKind, **values: Any) -> None:
        self.note(Event(at=utc_now(), kind=kind, **values))

    def flush(self) -> None:
        """Return when every event noted so far is written; raise StorageError if it cannot be."""
        self._writer.flush()

    def close(self) -> None:
        """Write the queue, and end the thread."""
        self._writer.close()

    def prune(self, before: datetime) -> int:
        """Remove the events before a time, and return how many there were."""
        with self._database.begin() as connection:
            return connection.execute(events.delete().where(events.c.at < to_microseconds(before))).rowcount

    def _append(self, group: Sequence[Event]) -> None:
        """Write events in one transaction; now and then, remove the oldest."""
        written = self._untrimmed + len(group)
        is_time_to_trim = written >= COUNTED_EVERY
        with self._database.begin() as connection:
            insert_rows(connection, COLUMNS, [_row(event) for event in group])
            if is_time_to_trim:
                _trim(connection, most_kept=self._most_kept)
        self._untrimmed = 0 if is_time_to_trim else written


def event_of(entry: AuditEntry) -> Event | None:
    """Return the event of a call: a search or another answer; None if it failed or sent nothing."""
    if entry.outcome is not Outcome.OK:
        return None
    query = _query_of(entry)
    if query is None and not entry.result_bytes:
        return None
    catalogue = entry.parameters.get(CATALOGUE)
    return Event(
        at=entry.at,
        kind=EventKind.SERVE if query is None else EventKind.SEARCH,
        user=entry.principal,
        subject=entry.target if query is None else query,
        catalogue=catalogue if isinstance(catalogue, str) else "",
        tool=entry.target if entry.operation == "tools/call" else entry.operation,
        results=None if query is None else entry.result_count,
        bytes=entry.result_bytes,
        duration_ms=entry.duration_ms,
    )


def _query_of(entry: AuditEntry) -> str | None:
    """Return the normalised query of a search; None if the call is not a search, or asks for more of an earlier one."""
    query = entry.parameters.get(QUERY)
    if entry.operation != "tools/call" or entry.target.startswith(NOT_SEARCHES) or not isinstance(query, str):
        return None
    counts_again = "facets" in (entry.parameters.get("include") or ()) or entry.parameters.get("cursor")
    if query.strip() == EVERYTHING or counts_again:
        return None
    return " ".join(query.casefold().split())[:LONGEST_SUBJECT]


def _trim(connection: Connection, *, most_kept: int) -> None:
    """Remove the oldest events beyond the number that is kept."""
    oldest_kept = select(events.c.number).order_by(events.c.number.desc()).offset(most_kept - 1).limit(1)
    number = connection.execute(oldest_kept).scalar_one_or_none()
    if number is not None:
        connection.execute(events.delete().where(events.c.number < number))


def _row(event: Event) -> tuple[Any, ...]:
    """Return the values of a row, in the order of `COLUMNS`."""
    return (
        to_microseconds(event.at),
        str(event.kind),
        *(storable(name[:LONGEST_NAME]) for name in (event.user, event.catalogue, event.tool)),
        storable(event.subject[:LONGEST_SUBJECT]),
        event.results,
        round(max(event.seconds, 0)),
        max(event.bytes, 0),
        round(max(event.duration_ms, 0) * 1000),
    )
