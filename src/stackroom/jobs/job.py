"""A job: its declaration, the context of one run of it, and the output of that, of which the end is
kept.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from stackroom.background.task import TaskContext
from stackroom.control.database.tables import storable

MOST_OUTPUT_BYTES = 64 * 1024
MOST_MESSAGE = 500


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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
