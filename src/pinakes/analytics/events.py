"""What happened, for analytics: searches, plays, downloads, and what was served.

Events are queued and written by one thread, in groups. Nobody waits for them: where the queue is full, or the database
cannot be written for long, they are dropped and counted. They are no audit: they can be pruned, and the oldest go by
themselves when there are too many. Commit point: the end of `_append`'s transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select

from pinakes.control.database.batch_writer import BatchLimits, BatchWriter, insert_rows
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.tables import events
from pinakes.control.database.time_columns import to_microseconds, utc_now
from pinakes.model.audit import AuditEntry, Outcome

LIMITS = BatchLimits(group_rows=500, group_s=0.5)
MOST_KEPT = 1_000_000
"""How many events are kept; when there are more, the oldest go."""
COUNTED_EVERY = 10_000
"""After how many written events it is looked whether there are too many."""
LONGEST_SUBJECT = 200
LONGEST_NAME = 100
COLUMNS = tuple(column for column in events.c if column is not events.c.number)
QUERY = "query"
CATALOGUE = "catalogue"
NOT_SEARCHES = ("debug.", "analytics.", "users.")
"""What tools begin with whose `query` is no search."""


class EventKind(StrEnum):
    """What happened."""

    SEARCH = "search"
    PLAY = "play"
    DOWNLOAD = "download"
    SERVE = "serve"
    """Something was sent that is neither a search's answer nor a play: a record, a resource, a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened."""

    at: datetime
    kind: EventKind
    user: str
    subject: str = ""
    """What it was about: the query, the id of the track, the download or the address."""
    catalogue: str = ""
    tool: str = ""
    results: int | None = None
    """How many records a search found; None where that is not known."""
    seconds: float = 0
    """How long was listened."""
    bytes: int = 0
    """How much was sent; for a download, how much was fetched."""
    duration_ms: float = 0.0


class EventLog:
    """The events of one control database. Safe to use from several threads and processes."""

    def __init__(self, database: ControlDatabase, *, most_kept: int = MOST_KEPT, limits: BatchLimits = LIMITS) -> None:
        self._database = database
        self._most_kept = most_kept
        self._untrimmed = 0
        """How many events were written since the last look whether there are too many."""
        self._writer = BatchWriter(self._append, name="events", limits=limits, is_lossy=True)

    @property
    def dropped(self) -> int:
        """How many events could not be kept."""
        return self._writer.dropped

    def note(self, event: Event) -> None:
        """Queue an event; where the queue is full it is dropped, and counted."""
        self._writer.offer(event)

    def flush(self) -> None:
        """Return when every event noted so far is written; raise StorageError if it cannot be."""
        self._writer.flush()

    def close(self) -> None:
        """Write the queue, and end the thread."""
        self._writer.close()

    def prune(self, before: datetime) -> int:
        """Remove the events of before a moment, and return how many there were."""
        with self._database.begin() as connection:
            return connection.execute(events.delete().where(events.c.at < to_microseconds(before))).rowcount

    def _append(self, group: Sequence[Event]) -> None:
        """Write events, in one transaction; now and then, see that there are not too many."""
        written = self._untrimmed + len(group)
        is_time_to_trim = written >= COUNTED_EVERY
        with self._database.begin() as connection:
            insert_rows(connection, COLUMNS, [_row(event) for event in group])
            if is_time_to_trim:
                _trim(connection, most_kept=self._most_kept)
        self._untrimmed = 0 if is_time_to_trim else written


class EventRecorder:
    """Notes what happens. Implements the gate's `Observer`, for searches and how much was sent."""

    def __init__(self, log: EventLog, *, now: Callable[[], datetime] = utc_now) -> None:
        self._log = log
        self._now = now

    def write(self, entry: AuditEntry, *, durable: bool) -> None:  # noqa: ARG002 - the port's
        """Note a call that gave something; nobody waits for it, and nothing of it can fail a call."""
        event = event_of(entry)
        if event is not None:
            self._log.note(event)

    def record_play(self, user: str, track_id: str, seconds: float, *, catalogue: str = "") -> None:
        """Note that somebody heard a track, and for how long."""
        self._note(EventKind.PLAY, user, track_id, catalogue=catalogue, seconds=seconds)

    def record_download(self, user: str, subject: str, size_bytes: int, *, catalogue: str = "") -> None:
        """Note that something was fetched for somebody."""
        self._note(EventKind.DOWNLOAD, user, subject, catalogue=catalogue, size_bytes=size_bytes)

    def _note(
        self,
        kind: EventKind,
        user: str,
        subject: str,
        *,
        catalogue: str,
        seconds: float = 0,
        size_bytes: int = 0,
    ) -> None:
        at = self._now()
        self._log.note(
            Event(at=at, kind=kind, user=user, subject=subject, catalogue=catalogue, seconds=seconds, bytes=size_bytes)
        )


def event_of(entry: AuditEntry) -> Event | None:
    """Return the event that a call was: a search, or something served; None for what is neither."""
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
    """Return what was searched for, in the form in which two queries count as the same; None where nothing was."""
    query = entry.parameters.get(QUERY)
    if entry.operation != "tools/call" or entry.target.startswith(NOT_SEARCHES) or not isinstance(query, str):
        return None
    return normalise_query(query)


def normalise_query(query: str) -> str:
    """Return a query in lower case, with single spaces, cut where it is long."""
    return " ".join(query.casefold().split())[:LONGEST_SUBJECT]


def _trim(connection: Connection, *, most_kept: int) -> None:
    """Remove the oldest events where there are more than are kept."""
    oldest_kept = select(events.c.number).order_by(events.c.number.desc()).offset(most_kept - 1).limit(1)
    number = connection.execute(oldest_kept).scalar_one_or_none()
    if number is not None:
        connection.execute(events.delete().where(events.c.number < number))


def _row(event: Event) -> tuple[Any, ...]:
    """Return the values of a row, in the order of `COLUMNS`."""
    return (
        to_microseconds(event.at),
        str(event.kind),
        _text(event.user, LONGEST_NAME),
        _text(event.catalogue, LONGEST_NAME),
        _text(event.tool, LONGEST_NAME),
        _text(event.subject, LONGEST_SUBJECT),
        event.results,
        round(max(event.seconds, 0)),
        max(event.bytes, 0),
        round(max(event.duration_ms, 0) * 1000),
    )


def _text(text: str, longest: int) -> str:
    """Return the beginning of a text, as every database takes it."""
    return text[:longest].encode("utf-8", "replace").decode().replace("\0", "\N{SYMBOL FOR NULL}")
