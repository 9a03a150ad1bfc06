"""A job that is being run: its body in a thread, and how that ended."""

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
    """One run of a body, in a thread of its own. Everything but the body itself is for one thread."""

    def __init__(self, spec: JobSpec, run: JobRun, *, on_over: Callable[[], None], is_watched: bool = False) -> None:
        """`is_watched`: somebody waits for the end and is told of it, so that a failure need not be logged."""
        self.spec = spec
        self.run = run
        self.context = JobContext()
        self.noted_version = 0
        """Up to where what the body said has been noted."""
        self._on_over = on_over
        self._is_watched = is_watched
        self._is_over = threading.Event()
        self._wanted_end = RunState.INTERRUPTED
        self._end = RunEnd(state=RunState.FAILED, error="it ended without saying how")
        # Not waited for at the end of the process: a body that reaches no checkpoint must not keep it alive.
        self._thread = threading.Thread(target=self._perform, name=f"job {spec.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, wanted_end: RunState) -> None:
        """Have the body end at its next checkpoint; how it is then said to have ended is what was wanted first."""
        if not self.context.is_stopping:
            self._wanted_end = wanted_end
            self.context.stop()

    def wait(self, timeout_s: float) -> bool:
        """Wait until the body is over; tell whether it is."""
        return self._is_over.wait(timeout_s)

    def end(self) -> RunEnd | None:
        """Return how it ended, None while it goes on."""
        return self._end if self._is_over.is_set() else None

    def abandoned(self) -> RunEnd:
        """Return the end of a run whose body was told to end: how it did, or, while it goes on, what was wanted."""
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
