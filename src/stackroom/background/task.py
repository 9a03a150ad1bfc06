"""The declaration of a background task, its context while it runs, its status, and a lease on it by
a file lock.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import filelock

from stackroom.errors import BusyError, StorageError

LONGEST_REST_S = 60.0


class TaskStopped(Exception):
    """Raised at a checkpoint of a task that is to end; only the runner catches it."""


class FileLease:
    """The right to do something, among the processes that use one folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = filelock.FileLock(path, thread_local=False)

    def take(self) -> bool:
        """Take it, unless another process has it; tell whether this one has it now."""
        with _telling(f"{self._path}: the file cannot be locked"):
            return self._is_acquired(wait_s=0)

    def release(self) -> None:
        """Give it back."""
        self._lock.release()

    @contextmanager
    def held(self, *, wait_s: float, busy: str, failed: str) -> Iterator[None]:
        """Hold it for a block; `busy` and `failed` tell that another process has it, or that the
        disk fails.
        """
        with _telling(failed):
            if not self._is_acquired(wait_s=wait_s):
                raise BusyError(busy)
            try:
                yield
            finally:
                self.release()

    def _is_acquired(self, *, wait_s: float) -> bool:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=wait_s)
        except filelock.Timeout:
            return False
        return True


@contextmanager
def _telling(failed: str) -> Iterator[None]:
    """Turn failures of the disk into a StorageError."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # no file can be locked on some file systems
        raise StorageError(f"{failed}: {getattr(error, 'strerror', None) or error}") from error


class TaskContext:
    """One run of a task, as the task's function sees it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._worked_since = time.thread_time()

    @property
    def is_stopping(self) -> bool:
        """Whether the run ends at its next checkpoint."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """End the run at its next checkpoint."""
        self._stopping.set()

    def check_stopped(self) -> None:
        """Raise `TaskStopped` where the run is to end; call it wherever the work can be
        interrupted.
        """
        if self._stopping.is_set():
            raise TaskStopped

    def wait(self, seconds: float) -> None:
        """Wait, which the end of the run interrupts; also a checkpoint."""
        if self._stopping.wait(seconds):
            raise TaskStopped

    def rest(self, share: float) -> None:
        """Wait so long that the work since the last rest took this share of one core; also a
        checkpoint.
        """
        worked_s = time.thread_time() - self._worked_since
        self.wait(min(worked_s * (1 / share - 1), LONGEST_REST_S))
        self._worked_since = time.thread_time()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work that is done in the background, again and again or when it is woken."""

    name: str
    description: str  # what it does, in one sentence
    # does the work, and may return a sentence about it; fails by raising
    run: Callable[[TaskContext], str | None]
    # the pause between two runs; None: after the first run it waits to be woken
    period_s: float | None = None
    # how long after the start the first run begins; None: when it is woken
    first_s: float | None = 0.0
    jitter: float = 0.1
    """By which share of itself a pause may be longer, so that many servers do not work at the same
    moment.
    """
    retry_s: float = 5.0  # the pause after the first failure; it doubles with each further one
    longest_retry_s: float = 300.0
    # held during a run; while another process has it, the task does not run here
    lease: FileLease | None = None


class TaskState(StrEnum):
    """The activity of a task at present."""

    WAITING = "waiting"
    RUNNING = "running"
    FAILING = "failing"  # its last run failed, and it is tried again
    ELSEWHERE = "elsewhere"  # another process runs it
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """A task, and how its runs went."""

    name: str
    description: str
    state: TaskState
    period_s: float | None
    next_at: datetime | None  # none: it runs, or waits to be woken
    last_at: datetime | None  # when the last run began
    last_s: float | None  # how long it took
    last_success_at: datetime | None  # when the last run that did not fail ended
    note: str  # what that run reported
    runs: int
    failures: int  # how many runs failed since the last that did not
    last_error: str  # why the last run failed; empty where it did not

    def __str__(self) -> str:
        """Return its state as people read it."""
        if self.last_error:
            last = f", last {self.last_at:%Y-%m-%d %H:%M:%S} UTC" if self.last_at else ""
            return f"{self.state}, {self.failures} times so far{last}: {self.last_error}"
        last = (
            f"; last done {self.last_success_at:%Y-%m-%d %H:%M:%S} UTC"
            if self.last_success_at
            else ""
        )
        return f"{self.state}{last}{f': {self.note}' if self.note else ''}"
