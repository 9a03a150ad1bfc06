"""The scheduler: one of the processes that serve a library runs its jobs, one after the other.

It holds the lease, queues due jobs, runs queued ones in a thread, saves their progress, and cancels them on request. A
process that takes the lease marks running jobs as interrupted, since their process is gone, and queues the resumable
ones again. A process without the lease only checks whether it has become free.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from pinakes.errors import BusyError, ConflictError, StorageError
from pinakes.jobs.board import JobBoard
from pinakes.jobs.lease import USUAL_TIMES, Lease, LeaseTimes
from pinakes.jobs.runner import RunningJob
from pinakes.jobs.runs import JobRun, RunReport, RunState

logger = logging.getLogger(__name__)

JOIN_S = 5.0
STILL_S = 120.0
"""A scheduler that has not done a round for so long stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerTimes:
    """Interval of the scheduler's steps, and how long `stop` waits for a job to reach a checkpoint."""

    look_every_s: float = 1.0
    stop_within_s: float = 3.0
    lease: LeaseTimes = USUAL_TIMES


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
        self._lease = Lease(board.database, times=self._times.lease, now=board.now, monotonic=monotonic)
        self._running: RunningJob | None = None
        self._is_stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._trouble = ""
        self._monotonic = monotonic
        self._stepped_at = 0.0

    def find_problem(self) -> str | None:
        """Return why no job is begun; None where all is well, or the scheduler was not started."""
        if self._thread is None or self._is_stopping.is_set():
            return None
        if not self._thread.is_alive():
            return "the scheduler has ended; restart the server"
        idle_s = self._monotonic() - self._stepped_at
        return self._trouble or (f"the scheduler stands still for {idle_s:.0f} s" if idle_s > STILL_S else None)

    def start(self) -> None:
        """Start the scheduler's thread."""
        self._stepped_at = self._monotonic()
        self._thread = threading.Thread(target=self._loop, name="scheduler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; a running job is asked to end, and marked as interrupted where it does not finish."""
        self._is_stopping.set()
        self.board.changed.set()
        if self._thread is not None:
            self._thread.join(self._times.stop_within_s + JOIN_S)

    def step(self) -> None:
        """Do one round: lease, running job, due jobs, next job. Only for the scheduler's thread once it is started."""
        is_ours = self._keep_lease()
        if self._running is not None:
            self._attend(self._running, is_ours=is_ours)
        if is_ours:
            self._queue_due()
            if self._running is None:
                self._begin_next()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the running job; tell whether none runs."""
        return self._running is None or self._running.wait(timeout_s)

    def run_now(self, name: str, *, by: str, show: Callable[[JobRun, RunReport], None]) -> JobRun:
        """Run one job in this process and return its run; refuse while another process runs jobs."""
        spec = self.board.get_spec(name)
        self._require_lease(name)
        try:
            queued = self.board.runs.find_next([name]) or self.board.trigger(name, by=by)
            running = self._begin(queued, is_watched=True)
            if running is None:
                raise ConflictError(
                    f"job '{spec.name}' was cancelled or started by another process; look: pinakes job list"
                )
            while self._running is not None:
                running.wait(self._times.look_every_s)
                self._attend(running, is_ours=self._keep_lease())
                show(running.run, running.context.report())
        except KeyboardInterrupt:
            if self._running is not None:
                self._running.stop(RunState.CANCELLED)
            raise
        finally:
            self._wind_up()
        return self.board.runs.find(running.run.id) or running.run

    def _loop(self) -> None:
        while not self._is_stopping.is_set():
            self._try_step()
            self._stepped_at = self._monotonic()
            self.board.changed.wait(self._times.look_every_s)
            self.board.changed.clear()
        try:
            self._wind_up()
        except StorageError as error:
            logger.warning("the scheduler could not release its lease: %s", error.message)

    def _try_step(self) -> None:
        """Do one round; neither a failing database nor a bug ends the scheduler."""
        try:
            self.step()
            self._trouble = ""
        except Exception as error:
            trouble = error.message if isinstance(error, StorageError) else repr(error)
            if trouble != self._trouble:
                logger.error(
                    "the scheduler failed, and tries again: %s", trouble, exc_info=not isinstance(error, StorageError)
                )
            self._trouble = trouble
            if self._running is not None and not self._lease.is_held:
                self._running.stop(RunState.INTERRUPTED)

    def _keep_lease(self) -> bool:
        """Renew or take the lease; tell whether this process holds it."""
        if self._lease.is_held:
            return not self._lease.is_due or self._lease.renew()
        if not self._lease.take():
            return False
        self._take_over()
        return True

    def _take_over(self) -> None:
        """Mark the runs of the process that died as interrupted."""
        resumed = [spec.name for spec in self.board.specs.values() if spec.resumes]
        own = None if self._running is None else self._running.run.id
        for run in self.board.runs.interrupt_others(resumed, besides=own):
            logger.warning("job '%s' (run %d) was interrupted: its process ended", run.job, run.id)

    def _require_lease(self, name: str) -> None:
        """Take the lease; wait where its holder may be dead, refuse where it runs."""
        while not self._keep_lease():
            holder = self._lease.find_holder()
            if holder is not None and holder.expires_at > self.board.now():
                raise BusyError(
                    f"jobs are run by another process ({holder.place}); have it run there: pinakes job trigger {name}"
                )
            time.sleep(self._times.look_every_s)

    def _attend(self, running: RunningJob, *, is_ours: bool) -> None:
        """Save the progress or outcome of the running job, and stop it where that is requested."""
        if not is_ours:
            running.stop(RunState.INTERRUPTED)
        end = running.end()
        version, report = running.context.version, running.context.report()
        runs, run_id = self.board.runs, running.run.id
        if end is not None:
            runs.end(run_id, report, end, holder=self._lease.id)
            self._running = None
            return
        if version != running.noted_version and runs.follow(run_id, report, holder=self._lease.id):
            running.noted_version = version
        known = runs.find(run_id)
        if known is None or known.state is not RunState.RUNNING:
            running.stop(RunState.INTERRUPTED)  # another process has taken over
        elif known.is_cancelling:
            running.stop(RunState.CANCELLED)

    def _queue_due(self) -> None:
        try:
            self.board.timetable.queue_due(list(self.board.specs.values()))
        except ConflictError:
            return  # changed by another process; the next round tries again

    def _begin_next(self) -> None:
        queued = self.board.runs.find_next(list(self.board.specs))
        if queued is not None:
            self._begin(queued)

    def _begin(self, queued: JobRun, *, is_watched: bool = False) -> RunningJob | None:
        """Start a queued run; None where it is no longer queued, or its job is gone with its catalogue."""
        spec = self.board.specs.get(queued.job)
        if spec is None or not self.board.runs.start(queued.id, holder=self._lease.id):
            return None
        running = RunningJob(spec, queued, on_over=self.board.changed.set, is_watched=is_watched)
        self._running = running
        running.start()
        return running

    def _wind_up(self) -> None:
        """Stop the running job, save its outcome, and release the lease."""
        running, self._running = self._running, None
        if running is not None:
            running.stop(RunState.INTERRUPTED)
            running.wait(self._times.stop_within_s)
            report = running.context.report()
            self.board.runs.end(running.run.id, report, running.abandoned(), holder=self._lease.id)
        self._lease.release()
