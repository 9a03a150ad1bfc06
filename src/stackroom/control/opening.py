"""Where the control database is; importing this does not import SQLAlchemy."""

from stackroom.errors import StorageError
from stackroom.settings import Settings

CONTROL_FILE = "control.sqlite"
LOCAL_FILE = "local-user.sqlite"  # the storage of the local user, where there are no accounts


class DatabaseAwayError(StorageError):
    """The control database cannot be reached."""


def database_url(settings: Settings) -> str:
    """Return the configured URL, or that of the library's own control database."""
    return settings.control.url or f"sqlite:///{settings.home / CONTROL_FILE}"


def exists(settings: Settings) -> bool:
    """Tell whether a control database is configured, or the library has one."""
    return bool(settings.control.url) or (settings.home / CONTROL_FILE).is_file()
