"""When jobs are due: what somebody has set of each, and the moment at which it runs next, in the control database.

What was missed while nothing ran is made up for once, however often it was missed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.tables import job_settings
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import ConflictError, InputError
from pinakes.jobs.runs import Cause, find_live, insert_run
from pinakes.jobs.schedule import Schedule, parse_schedule
from pinakes.jobs.spec import JobSpec

BY_SCHEDULE = "schedule"
"""Who asks for what runs by its schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a job runs, as it is set now."""

    schedule: Schedule
    enabled: bool
    next_at: datetime | None
    """None: not by itself, or the scheduler has not looked at it yet."""


class Timetable:
    """The times of every job. Safe to use from several threads and processes."""

    def __init__(self, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    def timings(self, specs: list[JobSpec]) -> dict[str, Timing]:
        """Return when each of these jobs runs."""
        with self._database.read() as connection:
            rows = {row.name: row for row in connection.execute(select(job_settings))}
        return {spec.name: _timing(spec, rows.get(spec.name)) for spec in specs}

    def set_schedule(self, spec: JobSpec, text: str) -> None:
        """Run a job at other times from now on."""
        schedule = parse_schedule(text)
        with self._database.begin() as connection:
            row = _locked(connection, spec.name)
            enabled = _timing(spec, row).enabled
            next_at = schedule.next_after(self._now()) if enabled else None
            _set(connection, spec.name, schedule=schedule.text, next_at=next_at)

    def set_enabled(self, spec: JobSpec, *, enabled: bool) -> None:
        """Let a job run by its schedule, or only when somebody asks for it."""
        with self._database.begin() as connection:
            row = _locked(connection, spec.name)
            next_at = _timing(spec, row).schedule.next_after(self._now()) if enabled else None
            _set(connection, spec.name, enabled=enabled, next_at=next_at)

    def queue_due(self, specs: list[JobSpec]) -> None:
        """Queue every job that is due, and set when it is due next; only for who holds the lease."""
        for spec, timing in zip(specs, self.timings(specs).values(), strict=True):
            if timing.enabled:
                self._queue_where_due(spec, timing)

    def _queue_where_due(self, spec: JobSpec, timing: Timing) -> None:
        now = self._now()
        next_at = timing.schedule.next_after(now)
        if next_at is None:
            return
        is_due = timing.next_at is not None and timing.next_at <= now
        # Later than it could be: the clock was wrong then, and the job must not wait until that time comes.
        is_to_set = timing.next_at is None or timing.next_at > next_at
        if is_due or is_to_set:
            self._move(spec.name, timing.next_at, next_at, queue_at=now if is_due else None)

    def _move(self, name: str, seen: datetime | None, next_at: datetime, *, queue_at: datetime | None) -> None:
        """Set when a job is due next, unless somebody else has meanwhile, and queue it in the same transaction."""
        with self._database.begin() as connection:
            row = _locked(connection, name)
            if row.next_at != seen:
                return
            _set(connection, name, next_at=next_at)
            if queue_at is not None and find_live(connection, name) is None:
                insert_run(connection, name, cause=Cause.SCHEDULE, by=BY_SCHEDULE, at=queue_at)


def usual_timing(spec: JobSpec) -> Timing:
    """Return when a job runs of which nobody has set anything."""
    return Timing(schedule=parse_schedule(spec.schedule), enabled=spec.enabled, next_at=None)


def _timing(spec: JobSpec, row: Any | None) -> Timing:
    if row is None:
        return usual_timing(spec)
    return Timing(
        schedule=_schedule(spec, row.schedule),
        enabled=spec.enabled if row.enabled is None else row.enabled,
        next_at=row.next_at,
    )


def _schedule(spec: JobSpec, written: str | None) -> Schedule:
    """Return the schedule that was set; where somebody has set nonsense by hand, the usual one."""
    try:
        return parse_schedule(spec.schedule if written is None else written)
    except InputError:
        return parse_schedule(spec.schedule)


def _locked(connection: Connection, name: str) -> Any:
    """Return the settings of a job, made where they are not there, which nobody else changes in this transaction."""
    wanted = select(job_settings).where(job_settings.c.name == name).with_for_update()
    row = connection.execute(wanted).one_or_none()
    if row is not None:
        return row
    try:
        connection.execute(insert(job_settings), {"name": name})
    except IntegrityError as error:  # another process was quicker
        raise ConflictError(f"job '{name}' is being changed by somebody else; try again") from error
    return connection.execute(wanted).one()


def _set(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(job_settings).where(job_settings.c.name == name).values(values))
