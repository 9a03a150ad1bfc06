"""What a job's body has: a way to say how it goes, and to hear that it is to end."""

import threading

from pinakes.jobs.output import OutputTail
from pinakes.jobs.runs import RunReport


class JobStopped(Exception):
    """Raised at a checkpoint of a body that is to end; nothing but the runner catches it."""


class JobContext:
    """One run, as its body sees it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tail = OutputTail()
        self._done: int | None = None
        self._total: int | None = None
        self._message = ""
        self._version = 0
        self._is_stopping = threading.Event()

    def check_cancelled(self) -> None:
        """Raise where the run is to end; a body calls it wherever it can be left."""
        if self._is_stopping.is_set():
            raise JobStopped

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        """Say how much is done of how much, and what is being done; also a checkpoint."""
        self.check_cancelled()
        with self._guard:
            self._done, self._total = done, total
            self._message = message or self._message
            self._version += 1

    def write(self, text: str) -> None:
        """Add lines to the output, of which the end is kept."""
        with self._guard:
            self._tail.write(text)
            self._version += 1

    def stop(self) -> None:
        """Make the next checkpoint the end of it."""
        self._is_stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Whether the next checkpoint is the end of it."""
        return self._is_stopping.is_set()

    @property
    def version(self) -> int:
        """A number that grows with all that the body says."""
        return self._version

    def report(self) -> RunReport:
        """Return how far it has come and what it has written."""
        with self._guard:
            return RunReport(
                done=self._done,
                total=self._total,
                message=self._message,
                output=self._tail.text(),
                output_dropped=self._tail.dropped_bytes,
            )
