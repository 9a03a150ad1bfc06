"""Analytics events: searches, plays, downloads, and other answers; and the reports over them, each
a page of rows.

Events are written by a `BatchWriter`. No call waits for them: when the queue is full, or the
database cannot be written for long, they are dropped and counted. They are not an audit: they can
be pruned, and the oldest are removed when there are too many. Commit point: the end of `_append`'s
transaction.
"""

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Subquery,
    case,
    func,
    select,
    type_coerce,
)

from stackroom.control.database.batch_writer import BatchLimits, BatchWriter, insert_rows
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import (
    events,
    from_microseconds,
    storable,
    to_microseconds,
    users,
    utc_now,
)
from stackroom.frozen import frozen
from stackroom.model.principal import AuditEntry, Outcome
from stackroom.model.scope import SEES_EVERYTHING, Visibility

MICROSECONDS = 1_000_000
UNKNOWN = ""  # the catalogue of an event whose catalogue is not known
MOST_NAMES = 1_000
# follows the name of a user who was deleted before another of that name was created
FORMER = " (deleted)"
Page = tuple[list[dict[str, Any]], int]  # rows, and how many there are in all
LIMITS = BatchLimits(group_rows=500, group_s=0.5)
MOST_KEPT = 1_000_000  # how many events are kept; beyond that the oldest are removed
COUNTED_EVERY = 10_000  # how many events are written between two checks whether there are too many
LONGEST_SUBJECT = 200
LONGEST_NAME = 100
COLUMNS = tuple(column for column in events.c if column is not events.c.number)
QUERY = "query"
CATALOGUE = "catalogue"
EVERYTHING = "*"  # the query of a list, which searches for nothing
# prefixes of tools whose `query` argument is not a search
NOT_SEARCHES = ("debug.", "analytics.", "users.")


class EventKind(StrEnum):
    """The kind of an event."""

    SEARCH = "search"
    PLAY = "play"
    DOWNLOAD = "download"
    SERVE = "serve"  # an answer that is neither a search nor a play: a record, a resource, a file


@frozen
class Event:
    """An analytics event."""

    at: datetime
    kind: EventKind
    user: str
    subject: str = ""  # its subject: the query, the id of the record, the download or the URI
    catalogue: str = ""
    tool: str = ""
    results: int | None = None  # how many records a search found; None if unknown
    seconds: float = 0  # how long a record was played
    bytes: int = 0  # the size of the answer, or of the downloaded files
    duration_ms: float = 0.0


class EventLog:
    """The events of one control database; implements the gate's `Observer`. Safe in several threads
    and processes.
    """

    def __init__(
        self, database: ControlDatabase, *, most_kept: int = MOST_KEPT, limits: BatchLimits = LIMITS
    ) -> None:
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
        if (event := event_of(entry)) is not None:
            self.note(event)

    def record_play(
        self, user: str, record_id: str, seconds: float, *, catalogue: str = ""
    ) -> None:
        """Record that a user played a record's file, and for how long."""
        played: dict[str, Any] = {"subject": record_id, "catalogue": catalogue, "seconds": seconds}
        self.note(Event(at=utc_now(), kind=EventKind.PLAY, user=user, **played))

    def record_download(
        self, user: str, subject: str, size_bytes: int, *, catalogue: str = ""
    ) -> None:
        """Record that something was downloaded for a user."""
        fetched: dict[str, Any] = {"subject": subject, "catalogue": catalogue, "bytes": size_bytes}
        self.note(Event(at=utc_now(), kind=EventKind.DOWNLOAD, user=user, **fetched))

    def flush(self) -> None:
        """Return when every event noted so far is written; raise StorageError if it cannot be."""
        self._writer.flush()

    def close(self) -> None:
        """Write the queue, and end the thread."""
        self._writer.close()

    def prune(self, before: datetime) -> int:
        """Remove the events before a time, and return how many there were."""
        with self._database.begin() as connection:
            return connection.execute(
                events.delete().where(events.c.at < to_microseconds(before))
            ).rowcount

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
    """Return the normalised query of a search; None if the call is not a search, or asks for more
    of an earlier one.
    """
    given = entry.parameters
    query = given.get(QUERY)
    is_search = entry.operation == "tools/call" and not entry.target.startswith(NOT_SEARCHES)
    counts_again = "facets" in (given.get("include") or ()) or given.get("cursor")
    if not is_search or not isinstance(query, str) or query.strip() == EVERYTHING or counts_again:
        return None
    return " ".join(query.casefold().split())[:LONGEST_SUBJECT]


