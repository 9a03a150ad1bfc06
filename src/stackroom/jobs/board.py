"""The jobs of a library as users see and control them, from any process: when each runs, and its
runs.

Nothing runs here: requests are written to the control database, and the process that holds the
lease carries them out. A schedule is an interval, a cron expression in UTC, or manual. A job that
was missed while no scheduler ran is run once, however often it was missed.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any

from cronsim import CronSim, CronSimError
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import job_settings, utc_now
from stackroom.errors import ConflictError, InputError, NotFoundError, did_you_mean
from stackroom.frozen import frozen
from stackroom.jobs.job import JobRun, JobSpec, RunCause, Runs, find_live, insert_run
from stackroom.jobs.lease import Holder, Lease

MOST_LISTED = 200
RUN_ID = re.compile(r"[0-9]{1,9}")
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


@frozen
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


@frozen
class Timing:
    """The present schedule of a job and its next run."""

    schedule: Schedule
    enabled: bool
    next_at: datetime | None  # none: manual or disabled, or not planned by a scheduler yet


def _timing(spec: JobSpec, row: Any | None) -> Timing:
    """Return the stored timing; the default schedule where that is invalid."""
    schedule = parse_schedule(spec.schedule)
    if row is None:
        return Timing(schedule=schedule, enabled=spec.enabled, next_at=None)
    if row.schedule is not None:
        with suppress(InputError):
            schedule = parse_schedule(row.schedule)
    enabled = spec.enabled if row.enabled is None else row.enabled
    return Timing(schedule=schedule, enabled=enabled, next_at=row.next_at)


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


@frozen
class JobStatus:
    """A job, when it runs, and its last run."""

    spec: JobSpec
    timing: Timing
    last_run: JobRun | None


@frozen
class JobOutput:
    """A run and the kept part of its output."""

    run: JobRun
    text: str
    dropped_bytes: int


class JobBoard:
    """The jobs of one library. Safe to use from several threads."""

    def __init__(
        self,
        database: ControlDatabase,
        specs: Sequence[JobSpec],
        *,
        list_more: Callable[[], Sequence[JobSpec]] = tuple,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """`list_more` returns the jobs that come and go while a server runs, such as those of
        catalogues.
        """
        self._specs = {spec.name: spec for spec in specs}
        self._list_more = list_more
        if len(self._specs) < len(specs):
            raise ValueError(f"two of these jobs have the same name: {', '.join(self._specs)}")
        self.runs = Runs(database, now=now)
        self.database = database
        self.now = now
        self.on_change: Callable[[], None] = lambda: None
        """Called on every request made here; wakes a scheduler in the same process."""

    @property
    def specs(self) -> dict[str, JobSpec]:
        """The jobs that there are now, by name."""
        return {**self._specs, **{spec.name: spec for spec in self._list_more()}}

    def list_jobs(self) -> list[JobStatus]:
        """Return the jobs, by name, without quiet ones that were given no schedule and have not
        run.
        """
        return [
            job
            for job in self._with_status(sorted(self.specs.values(), key=lambda spec: spec.name))
            if not job.spec.is_quiet
            or job.last_run is not None
            or job.timing.schedule.text != job.spec.schedule
        ]

    def get_job(self, name: str) -> JobStatus:
        """Return a job; refuse an unknown name."""
        return self._with_status([self.get_spec(name)])[0]

    def timings(self, specs: Sequence[JobSpec]) -> dict[str, Timing]:
        """Return when these jobs run."""
        with self.database.read() as connection:
            rows = {row.name: row for row in connection.execute(select(job_settings))}
        return {spec.name: _timing(spec, rows.get(spec.name)) for spec in specs}

    def queue_due(self) -> None:
        """Queue every due job and plan its next run; only for the holder of the lease."""
        now = self.now()
        for name, timing in self.timings(list(self.specs.values())).items():
            planned = timing.next_at
            next_at = timing.schedule.next_after(now) if timing.enabled else None
            # One that is planned later than it should be, by a wrong clock, is planned again.
            if next_at is None or (planned is not None and now < planned <= next_at):
                continue
            is_due = planned is not None and planned <= now
            with self.database.begin() as connection:
                # no other process has planned it
                if _locked(connection, name).next_at == planned:
                    _set(connection, name, next_at=next_at)
                    if is_due and find_live(connection, name) is None:
                        insert_run(
                            connection, name, cause=RunCause.SCHEDULE, by=RunCause.SCHEDULE, at=now
                        )

    def _with_status(self, specs: list[JobSpec]) -> list[JobStatus]:
        timings, latest = self.timings(specs), self.runs.latest()
        return [
            JobStatus(spec=one, timing=timings[one.name], last_run=latest.get(one.name))
            for one in specs
        ]

    def get_spec(self, name: str) -> JobSpec:
        """Return the declaration of a job; refuse an unknown name."""
        specs = self.specs
        if name not in specs:
            known = sorted(specs)
            raise NotFoundError(
                f"no job '{name[:80]}'{did_you_mean(name, known)}; jobs: {', '.join(known)}"
            )
        return specs[name]

    def list_runs(
        self, name: str | None = None, *, limit: int = 20, offset: int = 0
    ) -> tuple[list[JobRun], int]:
        """Return a page of the runs of a job, or of all, the newest first, and the total."""
        job = None if name is None else self.get_spec(name).name
        return self.runs.list_runs(job=job, limit=limit, offset=offset)

    def find_output(self, reference: str) -> JobOutput | None:
        """Return the output of a run: by a job's name its last run, or any run by its number."""
        if reference in self.specs:
            run = self.runs.latest().get(reference)
        else:
            run = self.runs.find(int(reference)) if RUN_ID.fullmatch(reference) else None
        if run is None:
            return None
        text, dropped_bytes = self.runs.output(run.id)
        return JobOutput(run=run, text=text, dropped_bytes=dropped_bytes)

    def find_runner(self) -> Holder | None:
        """Return the process that runs jobs now; None where none does."""
        holder = Lease(self.database, now=self.now).find_holder()
        return (
            None if holder is None or holder.is_gone or holder.expires_at <= self.now() else holder
        )

    def trigger(self, name: str, *, by: str) -> JobRun:
        """Queue a job, whether it is enabled or not."""
        run = self.runs.queue(self.get_spec(name).name, by=by)
        self.on_change()
        return run

    def cancel(self, name: str) -> JobRun:
        """Cancel the queued run of a job, or ask the running one to end at its next checkpoint."""
        run = self.runs.cancel(self.get_spec(name).name)
        self.on_change()
        return run

    def change(
        self, name: str, *, schedule: str | None = None, enabled: bool | None = None
    ) -> JobStatus:
        """Change the schedule of a job, or enable or disable it, and plan its next run by that; it
        can be triggered in both cases.
        """
        spec = self.get_spec(name)
        changes = (
            {"schedule": parse_schedule(schedule).text}
            if schedule is not None
            else {"enabled": enabled}
        )
        with self.database.begin() as connection:
            _locked(connection, name)
            _set(connection, name, **changes)
            timing = _timing(spec, _locked(connection, name))
            next_at = timing.schedule.next_after(self.now()) if timing.enabled else None
            _set(connection, name, next_at=next_at)
        self.on_change()
        return self.get_job(name)
