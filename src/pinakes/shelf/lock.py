"""The lock of a catalogue's folder: whoever writes holds it, so that there is one writer among all processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from pinakes.errors import BusyError

LOCK_FILE = "lock"


class CatalogueLock:
    """The lock of the catalogue in a folder. A thread that holds it may take it again."""

    def __init__(self, folder: Path, name: str) -> None:
        self._lock = filelock.FileLock(folder / LOCK_FILE)
        self._name = name

    @contextmanager
    def held(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock; refuse when another process or thread keeps it for so long."""
        try:
            self._lock.acquire(timeout=timeout_s)
        except filelock.Timeout as error:
            raise BusyError(
                f"catalogue '{self._name}' is being written by another process (lock: {self._lock.lock_file})"
            ) from error
        try:
            yield
        finally:
            self._lock.release()
