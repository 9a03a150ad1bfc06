"""The context of a running job: progress, output and cancellation."""

import threading

from pinakes.jobs.output import OutputTail
from pinakes.jobs.runs import RunReport


class JobStopped(Exception):
    """Raised at a checkpoint of a job that is to end; only the runner catches it."""


class JobContext:
    """One run, as the job's function sees it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tail = OutputTail()
        self._done: int | None = None
        self._total: int | None = None
        self._message = ""
        self._version = 0
        self._is_stopping = threading.Event()

    def check_cancelled(self) -> None:
        """Raise `JobStopped` where the run is to end; call it wherever the work can be interrupted."""
        if self._is_stopping.is_set():
            raise JobStopped

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        """Report progress; also a checkpoint."""
        self.check_cancelled()
        with self._guard:
            self._done, self._total = done, total
            self._message = message or self._message
            self._version += 1

    def write(self, text: str) -> None:
        """Append lines to the output, of which the end is kept."""
        with self._guard:
            self._tail.write(text)
            self._version += 1

    def stop(self) -> None:
        """End the run at its next checkpoint."""
        self._is_stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Whether the run ends at its next checkpoint."""
        return self._is_stopping.is_set()

    @property
    def version(self) -> int:
        """A number that grows with every report or line of output."""
        return self._version

    def report(self) -> RunReport:
        """Return the progress and output."""
        with self._guard:
            return RunReport(
                done=self._done,
                total=self._total,
                message=self._message,
                output=self._tail.text(),
                output_dropped=self._tail.dropped_bytes,
            )
