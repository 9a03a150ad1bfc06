"""The storage of what belongs to users: the control database, or without accounts a file of the local user."""

import importlib
import threading
from pathlib import Path
from typing import Any

from stackroom.errors import StorageError
from stackroom.tools.own_kinds import OwnStorage

LOCAL_MODULE = "stackroom.control.database.local"


class OwnRecords:
    """The storage of one library, opened when something is first asked of it. Safe to use from several threads."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._storage: OwnStorage | None = None
        self._local: Any | None = None
        self._guard = threading.Lock()

    def keep_in(self, storage: OwnStorage) -> None:
        """Use the storage of a server with accounts."""
        self._storage = storage

    def open(self) -> OwnStorage:
        """Return the storage; that of the local user is created if it is missing."""
        with self._guard:
            if self._storage is None:
                self._local = self._open_local()
                self._storage = OwnStorage(database=self._local)
            return self._storage

    def close(self) -> None:
        """Close the local user's database if it was opened."""
        with self._guard:
            if self._local is not None:
                self._local.close()
                self._local = self._storage = None

    def _open_local(self) -> Any:
        """Open the local user's database; its library is imported here, since most servers never need it."""
        try:
            return importlib.import_module(LOCAL_MODULE).open_local(self._home)
        except StorageError as error:
            reason = "nothing of the local user can be read or kept: the file in the library's folder cannot be opened"
            raise StorageError(f"{reason}; is the library read-only?") from error