def _trim(connection: Connection, *, most_kept: int) -> None:
    """Remove the oldest events beyond the number that is kept."""
    oldest_kept = (
        select(events.c.number).order_by(events.c.number.desc()).offset(most_kept - 1).limit(1)
    )
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


class ReportPeriod(StrEnum):
    """The period that rows are grouped by; weeks begin on Mondays, in UTC."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@frozen
class EventSpan:
    """The events that a report covers."""

    user: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # the end, exclusive
    visibility: Visibility = field(default=SEES_EVERYTHING)
    """Catalogues that are hidden from the caller; their events are not counted.

    The subjects of events whose catalogue is not known are hidden from such a caller, too.
    """
    offset: int = 0
    limit: int = 20


class EventReports:
    """Reports over the events of one control database."""

    def __init__(self, database: ControlDatabase, log: EventLog) -> None:
        self._database = database
        self._log = log

    def listening(self, span: EventSpan, *, by: ReportPeriod | None = None) -> Page:
        """Return the plays of each user, the longest listening first, or of each period, the latest
        first.
        """
        chosen = self._labelled(span, by, [EventKind.PLAY])
        seconds = func.sum(chosen.c.seconds)
        wanted = select(
            chosen.c.label.label("period" if by else "user"),
            func.count().label("plays"),
            seconds.label("seconds"),
            func.count((chosen.c.catalogue + "/" + chosen.c.subject).distinct()).label("tracks"),
            func.count(chosen.c.user_name.distinct()).label("listeners"),
        ).group_by(chosen.c.label)
        return self._page(
            wanted, (chosen.c.label.desc(),) if by else (seconds.desc(), chosen.c.label), span
        )

    def bandwidth(self, span: EventSpan, *, by: ReportPeriod | None = None) -> Page:
        """Return the bytes sent to each user, most first, or in each period, latest first; and
        those downloaded.
        """
        chosen = self._labelled(span, by, list(EventKind))
        is_download = chosen.c.kind == EventKind.DOWNLOAD
        served = func.sum(case((is_download, 0), else_=chosen.c.bytes))
        wanted = (
            select(
                chosen.c.label.label("period" if by else "user"),
                func.sum(case((is_download, 0), else_=1)).label("requests"),
                served.label("served_bytes"),
                func.sum(case((is_download, chosen.c.bytes), else_=0)).label("downloaded_bytes"),
            )
            .where(chosen.c.bytes > 0)
            .group_by(chosen.c.label)
        )
        return self._page(
            wanted, (chosen.c.label.desc(),) if by else (served.desc(), chosen.c.label), span
        )

    def popular(self, span: EventSpan) -> Page:
        """Return the played records, most often played first."""
        seconds = func.sum(events.c.seconds)
        wanted = (
            select(
                events.c.catalogue,
                events.c.subject.label("id"),
                func.count().label("plays"),
                seconds.label("seconds"),
                func.count(events.c.user_name.distinct()).label("listeners"),
            )
            .where(*_conditions(span, [EventKind.PLAY], names_subjects=True))
            .group_by(events.c.catalogue, events.c.subject)
        )
        order = (func.count().desc(), seconds.desc(), events.c.catalogue, events.c.subject)
        return self._page(wanted, order, span)

    def find_user_names(self, name: str) -> list[str]:
        """Return the names that events and users have; only this one where it is among them."""
        self._log.flush()
        with self._database.read() as connection:
            for column in (users.c.name, events.c.user_name):
                if connection.execute(select(column).where(column == name).limit(1)).first():
                    return [name]
            names = select(users.c.name).order_by(users.c.name).limit(MOST_NAMES)
            return list(connection.execute(names).scalars())

    def searched(self, span: EventSpan, *, without_results: bool = False) -> Page:
        """Return the queries, most frequent first, or only those without results; `results` is the
        most of each.
        """
        wanted = (
            select(
                events.c.subject.label("query"),
                func.count().label("searches"),
                func.count(events.c.user_name.distinct()).label("users"),
                func.max(events.c.results).label("results"),
                func.max(events.c.at).label("last"),
            )
            .where(*_conditions(span, [EventKind.SEARCH], names_subjects=True))
            .group_by(events.c.subject)
        )
        if without_results:
            wanted = wanted.where(events.c.results == 0)
        rows, total = self._page(wanted, (func.count().desc(), events.c.subject), span)
        return [
            {**row, "last": from_microseconds(row["last"]).isoformat(timespec="seconds")}
            for row in rows
        ], total

    def _labelled(
        self, span: EventSpan, by: ReportPeriod | None, kinds: list[EventKind]
    ) -> Subquery:
        """Return the events with the key of their group: the user or a former one, or the first day
        of the period.
        """
        is_former = events.c.at < _created_at(events.c.user_name)
        user = case((is_former, events.c.user_name + FORMER), else_=events.c.user_name)
        label = user if by is None else self._first_day(by)
        return select(label.label("label"), events).where(*_conditions(span, kinds)).subquery()

    def _first_day(self, period: ReportPeriod) -> ColumnElement[Any]:
        second = events.c.at // MICROSECONDS
        if self._database.dialect == "postgresql":
            moment = func.timezone("UTC", func.to_timestamp(second))
            return func.to_char(func.date_trunc(str(period), moment), "YYYY-MM-DD")
        moves = {
            ReportPeriod.DAY: (),
            ReportPeriod.WEEK: ("weekday 0", "-6 days"),
            ReportPeriod.MONTH: ("start of month",),
        }
        return func.date(second, "unixepoch", *moves[period])

    def _page(self, wanted: Select[Any], order: tuple[Any, ...], span: EventSpan) -> Page:
        self._log.flush()
        with self._database.read() as connection:
            total = connection.execute(
                select(func.count()).select_from(wanted.subquery())
            ).scalar_one()
            page = connection.execute(wanted.order_by(*order).offset(span.offset).limit(span.limit))
            # PostgreSQL sums to decimals.
            rows = [
                {
                    name: value if isinstance(value, str) or value is None else int(value)
                    for name, value in row.items()
                }
                for row in page.mappings()
            ]
            return rows, int(total)


def _created_at(user: str | ColumnElement[str]) -> ColumnElement[int]:
    """Return when the present user of a name was created; 0 where there is none, as after a
    deletion.
    """
    created_at = type_coerce(users.c.created_at, BigInteger)
    return func.coalesce(select(created_at).where(users.c.name == user).scalar_subquery(), 0)


def _conditions(
    span: EventSpan, kinds: list[EventKind], *, names_subjects: bool = False
) -> list[ColumnElement[bool]]:
    """Return the conditions of a report's events; `names_subjects`: the report shows their
    subjects.
    """
    found: list[ColumnElement[bool]] = [events.c.kind.in_([str(kind) for kind in kinds])]
    if span.user is not None:
        found += [events.c.user_name == span.user, events.c.at >= _created_at(span.user)]
    if span.since is not None:
        found.append(events.c.at >= to_microseconds(span.since))
    if span.until is not None:
        found.append(events.c.at < to_microseconds(span.until))
    unknown = [] if names_subjects else [UNKNOWN]
    if span.visibility.only is not None:
        found.append(events.c.catalogue.in_([*unknown, *sorted(span.visibility.only)]))
    if span.visibility.hidden:
        hidden = [*sorted(span.visibility.hidden), *([UNKNOWN] if names_subjects else [])]
        found.append(events.c.catalogue.not_in(hidden))
    return found
