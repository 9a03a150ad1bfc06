"""Which source a location names: a file by its ending, a folder, or a provider by its prefix."""

from pathlib import Path

from pinakes.errors import InputError
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.port import RowSource


def open_source(location: str) -> RowSource:
    """Return the source at a location, or refuse with the forms there are."""
    path = Path(location).expanduser()
    if not path.exists():
        raise InputError(f"{location}: there is no such file")
    return JsonRows(path)
