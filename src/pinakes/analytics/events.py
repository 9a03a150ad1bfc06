"""What happened, for analytics: searches, plays, downloads, and what was served.

Events are queued and written by one thread, in groups. Nobody waits for them: where the queue is full, or the database
cannot be written for long, they are dropped and counted. They are no audit: they can be pruned, and the oldest go by
themselves when there are too many. Commit point: the end of `_append`'s transaction.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any

from sqlalchemy import Connection, select

from pinakes.analytics.tables import events
from pinakes.control.database.bulk_insert import insert_rows
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.time_columns import to_microseconds, utc_now
from pinakes.errors import StorageError
from pinakes.model.audit import AuditEntry, Outcome

LOG = logging.getLogger(__name__)
MOST_QUEUED = 10_000
GROUP_ROWS = 500
GROUP_S = 0.5
RETRY_S = 0.5
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

    def __init__(self, database: ControlDatabase, *, most_kept: int = MOST_KEPT) -> None:
        self._database = database
        self._most_kept = most_kept
        self._guard = threading.Lock()
        self._has_moved = threading.Condition(self._guard)
        self._queue: deque[Event] = deque()
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._flushes = 0
        """How many wait for what they noted to be written."""
        self._taken = 0
        """How many events have left the queue since the log was opened, written or dropped."""
        self._written = 0
        """How many events were written since it was last looked whether there are too many."""
        self._last_error: StorageError | None = None
        self.dropped = 0
        """How many events could not be kept."""

    def note(self, event: Event) -> None:
        """Have an event written soon; where too many wait already it is dropped, and counted."""
        with self._guard:
            if self._is_closing or len(self._queue) >= MOST_QUEUED:
                self.dropped += 1
                return
            self._queue.append(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="events", daemon=True)
                self._thread.start()
            if len(self._queue) in {1, GROUP_ROWS}:
                self._has_moved.notify_all()

    def flush(self) -> None:
        """Return when everything that was noted until now is written; where it cannot be, raise."""
        with self._guard:
            wanted = self._taken + len(self._queue)  # what others note meanwhile is not waited for
            if self._taken >= wanted:
                return
            self._last_error = None
            self._flushes += 1
            self._has_moved.notify_all()
            try:
                self._has_moved.wait_for(lambda: self._taken >= wanted or self._last_error is not None)
            finally:
                self._flushes -= 1
            if self._taken < wanted and self._last_error is not None:
                raise StorageError(self._last_error.message)

    def close(self) -> None:
        """Write what is queued, and end the thread."""
        with self._guard:
            self._is_closing = True
            thread = self._thread
            self._has_moved.notify_all()
        if thread is not None:
            thread.join()

    def prune(self, before: datetime) -> int:
        """Remove the events of before a moment, and return how many there were."""
        with self._database.begin() as connection:
            return connection.execute(events.delete().where(events.c.at < to_microseconds(before))).rowcount

    def _run(self) -> None:
        """Write what is queued, until the log is closed; a bug ends the thread, and the next event starts another."""
        try:
            while group := self._next_group():
                self._try_to_write(group)
        except BaseException:
            with self._guard:
                self._thread = None
                self._drop_queue()
            raise

    def _try_to_write(self, group: Sequence[Event]) -> None:
        try:
            self._append(group)
        except StorageError as error:
            self._put_off(error)
        else:
            self._settle(group)

    def _drop_queue(self) -> None:
        """Give up what is queued; called with the lock held."""
        self.dropped += len(self._queue)
        self._taken += len(self._queue)
        self._queue.clear()
        self._has_moved.notify_all()

    def _next_group(self) -> list[Event]:
        """Return what to write next, when enough has come together; nothing when the log is closed and empty."""
        with self._guard:
            self._has_moved.wait_for(lambda: self._queue or self._is_closing)
            self._has_moved.wait_for(self._is_pressing, timeout=GROUP_S)
            return list(islice(self._queue, GROUP_ROWS))

    def _is_pressing(self) -> bool:
        return len(self._queue) >= GROUP_ROWS or self._flushes > 0 or self._is_closing

    def _settle(self, group: Sequence[Event]) -> None:
        with self._guard:
            for _ in group:
                self._queue.popleft()
            self._taken += len(group)
            self._last_error = None
            self._has_moved.notify_all()

    def _put_off(self, error: StorageError) -> None:
        """Keep what could not be written for another attempt; at the end there is none."""
        with self._guard:
            if self._last_error is None:
                LOG.warning("events cannot be written: %s", error.message)
            self._last_error = error
            if self._is_closing:
                self._drop_queue()
            self._has_moved.notify_all()
        if not self._is_closing:
            time.sleep(RETRY_S)

    def _append(self, group: Sequence[Event]) -> None:
        """Write events, in one transaction; now and then, see that there are not too many."""
        written = self._written + len(group)
        is_time_to_trim = written >= COUNTED_EVERY
        with self._database.begin() as connection:
            insert_rows(connection, COLUMNS, [_row(event) for event in group])
            if is_time_to_trim:
                _trim(connection, most_kept=self._most_kept)
        self._written = 0 if is_time_to_trim else written


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
