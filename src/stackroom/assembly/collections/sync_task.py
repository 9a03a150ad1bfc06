"""The task that syncs collections beside a server: at its start, and whenever the version of a table has moved.

The place is looked at by a process of its own: LanceDB takes seconds to load, and a store that hangs, or a client that
crashes, touches nothing that is served. What the process writes to the library is followed like every change of another
process. One server of a library syncs at a time.
"""

import logging
from collections.abc import Callable, Hashable
from pathlib import Path

from stackroom.assembly.collections.state import PlaceState, find_place, load_state, note_problem
from stackroom.background.processes import LibraryCommand, describe_end
from stackroom.background.task import FileLease, Task, TaskContext
from stackroom.collection_settings import is_remote
from stackroom.errors import StorageError, UnavailableError
from stackroom.settings import Settings

logger = logging.getLogger(__name__)

NAME = "sync collections"
FIRST_S = 1.0
RETRY_S = 5.0
JITTER = 0.25
FOLDER_LOOK_S = 2.0
"""How often the files of a database on this machine are looked at, which costs next to nothing."""
LONGEST_SYNC_S = 3_600.0
"""A process that takes longer is ended; what it has written is whole."""
LEASE_FILE = "collections.task.lock"

RunSync = Callable[[str, TaskContext], int]
"""Syncs a place, and returns an exit code; negative: the signal that ended it."""


def sync_tasks(
    settings: Settings, *, first_s: float = FIRST_S, retry_s: float = RETRY_S, run_sync: RunSync | None = None
) -> list[Task]:
    """Return the task, unless there is no place to sync from, or it must not be asked."""
    place = find_place(settings)
    if place is None:
        return []
    if settings.offline and is_remote(place):
        logger.warning("%s is not looked at offline; the copies in the library are served", place)
        return []
    look_s = settings.collections.refresh_s if is_remote(place) else FOLDER_LOOK_S
    task = Task(
        name=NAME,
        description=f"Brings the library up to the collections in {place}.",
        run=_Sync(settings, place, run_sync).run,
        first_s=first_s,
        period_s=look_s if settings.collections.refresh_s else None,
        jitter=JITTER,
        retry_s=retry_s,
        lease=FileLease(settings.home / LEASE_FILE),
    )
    return [task]


class _Sync:
    """The syncs of one library from one place."""

    def __init__(self, settings: Settings, place: str, run_sync: RunSync | None) -> None:
        self._home = settings.home
        self._place = place
        self._run_sync = run_sync or self._run_process
        self._synced: Hashable = None
        """What the place looked like before the last sync that succeeded."""
        self._told = ""

    def run(self, context: TaskContext) -> str:
        """Sync where the place has changed; a failure is raised, so that it is tried again."""
        stamp = _stamp_of(self._place)
        if stamp is not None and stamp == self._synced:
            return self._told
        self._sync(context)
        self._synced = stamp
        return self._told

    def _sync(self, context: TaskContext) -> None:
        before = load_state(self._home, self._place)
        code = self._run_sync(self._place, context)
        context.check_stopped()
        state = load_state(self._home, self._place)
        is_refused = code == StorageError.exit_code  # recorded, unless another process holds the right to sync
        if code != 0 and not is_refused and state == before:  # it ended before it could record why
            state = self._note(f"the process that syncs it ended {describe_end(code)}; to see why: stackroom sync")
        told = "; ".join(f"collection '{name}': {problem}" for name, problem in state.problems().items())
        if state.problem is not None or any(collection.outcome == "failed" for collection in state.collections):
            raise StorageError("; ".join(reason for reason in (state.problem, told) if reason))
        if is_refused:
            raise UnavailableError("another process is syncing the collections of this library; try again later")
        if told and told != self._told:
            logger.warning("%s", told)
        self._told = told

    def _note(self, problem: str) -> PlaceState:
        """Record why a place could not be looked at, where the library can be written to."""
        try:
            return note_problem(self._home, self._place, problem)
        except OSError as error:
            problem = f"{problem}; the library cannot be written to: {error.strerror}"
            return PlaceState(place=self._place, problem=problem)

    def _run_process(self, place: str, context: TaskContext) -> int:
        """Run `stackroom sync` in a process of its own, and return its exit code."""
        process = LibraryCommand("the process that syncs collections", self._home, "sync", place)
        process.finish(longest_s=LONGEST_SYNC_S, checkpoint=context.check_stopped)
        return process.exit_code or 0


def _stamp_of(place: str) -> Hashable:
    """Return a token of a database on this machine that differs when a version of a table was written."""
    if is_remote(place):
        return None
    try:
        tables = sorted(path for path in Path(place).iterdir() if path.suffix == ".lance")
        return tuple((table.name, (table / "_versions").stat().st_mtime_ns) for table in tables)
    except OSError:
        return "gone"
