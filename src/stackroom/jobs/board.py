"""The jobs of a library as users see and control them, from any process.

Nothing runs here: requests are written to the control database, and the process that holds the
lease carries them out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import utc_now
from stackroom.errors import NotFoundError, did_you_mean
from stackroom.jobs.job import JobSpec
from stackroom.jobs.lease import Holder, Lease
from stackroom.jobs.runs import JobRun, Runs
from stackroom.jobs.timetable import Timetable, Timing

MOST_LISTED = 200
MOST_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job, when it runs, and its last run."""

    spec: JobSpec
    timing: Timing
    last_run: JobRun | None


@dataclass(frozen=True, slots=True, kw_only=True)
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
        if doubled := {
            name for name, times in Counter(spec.name for spec in specs).items() if times > 1
        }:
            raise ValueError(f"two jobs have the same name: {', '.join(sorted(doubled))}")
        self.runs = Runs(database, now=now)
        self.timetable = Timetable(database, now=now)
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

        def is_used(job: JobStatus) -> bool:
            return job.last_run is not None or job.timing.schedule.text != job.spec.schedule

        listed = self._with_status(sorted(self.specs.values(), key=lambda spec: spec.name))
        return [job for job in listed if not job.spec.is_quiet or is_used(job)]

    def get_job(self, name: str) -> JobStatus:
        """Return a job; refuse an unknown name."""
        return self._with_status([self.get_spec(name)])[0]

    def _with_status(self, specs: list[JobSpec]) -> list[JobStatus]:
        timings, latest = self.timetable.timings(specs), self.runs.latest()
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
            is_number = (
                reference.isascii() and reference.isdecimal() and len(reference) <= MOST_DIGITS
            )
            run = self.runs.find(int(reference)) if is_number else None
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
        """Change the schedule of a job, or enable or disable it; it can be triggered in both
        cases.
        """
        self.timetable.change(self.get_spec(name), schedule=schedule, enabled=enabled)
        self.on_change()
        return self.get_job(name)
