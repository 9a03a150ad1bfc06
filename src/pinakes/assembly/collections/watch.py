"""Syncing collections beside a server: at its start, and whenever the version of a table has moved.

The place is looked at by a process of its own, which a server starts and does not wait for: LanceDB takes seconds to
load, and a store that hangs, or a client that crashes, touches nothing that is served. What the process writes to the
library is followed like every change of another process. After a failure the pause grows, with some jitter.
"""

import logging
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from pathlib import Path

from pinakes.assembly.collections.state import PlaceState, find_place, load_state, note_problem
from pinakes.collection_settings import is_remote
from pinakes.errors import StorageError
from pinakes.settings import Settings

logger = logging.getLogger(__name__)

FIRST_LOOK_S = 1.0
"""How long after the start it begins."""
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
JITTER = 0.25
FOLDER_LOOK_S = 2.0
"""How often the files of a database on this machine are looked at, which costs next to nothing."""
LONGEST_SYNC_S = 3_600.0
"""A process that takes longer is ended; what it has written is whole."""
END_S = 5.0

RunSync = Callable[[str], int]
"""Syncs a place, and returns an exit code; negative: the signal that ended it."""


class CollectionWatch:
    """A thread that starts the syncs of one library."""

    def __init__(
        self,
        settings: Settings,
        *,
        first_look_s: float = FIRST_LOOK_S,
        first_pause_s: float = FIRST_PAUSE_S,
        folder_look_s: float = FOLDER_LOOK_S,
        jitter: Callable[[], float] = random.random,
        run_sync: RunSync | None = None,
    ) -> None:
        self._settings = settings
        self._run_sync = run_sync or self._run_process
        self._place = find_place(settings)
        self._first_look_s = first_look_s
        self._first_pause_s = first_pause_s
        self._folder_look_s = folder_look_s
        self._jitter = jitter
        self._stopped = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._failures = 0
        self._told: dict[str | None, str] = {}
        self._thread = threading.Thread(target=self._run, name="collections", daemon=True)

    def start(self) -> None:
        """Begin, unless there is no place to sync from, or it must not be asked."""
        if self._place is None:
            return
        if self._settings.offline and is_remote(self._place):
            logger.warning("%s is not looked at offline; the copies in the library are served", self._place)
            return
        self._thread.start()

    def stop(self) -> None:
        """End at once, with a sync that is running."""
        self._stopped.set()
        if (process := self._process) is not None:
            process.terminate()
        if self._thread.is_alive():
            self._thread.join(END_S)

    def _run(self) -> None:
        assert self._place is not None
        pause_s = self._first_look_s
        while not self._stopped.wait(pause_s):
            stamp = _stamp_of(self._place)
            has_failed = self._sync(self._place)
            if has_failed:
                pause_s = self._pause_after_failure()
                continue
            self._failures = 0
            if not self._wait_for_change(self._place, stamp):
                return
            pause_s = 0.0

    def _sync(self, place: str) -> bool:
        """Sync once; tell whether that failed."""
        before = load_state(self._settings.home, place)
        code = self._run_sync(place)
        if self._stopped.is_set():
            return False
        state = load_state(self._settings.home, place)
        is_refused = code == StorageError.exit_code  # recorded, unless another process holds the right to sync
        if code != 0 and not is_refused and state == before:  # it ended before it could record why
            state = self._note(place, _describe_end(code))
        self._tell(state)
        return is_refused or state.problem is not None or any(one.outcome == "failed" for one in state.collections)

    def _note(self, place: str, problem: str) -> PlaceState:
        """Record why a place could not be looked at, where the library can be written to."""
        try:
            return note_problem(self._settings.home, place, problem, now=datetime.now(UTC))
        except OSError as error:
            return PlaceState(place=place, problem=f"{problem}; the library cannot be written to: {error.strerror}")

    def _run_process(self, place: str) -> int:
        """Run `pinakes sync` in a process of its own, and return its exit code."""
        home = str(self._settings.home)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pinakes", "sync", place, "--background"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PINAKES_HOME": home},
        )
        if self._stopped.is_set():
            self._process.terminate()
        try:
            return self._process.wait(LONGEST_SYNC_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _wait_for_change(self, place: str, stamp: Hashable) -> bool:
        """Wait until it is time to look again; False where the server ends, or there is only one look."""
        refresh_s = self._settings.collections.refresh_s
        if not refresh_s:
            return False
        if is_remote(place):
            return not self._stopped.wait(refresh_s)
        while _stamp_of(place) == stamp:
            if self._stopped.wait(self._folder_look_s):
                return False
        return True

    def _pause_after_failure(self) -> float:
        """Return how long to wait after a failure: longer after each, up to a bound."""
        self._failures += 1
        pause_s = min(self._first_pause_s * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE_S)
        return pause_s * (1 + JITTER * self._jitter())

    def _tell(self, state: PlaceState) -> None:
        """Log what is new since the last look."""
        problems: dict[str | None, str] = {None: state.problem} if state.problem is not None else {}
        problems.update(state.problems())
        for name, problem in problems.items():
            if self._told.get(name) != problem:
                logger.warning("%s: %s", f"collection '{name}'" if name else "collections", problem)
        for name in self._told.keys() - problems.keys():
            logger.info("%s synced again", f"collection '{name}' is" if name else "collections are")
        self._told = problems


def _describe_end(code: int) -> str:
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return f"the process that syncs it ended {how}; to see why, run: pinakes sync"


def _stamp_of(place: str) -> Hashable:
    """Return a token of a database on this machine that differs when a version of a table was written."""
    if is_remote(place):
        return None
    try:
        tables = sorted(path for path in Path(place).iterdir() if path.suffix == ".lance")
        return tuple((table.name, (table / "_versions").stat().st_mtime_ns) for table in tables)
    except OSError:
        return "gone"
