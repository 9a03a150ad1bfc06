"""The write lock of a catalogue's folder: at most one writer among all processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from stackroom.errors import BusyError, StorageError

LOCK_FILE, EMBEDDING_LOCK_FILE = "lock", "vectors.lock"


class EmbeddingElsewhereError(BusyError):
    """Another process is embedding the texts of the same catalogue."""


class CatalogueLock:
    """A reentrant lock file in the folder of a catalogue."""

    def __init__(self, folder: Path, name: str, *, file: str = LOCK_FILE) -> None:
        self._folder = folder
        self._lock = filelock.FileLock(folder / file)
        self._name = name

    def is_held(self) -> bool:
        """Tell whether this object holds the lock."""
        return self._lock.is_locked

    @contextmanager
    def held(self, timeout_s: float, *, error_type: type[BusyError] = BusyError) -> Iterator[None]:
        """Hold the lock; raise BusyError if another process or thread holds it beyond
        the time-out.
        """
        try:
            self._folder.stat()  # `filelock` would make the folder of a removed catalogue again
            self._lock.acquire(timeout=timeout_s)
        except filelock.Timeout as error:
            holder = f"another process (lock: {self._lock.lock_file})"
            raise error_type(f"catalogue '{self._name}' is being written by {holder}") from error
        except (OSError, NotImplementedError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            said = f"catalogue '{self._name}' cannot be written to: {reason}; nothing was changed"
            raise StorageError(said) from error
        try:
            yield
        finally:
            self._lock.release()
