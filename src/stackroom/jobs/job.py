"""A job and its runs: the declaration, the context of one run with the end of its output, and the
runs in the control database, which keeps a bounded history.

A running run belongs to the holder of the lease: only that process writes to it, and its writes
have no effect after another has taken over. Commit point of a state: the end of the transaction
that sets it.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from stackroom.background.background import TaskContext
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import job_runs, storable, utc_now
from stackroom.errors import ConflictError
from stackroom.frozen import frozen

MOST_OUTPUT_BYTES = 64 * 1024
MOST_MESSAGE = 500
KEPT_RUNS = 50
CANCELLED = "it was cancelled"
MOST_ATTEMPTS = 3  # attempts at a resumable job whose process died


def shortened(text: str, most: int = MOST_MESSAGE) -> str:
    """Return a storable text, cut to a length."""
    whole = storable(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


class OutputTail:
    """The last lines of output, as many as fit. Not thread-safe."""

    def __init__(self, *, most_bytes: int = MOST_OUTPUT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lines: deque[bytes] = deque()
        self._kept_bytes = 0
        self.dropped_bytes = 0
        """Bytes of output before the kept part."""

    def write(self, text: str) -> None:
        """Append lines; the oldest are dropped where there is no room."""
        for line in storable(text).splitlines() or [""]:
            whole_characters = (
                line.encode()[: self._most_bytes // 2].decode("utf-8", "ignore").encode()
            )
            self.dropped_bytes += len(line.encode()) - len(whole_characters)
            self._lines.append(whole_characters + b"\n")
            self._kept_bytes += len(self._lines[-1])
        while self._kept_bytes > self._most_bytes:
            self._kept_bytes -= len(self._lines[0])
            self.dropped_bytes += len(self._lines.popleft())

    def text(self) -> str:
        """Return the kept part."""
        return b"".join(self._lines).decode()


@frozen
class RunReport:
    """Progress and output of a run."""

    done: int | None = None
    total: int | None = None
    message: str = ""
    output: str = ""
    output_dropped: int = 0  # bytes of output before the kept part


class JobContext(TaskContext):
    """One run, as the job's function sees it: a task's, with progress and output. Safe to use from
    several threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self._guard = threading.Lock()
        self._tail = OutputTail()
        self._progress = RunReport()

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        """Report progress; also a checkpoint."""
        self.check_stopped()
        with self._guard:
            self._progress = RunReport(
                done=done, total=total, message=message or self._progress.message
            )

    def write(self, text: str) -> None:
        """Append lines to the output, of which the end is kept."""
        with self._guard:
            self._tail.write(text)

    def report(self) -> RunReport:
        """Return the progress and output."""
        with self._guard:
            return replace(
                self._progress, output=self._tail.text(), output_dropped=self._tail.dropped_bytes
            )


@frozen
class JobSpec:
    """A background job."""

    name: str
    description: str
    schedule: str  # the default schedule: `6h`, `0 3 * * *` (UTC), or `manual`
    # does the work, and reports through the context; fails by raising
    body: Callable[[JobContext], None]
    enabled: bool = True  # whether its schedule is on by default
    # whether it is run again after its process died; the work must be idempotent
    resumes: bool = False
    is_quiet: bool = False  # whether it is listed only once it was given a schedule, or has run


