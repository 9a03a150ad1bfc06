"""A lease on a task by a lock on a file, which ends with the process that holds it, however that ends."""

from pathlib import Path

import filelock

from stackroom.errors import StorageError


class FileLease:
    """The right to run a task, among the processes that use one folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = filelock.FileLock(path, thread_local=False)

    def take(self) -> bool:
        """Take it, unless another process has it; tell whether this one has it now."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        except OSError as error:
            raise StorageError(f"{self._path}: the file cannot be locked: {error.strerror}") from error
        return True

    def release(self) -> None:
        """Give it back."""
        self._lock.release()
