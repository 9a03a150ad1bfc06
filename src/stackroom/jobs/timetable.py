"""The schedule and next run of each job, in the control database: an interval, a cron expression in UTC, or manual.

A job that was missed while no scheduler ran is run once, however often it was missed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
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

MANUAL = "manual"
"""The schedule of a job that only runs when it is triggered."""
BACKUP_SCHEDULE = "0 3 * * *"
CRON_FIELDS = 5
LEAST = timedelta(minutes=1)
MOST = timedelta(days=366)
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
INTERVAL = re.compile(r"([0-9]+)\s*([smhdw])")
MOST_COUNT = 10**8
"""More than a year, in every unit."""
MOST_CHARS = 100
FORMS = (
    "write an interval such as 30m, 6h or 1d (units s, m, h, d, w), five fields of cron in UTC such as "
    f"'0 3 * * *' (minute, hour, day of month, month, day of week), or {MANUAL}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule with either `interval` or `cron`; with neither the job is manual."""

    text: str
    """The schedule in its normal form."""
    interval: timedelta | None = None
    cron: str | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first due time after a time; None for a manual schedule."""
        if self.interval is not None:
            return moment + self.interval
        if self.cron is not None:
            return next(CronSim(self.cron, moment.astimezone(UTC)), None)
        return None


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule; refuse others with the valid forms."""
    written = " ".join(text[: MOST_CHARS + 1].split())
    if len(text) > MOST_CHARS or not written:
        raise InputError(f"'schedule' is {'empty' if not written else 'too long'}; {FORMS}")
    if written.lower() == MANUAL:
        return Schedule(text=MANUAL)
    found = INTERVAL.fullmatch(written.lower())
    if found is not None:
        return _every(written, int(found[1]), UNITS[found[2]])
    if written.isascii() and len(written.split(" ")) == CRON_FIELDS:
        return _at(written)
    raise InputError(f"'schedule': {written[:60]!r} is not understood; {FORMS}")


def _every(written: str, count: int, unit: str) -> Schedule:
    interval = timedelta(**{unit: min(count, MOST_COUNT)})
    if not LEAST <= interval <= MOST:
        raise InputError(f"'schedule': {written!r} is not between a minute and a year; {FORMS}")
    return Schedule(text=written.replace(" ", "").lower(), interval=interval)


def _at(written: str) -> Schedule:
    try:
        first = next(CronSim(written, datetime(2024, 1, 1, tzinfo=UTC)), None)
    except CronSimError as error:
        reason = str(error)
        raise InputError(f"'schedule': {written!r}: {reason[:1].lower()}{reason[1:]}; {FORMS}") from error
    if first is None:
        raise InputError(f"'schedule': {written!r} names no day that ever comes; {FORMS}")
    return Schedule(text=written, cron=written)


BY_SCHEDULE = "schedule"
"""The requester of scheduled runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The present schedule of a job and its next run."""

    schedule: Schedule
    enabled: bool
    next_at: datetime | None
    """None: manual or disabled, or not planned by a scheduler yet."""


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

    def set_schedule(self, spec: JobSpec, text: str) -> None:
        """Change the schedule of a job."""
        schedule = parse_schedule(text)
        with self._database.begin() as connection:
            row = _locked(connection, spec.name)
            enabled = _timing(spec, row).enabled
            next_at = schedule.next_after(self._now()) if enabled else None
            _set(connection, spec.name, schedule=schedule.text, next_at=next_at)

    def set_enabled(self, spec: JobSpec, *, enabled: bool) -> None:
        """Enable or disable the schedule of a job."""
        with self._database.begin() as connection:
            row = _locked(connection, spec.name)
            next_at = _timing(spec, row).schedule.next_after(self._now()) if enabled else None
            _set(connection, spec.name, enabled=enabled, next_at=next_at)

    def queue_due(self, specs: list[JobSpec]) -> None:
        """Queue every due job and plan its next run; only for the holder of the lease."""
        for spec, timing in zip(specs, self.timings(specs).values(), strict=True):
            if timing.enabled:
                self._queue_where_due(spec, timing)

    def _queue_where_due(self, spec: JobSpec, timing: Timing) -> None:
        now = self._now()
        next_at = timing.schedule.next_after(now)
        if next_at is None:
            return
        is_due = timing.next_at is not None and timing.next_at <= now
        # Planned too late, by a wrong clock: plan it again.
        is_to_set = timing.next_at is None or timing.next_at > next_at
        if is_due or is_to_set:
            self._move(spec.name, timing.next_at, next_at, queue_at=now if is_due else None)

    def _move(self, name: str, seen: datetime | None, next_at: datetime, *, queue_at: datetime | None) -> None:
        """Plan the next run of a job, unless another process has, and queue it in the same transaction."""
        with self._database.begin() as connection:
            row = _locked(connection, name)
            if row.next_at != seen:
                return
            _set(connection, name, next_at=next_at)
            if queue_at is not None and find_live(connection, name) is None:
                insert_run(connection, name, cause=RunCause.SCHEDULE, by=BY_SCHEDULE, at=queue_at)


def _timing(spec: JobSpec, row: Any | None) -> Timing:
    if row is None:
        return Timing(schedule=parse_schedule(spec.schedule), enabled=spec.enabled, next_at=None)
    return Timing(
        schedule=_schedule(spec, row.schedule),
        enabled=spec.enabled if row.enabled is None else row.enabled,
        next_at=row.next_at,
    )


def _schedule(spec: JobSpec, written: str | None) -> Schedule:
    """Return the stored schedule; the default one where that is invalid."""
    try:
        return parse_schedule(spec.schedule if written is None else written)
    except InputError:
        return parse_schedule(spec.schedule)


def _locked(connection: Connection, name: str) -> Any:
    """Lock and return the settings row of a job; create it where it is missing."""
    wanted = select(job_settings).where(job_settings.c.name == name).with_for_update()
    row = connection.execute(wanted).one_or_none()
    if row is not None:
        return row
    try:
        connection.execute(insert(job_settings), {"name": name})
    except IntegrityError as error:  # another process created it first
        raise ConflictError(f"job '{name}' is being changed by another process; try again") from error
    return connection.execute(wanted).one()


def _set(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(job_settings).where(job_settings.c.name == name).values(values))
