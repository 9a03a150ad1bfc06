"""Reports over analytics events: listening, bandwidth, popular content, queries, and queries without results.

Every report is a page of rows, in the same order for the same events, with the number of all rows.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, Subquery, case, distinct, func, select, type_coerce

from stackroom.analytics.events import EventKind, EventLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import events, from_microseconds, to_microseconds, users
from stackroom.model.scope import SEES_EVERYTHING, Visibility

MICROSECONDS = 1_000_000
UNKNOWN = ""
"""The catalogue of an event whose catalogue is not known."""
MOST_NAMES = 1_000
FORMER = " (deleted)"
"""Follows the name of a user who was deleted before another of that name was created."""
Page = tuple[list[dict[str, Any]], int]
"""Rows, and how many there are in all."""


class ReportPeriod(StrEnum):
    """The period that rows are grouped by; weeks begin on Mondays, in UTC."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSpan:
    """The events that a report covers."""

    user: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """The end, exclusive."""
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
        """Return the plays of each user, the longest listening first, or of each period, the latest first."""
        chosen = self._labelled(span, by, [EventKind.PLAY])
        seconds = func.sum(chosen.c.seconds)
        wanted = select(
            chosen.c.label.label("period" if by else "user"),
            func.count().label("plays"),
            seconds.label("seconds"),
            func.count(distinct(chosen.c.catalogue + "/" + chosen.c.subject)).label("tracks"),
            func.count(distinct(chosen.c.user_name)).label("listeners"),
        ).group_by(chosen.c.label)
        return self._page(wanted, (chosen.c.label.desc(),) if by else (seconds.desc(), chosen.c.label), span)

    def bandwidth(self, span: EventSpan, *, by: ReportPeriod | None = None) -> Page:
        """Return the bytes sent to each user, most first, or in each period, latest first; and those downloaded."""
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
        return self._page(wanted, (chosen.c.label.desc(),) if by else (served.desc(), chosen.c.label), span)

    def popular(self, span: EventSpan) -> Page:
        """Return the played records, most often played first."""
        seconds = func.sum(events.c.seconds)
        wanted = (
            select(
                events.c.catalogue,
                events.c.subject.label("id"),
                func.count().label("plays"),
                seconds.label("seconds"),
                func.count(distinct(events.c.user_name)).label("listeners"),
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
                if connection.execute(select(column).where(column == name).limit(1)).first() is not None:
                    return [name]
            return list(connection.execute(select(users.c.name).order_by(users.c.name).limit(MOST_NAMES)).scalars())

    def searched(self, span: EventSpan, *, without_results: bool = False) -> Page:
        """Return the queries, most frequent first, or only those without results; `results` is the most of each."""
        wanted = (
            select(
                events.c.subject.label("query"),
                func.count().label("searches"),
                func.count(distinct(events.c.user_name)).label("users"),
                func.max(events.c.results).label("results"),
                func.max(events.c.at).label("last"),
            )
            .where(*_conditions(span, [EventKind.SEARCH], names_subjects=True))
            .group_by(events.c.subject)
        )
        if without_results:
            wanted = wanted.where(events.c.results == 0)
        rows, total = self._page(wanted, (func.count().desc(), events.c.subject), span)
        return [{**row, "last": from_microseconds(row["last"]).isoformat(timespec="seconds")} for row in rows], total

    def _labelled(self, span: EventSpan, by: ReportPeriod | None, kinds: list[EventKind]) -> Subquery:
        """Return the events with the key of their group: the user or a former one, or the first day of the period."""
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
            total = connection.execute(select(func.count()).select_from(wanted.subquery())).scalar_one()
            page = connection.execute(wanted.order_by(*order).offset(span.offset).limit(span.limit))
            # PostgreSQL sums to decimals.
            rows = [
                {name: value if isinstance(value, str) or value is None else int(value) for name, value in row.items()}
                for row in page.mappings()
            ]
            return rows, int(total)


def _created_at(user: str | ColumnElement[str]) -> ColumnElement[int]:
    """Return when the present user of a name was created; 0 where there is none, as after a deletion."""
    created_at = type_coerce(users.c.created_at, BigInteger)
    return func.coalesce(select(created_at).where(users.c.name == user).scalar_subquery(), 0)


def _conditions(span: EventSpan, kinds: list[EventKind], *, names_subjects: bool = False) -> list[ColumnElement[bool]]:
    """Return the conditions of a report's events; `names_subjects`: the report shows their subjects."""
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
