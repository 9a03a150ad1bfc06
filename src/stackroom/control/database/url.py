"""The URL of the control database; importing this does not import SQLAlchemy."""

from pathlib import Path

from stackroom.settings import Settings

CONTROL_FILE = "control.sqlite"
LOCAL_FILE = "local-user.sqlite"
"""The storage of the local user, where there are no accounts."""


def default_url(home: Path) -> str:
    """Return the URL of a library's own control database."""
    return f"sqlite:///{home / CONTROL_FILE}"


def database_url(settings: Settings) -> str:
    """Return the configured URL, or that of the library's own control database."""
    return settings.control.url or default_url(settings.home)


def exists(settings: Settings) -> bool:
    """Tell whether a control database is configured, or the library has one."""
    return bool(settings.control.url) or (settings.home / CONTROL_FILE).is_file()
