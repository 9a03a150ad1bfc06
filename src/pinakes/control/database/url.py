"""Where the control database is; answers without loading what opens it."""

from pathlib import Path

from pinakes.settings import Settings

CONTROL_FILE = "control.sqlite"


def default_url(home: Path) -> str:
    """Return the address of the control database of a library."""
    return f"sqlite:///{home / CONTROL_FILE}"


def database_url(settings: Settings) -> str:
    """Return the address of the control database that is configured, else of the library's own."""
    return settings.control.url or default_url(settings.home)


def exists(settings: Settings) -> bool:
    """Tell whether a control database has been made here, or one is configured."""
    return bool(settings.control.url) or (settings.home / CONTROL_FILE).is_file()
