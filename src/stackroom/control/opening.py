"""The URL of the control database, and its audit, opened on first use; importing this does not
import SQLAlchemy.
"""

import importlib
import threading
from typing import Any

from stackroom.model.principal import AuditEntry
from stackroom.settings import Settings

CONTROL_MODULE = "stackroom.control.control"
CONTROL_FILE = "control.sqlite"
LOCAL_FILE = "local-user.sqlite"  # the storage of the local user, where there are no accounts


class AuditOnDemand:
    """Implements `Observer` with the audit of a control database, opened by `open` or else by the
    first call.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        self._control: Any = None

    def open(self) -> None:
        """Open the database, unless it is open; raise StorageError if that fails."""
        with self._guard:
            if self._control is None:
                self._control = importlib.import_module(CONTROL_MODULE).Control.open(self._settings)

    @property
    def is_open(self) -> bool:
        """Whether the database is open."""
        return self._control is not None

    @property
    def database(self) -> Any:
        """The control database, once it is open."""
        return self._control.database

    def begin(self, entry: AuditEntry) -> None:
        """Note a call that is about to change something."""
        self.open()
        self._control.audit.begin(entry)

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Write an entry; a call whose entry cannot be written fails."""
        self.open()
        self._control.audit.write(entry, durable=durable)

    def close(self) -> None:
        """Write queued entries, and close the database if it is open."""
        with self._guard:
            if self._control is not None:
                self._control.close()
                self._control = None


def database_url(settings: Settings) -> str:
    """Return the configured URL, or that of the library's own control database."""
    return settings.control.url or f"sqlite:///{settings.home / CONTROL_FILE}"


def exists(settings: Settings) -> bool:
    """Tell whether a control database is configured, or the library has one."""
    return bool(settings.control.url) or (settings.home / CONTROL_FILE).is_file()
