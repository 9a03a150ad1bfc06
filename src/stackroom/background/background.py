"""The background of one process: its tasks, when each runs next, and how its runs went.

One thread waits for the next task that is due. Each run has a thread of its own, which ends with
it: a task that hangs holds up no other, and none answers from connections that were opened before a
file was replaced. A server writes now and then what its tasks do into a file of the library, for
other processes to list.
"""

import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import filelock
import orjson
from pydantic import TypeAdapter

from stackroom.background.processes import (
    identity_of_this_process,
    is_certainly_gone,
    place_of_this_process,
)
from stackroom.background.threads import start_thread
from stackroom.errors import BusyError, ExpectedError, NotFoundError, StorageError
from stackroom.frozen import frozen

logger = logging.getLogger(__name__)

STOP_S = 5.0
NEVER = math.inf  # when a task runs that waits to be woken
MOST_DOUBLED = 16  # after so many failures a pause is not doubled further, whatever its bound is
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


@frozen
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


@frozen
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


def utc_now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)


class Background:
    """The tasks of one process. Safe to use from several threads."""

    def __init__(
        self,
        *,
        now: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance` returns a number from 0 to 1."""
        self._now = now
        self._monotonic = monotonic
        self._chance = chance
        self._changed = threading.Condition(threading.RLock())
        self._entries: dict[str, _Entry] = {}
        self._is_started = False
        self._is_stopped = False

    def add(self, *tasks: Task) -> None:
        """Take up tasks, before or after the start; two of the same name are a ValueError."""
        with self._changed:
            for task in tasks:
                if task.name in self._entries:
                    raise ValueError(
                        f"there are two background tasks '{task.name}'; give each a name of its own"
                    )
                self._entries[task.name] = _Entry(task=task)
                if self._is_started:
                    self._plan(self._entries[task.name], task.first_s)
            self._changed.notify_all()

    def start(self) -> None:
        """Begin to run the tasks; no effect after `stop`."""
        with self._changed:
            if self._is_started or self._is_stopped:
                return
            self._is_started = True
            for entry in self._entries.values():
                self._plan(entry, 0.0 if entry.is_woken else entry.task.first_s)
            start_thread("background", self._loop)

    def stop(self, within_s: float = STOP_S) -> None:
        """End all tasks at their next checkpoints, at once, and wait for them for a while."""
        with self._changed:
            self._is_stopped = True
            running = [entry for entry in self._entries.values() if entry.context is not None]
            for context in [entry.context for entry in running if entry.context is not None]:
                context.stop()
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: all(entry.context is None for entry in running), within_s
            )
        late = [entry.task.name for entry in running if entry.context is not None]
        if late:
            logger.warning("background tasks that did not end in time: %s", ", ".join(late))

    def wake(self, name: str) -> None:
        """Have a task run now, or once more after the run that is under way."""
        with self._changed:
            entry = self._get(name)
            entry.is_woken = True
            if self._is_started:
                self._plan(entry, 0.0)
            self._changed.notify_all()

    def list_tasks(self) -> list[TaskStatus]:
        """Return the status of every task, by name."""
        with self._changed:
            entries = sorted(self._entries.values(), key=lambda entry: entry.task.name)
            return [self._status_of(entry) for entry in entries]

    def wait_for(self, name: str, *, runs: int, timeout_s: float) -> bool:
        """Wait until a task has run so many times; tell whether it has."""
        with self._changed:
            entry = self._get(name)
            return self._changed.wait_for(lambda: entry.runs >= runs, timeout_s)

    def run_due(self) -> float | None:
        """Start the tasks that are due, and return in how many seconds the next one is; None: none
        is planned.
        """
        with self._changed:
            if self._is_stopped:
                return None
            now = self._monotonic()
            idle = [entry for entry in self._entries.values() if entry.context is None]
            for entry in idle:
                if entry.next_at <= now:
                    self._begin(entry)
            next_at = min((entry.next_at for entry in idle if entry.context is None), default=NEVER)
            return None if next_at == NEVER else max(next_at - now, 0.0)

    def _loop(self) -> None:
        with self._changed:
            while not self._is_stopped:
                self._changed.wait(self.run_due())

    def _get(self, name: str) -> "_Entry":
        if name not in self._entries:
            raise NotFoundError(
                f"no background task '{name}'; tasks: {', '.join(sorted(self._entries)) or 'none'}"
            )
        return self._entries[name]

    def _plan(self, entry: "_Entry", after_s: float | None) -> None:
        entry.next_at = NEVER if after_s is None else self._monotonic() + after_s

    def _begin(self, entry: "_Entry") -> None:
        context = entry.context = TaskContext()
        entry.is_woken, entry.next_at = False, NEVER
        entry.began_at, entry.last_at = self._monotonic(), self._now()
        start_thread(entry.task.name, lambda: self._perform(entry, context))

    def _perform(self, entry: "_Entry", context: TaskContext) -> None:
        """Run a task once, in its own thread, and note how that went."""
        task, again_s = entry.task, None
        try:
            self._run_leased(entry, context)
            again_s = None if task.period_s is None else self._spread(task.period_s, task.jitter)
        except TaskStopped:
            pass
        except ExpectedError as error:
            again_s = self._note_failure(entry, error.full_message, is_bug=False)
        except Exception as error:  # the next run may find it mended
            again_s = self._note_failure(entry, f"{type(error).__name__}: {error}", is_bug=True)
        with self._changed:
            entry.last_s = self._monotonic() - entry.began_at
            entry.runs += 1
            entry.context = None
            self._plan(entry, 0.0 if entry.is_woken else again_s)
            self._changed.notify_all()

    def _run_leased(self, entry: "_Entry", context: TaskContext) -> None:
        lease = entry.task.lease
        entry.is_elsewhere = lease is not None and not lease.take()
        if entry.is_elsewhere:
            return
        try:
            note = entry.task.run(context)
        finally:
            if lease is not None:
                lease.release()
        if entry.failures:
            logger.info("background task '%s' works again", entry.task.name)
        entry.note, entry.failures, entry.last_error = note or "", 0, ""
        entry.last_success_at = self._now()

    def _note_failure(self, entry: "_Entry", reason: str, *, is_bug: bool) -> float:
        """Note why a run failed, and return how long to wait before the next."""
        if reason != entry.last_error:  # said once, however often it is tried
            logger.warning(
                "background task '%s' failed: %s", entry.task.name, reason, exc_info=is_bug
            )
        entry.failures += 1
        entry.last_error = reason
        doubled = entry.task.retry_s * 2 ** min(entry.failures - 1, MOST_DOUBLED)
        return self._spread(min(doubled, entry.task.longest_retry_s), entry.task.jitter)

    def _spread(self, seconds: float, jitter: float) -> float:
        return seconds * (1 + jitter * self._chance())

    def _status_of(self, entry: "_Entry") -> TaskStatus:
        planned_s = None if entry.next_at == NEVER else entry.next_at - self._monotonic()
        return TaskStatus(
            name=entry.task.name,
            description=entry.task.description,
            state=self._state_of(entry),
            period_s=entry.task.period_s,
            next_at=None
            if planned_s is None
            else self._now() + timedelta(seconds=max(planned_s, 0.0)),
            last_at=entry.last_at,
            last_s=entry.last_s,
            last_success_at=entry.last_success_at,
            note=entry.note,
            runs=entry.runs,
            failures=entry.failures,
            last_error=entry.last_error,
        )

    def _state_of(self, entry: "_Entry") -> TaskState:
        if entry.context is not None:
            return TaskState.RUNNING
        if self._is_stopped:
            return TaskState.STOPPED
        if entry.is_elsewhere:
            return TaskState.ELSEWHERE
        return TaskState.FAILING if entry.failures else TaskState.WAITING


@dataclass(kw_only=True)
class _Entry:
    """One task, and how its runs went. Changed by the thread of a run, and otherwise under the
    background's lock.
    """

    task: Task
    context: TaskContext | None = None  # of the run that is under way
    next_at: float = NEVER
    is_woken: bool = False
    is_elsewhere: bool = False
    began_at: float = 0.0
    runs: int = 0
    failures: int = 0
    last_at: datetime | None = None
    last_s: float | None = None
    last_success_at: datetime | None = None
    last_error: str = ""
    note: str = ""


FOLDER = "background"  # of a library: what the tasks of each of its servers do
PERIOD_S = 10.0
OLD_S = 60.0  # a file that was not written for so long is of a server that has ended


@frozen
class ServerTasks:
    """The tasks of one server."""

    place: str  # host and process, for messages
    process: str  # the identity of the process
    tasks: list[TaskStatus]


def status_task(background: Background, home: Path) -> Task:
    """Return the task that writes the file of this process."""
    path = home / FOLDER / f"{os.getpid()}.json"
    place, process = place_of_this_process(), identity_of_this_process()

    def write(_context: TaskContext) -> str:
        content = orjson.dumps(
            ServerTasks(place=place, process=process, tasks=background.list_tasks())
        )
        new = path.with_suffix(".new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(content)
            new.replace(path)
        except OSError as error:  # of a library that cannot be written to, its own server tells
            return f"{path} cannot be written: {error.strerror}"
        return ""

    description = (
        "Writes what the tasks of this server do into the library, for stackroom doctor to list."
    )
    return Task(name="note what tasks do", description=description, run=write, period_s=PERIOD_S)


def list_server_tasks(home: Path) -> list[ServerTasks]:
    """Return the tasks of the servers that run over a library; files of others are deleted."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        try:
            server = TypeAdapter(ServerTasks).validate_json(path.read_bytes())
            is_old = time.time() - path.stat().st_mtime > OLD_S
        except (OSError, ValueError):
            continue
        if not is_old and not is_certainly_gone(server.process):
            found.append(server)
            continue
        with suppress(OSError):
            path.unlink()
    return found
