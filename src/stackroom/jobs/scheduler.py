"""The scheduler: one of the processes that serve a library runs its jobs, one after the other.

It holds the lease, queues due jobs, runs queued ones in a thread, saves their progress, and cancels
them on request. A process that takes the lease marks running jobs as interrupted, since their
process is gone, and queues the resumable ones again. A process without the lease only checks
whether it has become free.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from stackroom.background.background import Background, Task, TaskStopped
from stackroom.background.threads import start_thread
from stackroom.errors import BusyError, ConflictError, ExpectedError, StorageError
from stackroom.frozen import frozen
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import (
    CANCELLED,
    JobContext,
    JobRun,
    JobSpec,
    RunEnd,
    RunReport,
    RunState,
    shortened,
)
from stackroom.jobs.lease import USUAL_TIMES, Lease, LeaseTimes

logger = logging.getLogger(__name__)

TASK = "run jobs"
LONGEST_RETRY_S = 5.0
REASONS = {
    RunState.CANCELLED: CANCELLED,
    RunState.INTERRUPTED: "it was told to end before it was done",
}


@frozen
class SchedulerTimes:
    """Interval of the scheduler's steps, and how long `stop` waits for a job to reach a
    checkpoint.
    """

    look_every_s: float = 1.0
    stop_within_s: float = 3.0
    lease: LeaseTimes = USUAL_TIMES


class RunningJob:
    """One run of a job in a thread of its own. Its methods are for one other thread."""

    def __init__(
        self, spec: JobSpec, run: JobRun, *, on_over: Callable[[], None], is_watched: bool = False
    ) -> None:
        """`is_watched`: the caller waits for the outcome and reports it, so that a failure is not
        logged.
        """
        self.spec = spec
        self.run = run
        self.context = JobContext()
        self.saved = RunReport()
        self.end: RunEnd | None = None
        """Its outcome; None while it runs."""
        self._on_over = on_over
        self._is_watched = is_watched
        self.is_over = threading.Event()
        self._wanted_end = RunState.INTERRUPTED

    def start(self) -> None:
        """Start the thread."""
        start_thread(f"job {self.spec.name}", self._run)

    def stop(self, wanted_end: RunState) -> None:
        """End the job at its next checkpoint; the first wanted outcome counts."""
        if not self.context.is_stopping:
            self._wanted_end = wanted_end
            self.context.stop()

    def _run(self) -> None:
        end = RunEnd(state=RunState.FAILED, error="it ended without saying how")
        try:
            self.spec.body(self.context)
            end = RunEnd(state=RunState.DONE)
        except TaskStopped:
            end = self.stopped_end()
        except ExpectedError as error:
            if not self._is_watched:
                logger.error(
                    "job '%s' (run %d) failed: %s",
                    self.spec.name,
                    self.run.id,
                    shortened(error.message),
                )
            end = RunEnd(state=RunState.FAILED, error=error.message)
        except Exception as error:
            logger.exception("job '%s' failed, which is a bug", self.spec.name)
            end = RunEnd(
                state=RunState.FAILED, error=f"a bug: {type(error).__name__}; the log has it"
            )
        finally:
            self.end = end
            self.is_over.set()
            self._on_over()

    def stopped_end(self) -> RunEnd:
        """Return the outcome of a job that was told to stop."""
        is_resumed = self._wanted_end is RunState.INTERRUPTED and self.spec.resumes
        return RunEnd(
            state=self._wanted_end, error=REASONS[self._wanted_end], is_resumed=is_resumed
        )


class Scheduler:
    """Runs the jobs of a board while this process holds the lease."""

    def __init__(
        self,
        board: JobBoard,
        *,
        times: SchedulerTimes | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.board = board
        self._times = times or SchedulerTimes()
        self._lease = Lease(
            board.database, times=self._times.lease, now=board.now, monotonic=monotonic
        )
        self._running: RunningJob | None = None

    def start_in(self, background: Background) -> None:
        """Do the rounds in a background, at once where something was asked for."""
        rounds = Task(
            name=TASK,
            description=(
                "Runs the jobs that are due or asked for, while this process holds the lease."
            ),
            run=lambda _context: self.step(),
            period_s=self._times.look_every_s,
            jitter=0.0,
            retry_s=self._times.look_every_s,
            longest_retry_s=max(self._times.look_every_s, LONGEST_RETRY_S),
        )
        background.add(rounds)
        self.board.on_change = lambda: background.wake(TASK)

    def stop(self) -> None:
        """End the running job, or mark it as interrupted, and release the lease; the background has
        ended before.
        """
        try:
            self._wind_up()
        except StorageError as error:
            logger.warning("the scheduler could not release its lease: %s", error.message)

    def step(self) -> None:
        """Do one round: lease, running job, due jobs, next job. Not for two threads at once."""
        try:
            is_ours = self._keep_lease()
            if self._running is not None:
                self._attend(self._running, is_ours=is_ours)
            if is_ours:
                # changed by another process; the next round tries again
                with suppress(ConflictError):
                    self.board.queue_due()
                queued = (
                    None if self._running else self.board.runs.find_next(list(self.board.specs))
                )
                if queued is not None:
                    self._begin(queued)
        except Exception:
            if self._running is not None and not self._lease.is_held:  # and it cannot be kept
                self._running.stop(RunState.INTERRUPTED)
            raise

    def run_now(self, name: str, *, by: str, show: Callable[[JobRun, RunReport], None]) -> JobRun:
        """Run one job in this process and return its run; refuse while another process runs
        jobs.
        """
        spec = self.board.get_spec(name)
        self._require_lease(name)
        try:
            queued = self.board.runs.find_next([name]) or self.board.trigger(name, by=by)
            running = self._begin(queued, is_watched=True)
            if running is None:
                reason = (
                    f"job '{spec.name}' was cancelled or started by another process; look:"
                    " stackroom job list"
                )
                raise ConflictError(reason)
            while self._running is not None:
                running.is_over.wait(self._times.look_every_s)
                self._attend(running, is_ours=self._keep_lease())
                show(running.run, running.context.report())
        except KeyboardInterrupt:
            if self._running is not None:
                self._running.stop(RunState.CANCELLED)
            raise
        finally:
            self._wind_up()
        return self.board.runs.find(running.run.id) or running.run

    def _keep_lease(self) -> bool:
        """Renew or take the lease; tell whether this process holds it."""
        if self._lease.is_held:
            return not self._lease.is_due or self._lease.renew()
        if not self._lease.take():
            return False
        resumed = [spec.name for spec in self.board.specs.values() if spec.resumes]
        own = None if self._running is None else self._running.run.id
        for run in self.board.runs.interrupt_others(resumed, besides=own):
            logger.warning("job '%s' (run %d) was interrupted: its process ended", run.job, run.id)
        return True

    def _require_lease(self, name: str) -> None:
        """Take the lease; wait where its holder may be dead, refuse where it runs."""
        while not self._keep_lease():
            holder = self._lease.find_holder()
            if holder is not None and holder.expires_at > self.board.now():
                raise BusyError(
                    f"jobs are run by another process ({holder.place}); have it run there:"
                    f" stackroom job trigger {name}"
                )
            time.sleep(self._times.look_every_s)

    def _attend(self, running: RunningJob, *, is_ours: bool) -> None:
        """Save the progress or outcome of the running job, and stop it where that is requested."""
        if not is_ours:
            running.stop(RunState.INTERRUPTED)
        end, report = running.end, running.context.report()
        runs, run_id = self.board.runs, running.run.id
        if end is not None:
            runs.end(run_id, report, end, holder=self._lease.id)
            self._running = None
            return
        if report != running.saved and runs.follow(run_id, report, holder=self._lease.id):
            running.saved = report
        known = runs.find(run_id)
        if known is None or known.state is not RunState.RUNNING:
            running.stop(RunState.INTERRUPTED)  # another process has taken over
        elif known.is_cancelling:
            running.stop(RunState.CANCELLED)

    def _begin(self, queued: JobRun, *, is_watched: bool = False) -> RunningJob | None:
        """Start a queued run; None where it is no longer queued, or its job is gone with its
        catalogue.
        """
        spec = self.board.specs.get(queued.job)
        if spec is None or not self.board.runs.start(queued.id, holder=self._lease.id):
            return None
        self._running = RunningJob(
            spec, queued, on_over=self.board.on_change, is_watched=is_watched
        )
        self._running.start()
        return self._running

    def _wind_up(self) -> None:
        """Stop the running job, save its outcome, and release the lease."""
        running, self._running = self._running, None
        if running is not None:
            running.stop(RunState.INTERRUPTED)
            running.is_over.wait(self._times.stop_within_s)
            report, end = running.context.report(), running.end or running.stopped_end()
            self.board.runs.end(running.run.id, report, end, holder=self._lease.id)
        self._lease.release()