class RunState(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"  # its process ended or was stopped before the work was done


LIVE = (RunState.QUEUED, RunState.RUNNING)


class RunCause(StrEnum):
    """The reason of a run."""

    SCHEDULE = "schedule"
    REQUEST = "request"
    RESUME = "resume"


@frozen
class JobRun:
    """A run, without its output."""

    id: int
    job: str
    state: RunState
    cause: RunCause
    requested_by: str
    attempt: int
    is_cancelling: bool
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    done: int | None
    total: int | None
    message: str
    error: str | None

    @property
    def is_live(self) -> bool:
        """Whether it is queued or running."""
        return self.state in LIVE

    @property
    def progress(self) -> str:
        """How far it is, as text."""
        done = "" if self.done is None else str(self.done)
        count = f"{done} of {self.total}" if done and self.total is not None else done
        return ", ".join(part for part in (count, self.message) if part)


@frozen
class RunEnd:
    """The outcome of a run."""

    state: RunState
    error: str | None = None
    is_resumed: bool = False  # whether an interrupted run is queued again


COLUMNS = [job_runs.c[name] for name in JobRun.__dataclass_fields__]


class Runs:
    """The runs of every job. Safe to use from several threads and processes."""

    def __init__(self, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    def queue(self, job: str, *, by: str) -> JobRun:
        """Queue a requested job; refuse where it is queued or running already."""
        with self._database.begin() as connection:
            live = find_live(connection, job)
            if live is not None:
                raise ConflictError(
                    f"job '{job}' is {live.state} already (run {live.id}); wait for it, or"
                    " cancel it"
                )
            return insert_run(connection, job, cause=RunCause.REQUEST, by=by, at=self._now())

    def find_next(self, jobs: Collection[str]) -> JobRun | None:
        """Return the oldest queued run of these jobs."""
        is_waiting = (job_runs.c.state == RunState.QUEUED, job_runs.c.job.in_(jobs))
        with self._database.read() as connection:
            return _one(
                connection, select(*COLUMNS).where(*is_waiting).order_by(job_runs.c.id).limit(1)
            )

    def start(self, run_id: int, *, holder: str) -> bool:
        """Mark a queued run as running; tell whether it was still queued."""
        is_queued = job_runs.c.state == RunState.QUEUED
        begun = {"state": RunState.RUNNING, "holder": holder, "started_at": self._now()}
        with self._database.begin() as connection:
            return _change(connection, run_id, begun, is_queued)

    def follow(self, run_id: int, report: RunReport, *, holder: str) -> bool:
        """Save the progress of a run; tell whether it is still this holder's."""
        with self._database.begin() as connection:
            return _write(connection, run_id, _values(report), holder=holder)

    def end(self, run_id: int, report: RunReport, ended: RunEnd, *, holder: str) -> bool:
        """Save the outcome of a run, and delete the oldest of its job; tell whether it was still
        this holder's.

        A run that was interrupted after a request to cancel it counts as cancelled.
        """
        error = None if ended.error is None else shortened(ended.error)
        values = {**_values(report), "state": ended.state, "error": error, "ended_at": self._now()}
        with self._database.begin() as connection:
            if not _write(connection, run_id, values, holder=holder):
                return False
            run = _get(connection, run_id)
            if run.is_cancelling and ended.state is RunState.INTERRUPTED:
                _change(connection, run_id, {"state": RunState.CANCELLED, "error": CANCELLED})
            elif ended.is_resumed:
                self._queue_again(connection, run, attempt=run.attempt)
            _keep_newest(connection, run.job)
            return True

    def interrupt_others(self, resumed: Collection[str], *, besides: int | None) -> list[JobRun]:
        """Mark running runs but one as interrupted, and queue resumable ones again, for the new
        holder of the lease.
        """
        wanted = select(*COLUMNS).where(job_runs.c.state == RunState.RUNNING).with_for_update()
        if besides is not None:
            wanted = wanted.where(job_runs.c.id != besides)
        end = {
            "state": RunState.INTERRUPTED,
            "error": "its process ended before it did",
            "ended_at": self._now(),
        }
        cancelled = {**end, "state": RunState.CANCELLED, "error": CANCELLED}
        with self._database.begin() as connection:
            left = [_run(row) for row in connection.execute(wanted.order_by(job_runs.c.id))]
            for run in left:
                _change(connection, run.id, cancelled if run.is_cancelling else end)
                if run.job in resumed and not run.is_cancelling:
                    self._queue_again(connection, run, attempt=run.attempt + 1)
                _keep_newest(connection, run.job)
        return left

    def cancel(self, job: str) -> JobRun:
        """Cancel a queued run, or ask a running one to end; refuse where there is neither."""
        with self._database.begin() as connection:
            live = find_live(connection, job)
            if live is None:
                raise ConflictError(
                    f"job '{job}' is neither queued nor running; there is nothing to cancel"
                )
            changes: dict[str, Any] = {"is_cancelling": True}
            if live.state is RunState.QUEUED:
                changes |= {"state": RunState.CANCELLED, "ended_at": self._now()}
            _change(connection, live.id, changes)
            _keep_newest(connection, job)
            return _get(connection, live.id)

    def find(self, run_id: int) -> JobRun | None:
        """Return a run; None where it is not kept."""
        with self._database.read() as connection:
            return _one(connection, select(*COLUMNS).where(job_runs.c.id == run_id))

    def latest(self) -> dict[str, JobRun]:
        """Return the last run of each job."""
        newest = select(func.max(job_runs.c.id)).group_by(job_runs.c.job)
        with self._database.read() as connection:
            rows = connection.execute(select(*COLUMNS).where(job_runs.c.id.in_(newest)))
            return {row.job: _run(row) for row in rows}

    def list_ended(self) -> dict[str, list[JobRun]]:
        """Return the runs of each job that were done or failed, the newest first."""
        is_ended = job_runs.c.state.in_((RunState.DONE, RunState.FAILED))
        with self._database.read() as connection:
            rows = connection.execute(
                select(*COLUMNS).where(is_ended).order_by(job_runs.c.job, job_runs.c.id.desc())
            )
            return {
                job: list(map(_run, some))
                for job, some in groupby(rows, key=lambda row: str(row.job))
            }

    def list_runs(self, *, job: str | None, limit: int, offset: int) -> tuple[list[JobRun], int]:
        """Return a page of runs, the newest first, and the total."""
        wanted = [] if job is None else [job_runs.c.job == job]
        newest_first = select(*COLUMNS).where(*wanted).order_by(job_runs.c.id.desc())
        page = newest_first.limit(limit).offset(offset)
        with self._database.read() as connection:
            total = connection.scalar(select(func.count()).select_from(job_runs).where(*wanted))
            return list(map(_run, connection.execute(page))), total or 0

    def output(self, run_id: int) -> tuple[str, int]:
        """Return the kept part of a run's output, and the bytes before it."""
        wanted = select(job_runs.c.output, job_runs.c.output_dropped).where(job_runs.c.id == run_id)
        with self._database.read() as connection:
            row = connection.execute(wanted).one_or_none()
        return ("", 0) if row is None else (row.output, row.output_dropped)

    def _queue_again(self, connection: Connection, run: JobRun, *, attempt: int) -> None:
        """Queue an interrupted run again, unless its process died too often."""
        if attempt <= MOST_ATTEMPTS and find_live(connection, run.job) is None:
            at = self._now()
            insert_run(
                connection,
                run.job,
                cause=RunCause.RESUME,
                by=run.requested_by,
                at=at,
                attempt=attempt,
            )


def find_live(connection: Connection, job: str) -> JobRun | None:
    """Lock and return the queued or running run of a job; None where there is none."""
    wanted = select(*COLUMNS).where(job_runs.c.job == job, job_runs.c.state.in_(LIVE))
    return _one(connection, wanted.with_for_update())


def insert_run(
    connection: Connection, job: str, *, cause: RunCause, by: str, at: datetime, attempt: int = 1
) -> JobRun:
    """Queue a run."""
    values = {
        **asdict(RunReport()),
        "job": job,
        "state": RunState.QUEUED,
        "cause": cause,
        "requested_by": shortened(by, 100),
        "attempt": attempt,
        "is_cancelling": False,
        "queued_at": at,
    }
    try:
        row = connection.execute(insert(job_runs).returning(job_runs.c.id), values).one()
    except IntegrityError as error:  # another process queued it first
        raise ConflictError(f"job '{job}' is queued already; wait for it, or cancel it") from error
    return _get(connection, row.id)


def _write(connection: Connection, run_id: int, values: dict[str, Any], *, holder: str) -> bool:
    """Update a running run of this holder; tell whether it was one."""
    is_theirs = (job_runs.c.holder == holder, job_runs.c.state == RunState.RUNNING)
    return _change(connection, run_id, values, *is_theirs)


def _change(
    connection: Connection, run_id: int, values: Mapping[str, Any], *only_if: ColumnElement[bool]
) -> bool:
    """Update a run, if it is as it has to be; tell whether it was."""
    changed = update(job_runs).where(job_runs.c.id == run_id, *only_if).values(values)
    return connection.execute(changed).rowcount == 1


def _keep_newest(connection: Connection, job: str) -> None:
    is_of_job = job_runs.c.job == job
    newest = select(job_runs.c.id).where(is_of_job).order_by(job_runs.c.id.desc())
    oldest_kept = newest.offset(KEPT_RUNS - 1).limit(1).scalar_subquery()
    is_outdated = (job_runs.c.id < oldest_kept, job_runs.c.state.not_in(LIVE))
    connection.execute(delete(job_runs).where(is_of_job, *is_outdated))


def _get(connection: Connection, run_id: int) -> JobRun:
    return _run(connection.execute(select(*COLUMNS).where(job_runs.c.id == run_id)).one())


def _one(connection: Connection, wanted: Select[Any]) -> JobRun | None:
    row = connection.execute(wanted).one_or_none()
    return None if row is None else _run(row)


def _values(report: RunReport) -> dict[str, Any]:
    return {**asdict(report), "message": shortened(report.message)}


def _run(row: Any) -> JobRun:
    return JobRun(**{**row._mapping, "state": RunState(row.state), "cause": RunCause(row.cause)})
