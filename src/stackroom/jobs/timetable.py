"""The schedule and next run of each job, in the control database: an interval, a cron expression in
UTC, or manual.

A job that was missed while no scheduler ran is run once, however often it was missed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cronsim import CronSim, CronSimError
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import job_settings, utc_now
from stackroom.errors import ConflictError, InputError
from stackroom.jobs.job import JobSpec
from stackroom.jobs.runs import RunCause, find_live, insert_run

MANUAL = "manual"  # the schedule of a job that only runs when it is triggered
BACKUP_SCHEDULE = "0 3 * * *"
CRON_FIELDS = 5
LEAST = timedelta(minutes=1)
MOST = timedelta(days=366)
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
INTERVAL = re.compile(r"([0-9]+)\s*([smhdw])")
MOST_COUNT = 10**8  # more than a year, in every unit
MOST_CHARS = 100
FORMS = (
    "write an interval such as 30m, 6h or 1d (units s, m, h, d, w), five fields of cron in UTC"
    f" such as '0 3 * * *' (minute, hour, day of month, month, day of week), or {MANUAL}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a job is due."""

    text: str  # the schedule in its normal form
    next_after: Callable[[datetime], datetime | None] = field(compare=False, repr=False)
    """Returns the first due time after a time; None for a manual schedule."""


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule; refuse others with the valid forms."""
    written = " ".join(text[: MOST_CHARS + 1].split())
    if len(text) > MOST_CHARS or not written:
        raise InputError(f"'schedule' is {'empty' if not written else 'too long'}; {FORMS}")
    if written.lower() == MANUAL:
        return Schedule(text=MANUAL, next_after=lambda _moment: None)
    found = INTERVAL.fullmatch(written.lower())
    if found is not None:
        interval = timedelta(**{UNITS[found[2]]: min(int(found[1]), MOST_COUNT)})
        if not LEAST <= interval <= MOST:
            raise InputError(f"'schedule': {written!r} is not between a minute and a year; {FORMS}")
        return Schedule(
            text=written.replace(" ", "").lower(), next_after=lambda moment: moment + interval
        )
    if not written.isascii() or len(written.split(" ")) != CRON_FIELDS:
        raise InputError(f"'schedule': {written[:60]!r} is not understood; {FORMS}")
    try:
        first = next(CronSim(written, datetime(2024, 1, 1, tzinfo=UTC)), None)
    except CronSimError as error:
        reason = str(error)
        raise InputError(
            f"'schedule': {written!r}: {reason[:1].lower()}{reason[1:]}; {FORMS}"
        ) from error
    if first is None:
        raise InputError(f"'schedule': {written!r} names no day that ever comes; {FORMS}")
    return Schedule(
        text=written, next_after=lambda moment: next(CronSim(written, moment.astimezone(UTC)), None)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The present schedule of a job and its next run."""

    schedule: Schedule
    enabled: bool
    next_at: datetime | None  # none: manual or disabled, or not planned by a scheduler yet


class Timetable:
    """The timings of all jobs. Safe to use from several threads and processes."""

    def __init__(self, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    def timings(self, specs: list[JobSpec]) -> dict[str, Timing]:
        """Return the timings of these jobs."""
        with self._database.read() as connection:
            rows = {row.name: row for row in connection.execute(select(job_settings))}
        return {spec.name: _timing(spec, rows.get(spec.name)) for spec in specs}

    def change(
        self, spec: JobSpec, *, schedule: str | None = None, enabled: bool | None = None
    ) -> None:
        """Change the schedule of a job, or enable or disable it, and plan its next run by that."""
        changes = (
            {"schedule": parse_schedule(schedule).text}
            if schedule is not None
            else {"enabled": enabled}
        )
        with self._database.begin() as connection:
            _locked(connection, spec.name)
            _set(connection, spec.name, **changes)
            timing = _timing(spec, _locked(connection, spec.name))
            next_at = timing.schedule.next_after(self._now()) if timing.enabled else None
            _set(connection, spec.name, next_at=next_at)

    def queue_due(self, specs: list[JobSpec]) -> None:
        """Queue every due job and plan its next run; only for the holder of the lease."""
        now = self._now()
        for name, timing in self.timings(specs).items():
            next_at = timing.schedule.next_after(now) if timing.enabled else None
            is_due = timing.next_at is not None and timing.next_at <= now
            # One that is planned later than it should be, by a wrong clock, is planned again.
            if next_at is None or not (
                is_due or timing.next_at is None or timing.next_at > next_at
            ):
                continue
            with self._database.begin() as connection:
                # no other process has planned it
                if _locked(connection, name).next_at == timing.next_at:
                    _set(connection, name, next_at=next_at)
                    if is_due and find_live(connection, name) is None:
                        insert_run(
                            connection, name, cause=RunCause.SCHEDULE, by=RunCause.SCHEDULE, at=now
                        )


def _timing(spec: JobSpec, row: Any | None) -> Timing:
    """Return the stored timing; the default schedule where that is invalid."""
    written, enabled, next_at = (
        (None, None, None) if row is None else (row.schedule, row.enabled, row.next_at)
    )
    try:
        schedule = parse_schedule(spec.schedule if written is None else written)
    except InputError:
        schedule = parse_schedule(spec.schedule)
    return Timing(
        schedule=schedule, enabled=spec.enabled if enabled is None else enabled, next_at=next_at
    )


def _locked(connection: Connection, name: str) -> Any:
    """Lock and return the settings row of a job; create it where it is missing."""
    wanted = select(job_settings).where(job_settings.c.name == name).with_for_update()
    row = connection.execute(wanted).one_or_none()
    if row is not None:
        return row
    try:
        connection.execute(insert(job_settings), {"name": name})
    except IntegrityError as error:  # another process created it first
        raise ConflictError(
            f"job '{name}' is being changed by another process; try again"
        ) from error
    return connection.execute(wanted).one()


def _set(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(job_settings).where(job_settings.c.name == name).values(values))
