"""A running job: its function in a thread, and its outcome."""

import logging
import threading
from collections.abc import Callable

from pinakes.errors import ExpectedError
from pinakes.jobs.context import JobContext, JobStopped
from pinakes.jobs.output import shortened
from pinakes.jobs.runs import CANCELLED, JobRun, RunEnd, RunState
from pinakes.jobs.spec import JobSpec

logger = logging.getLogger(__name__)

REASONS = {RunState.CANCELLED: CANCELLED, RunState.INTERRUPTED: "it was told to end before it was done"}


class RunningJob:
    """One run of a job in a thread of its own. Its methods are for one other thread."""

    def __init__(self, spec: JobSpec, run: JobRun, *, on_over: Callable[[], None], is_watched: bool = False) -> None:
        """`is_watched`: the caller waits for the outcome and reports it, so that a failure is not logged."""
        self.spec = spec
        self.run = run
        self.context = JobContext()
        self.noted_version = 0
        """The version of the report that was saved last."""
        self._on_over = on_over
        self._is_watched = is_watched
        self._is_over = threading.Event()
        self._wanted_end = RunState.INTERRUPTED
        self._end = RunEnd(state=RunState.FAILED, error="it ended without saying how")
        # A daemon: a job that reaches no checkpoint must not keep the process alive.
        self._thread = threading.Thread(target=self._perform, name=f"job {spec.name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, wanted_end: RunState) -> None:
        """End the job at its next checkpoint; the first wanted outcome counts."""
        if not self.context.is_stopping:
            self._wanted_end = wanted_end
            self.context.stop()

    def wait(self, timeout_s: float) -> bool:
        """Wait until the job is over; tell whether it is."""
        return self._is_over.wait(timeout_s)

    def end(self) -> RunEnd | None:
        """Return its outcome; None while it runs."""
        return self._end if self._is_over.is_set() else None

    def abandoned(self) -> RunEnd:
        """Return the outcome of a stopped job; the wanted one while it still runs."""
        return self.end() or self._stopped()

    def _perform(self) -> None:
        try:
            self.spec.body(self.context)
            self._end = RunEnd(state=RunState.DONE)
        except JobStopped:
            self._end = self._stopped()
        except ExpectedError as error:
            if not self._is_watched:
                logger.error("job '%s' (run %d) failed: %s", self.spec.name, self.run.id, shortened(error.message))
            self._end = RunEnd(state=RunState.FAILED, error=error.message)
        except Exception as error:
            logger.exception("job '%s' failed, which is a bug", self.spec.name)
            self._end = RunEnd(state=RunState.FAILED, error=f"a bug: {type(error).__name__}; the log has it")
        finally:
            self._is_over.set()
            self._on_over()

    def _stopped(self) -> RunEnd:
        is_resumed = self._wanted_end is RunState.INTERRUPTED and self.spec.resumes
        return RunEnd(state=self._wanted_end, error=REASONS[self._wanted_end], is_resumed=is_resumed)
