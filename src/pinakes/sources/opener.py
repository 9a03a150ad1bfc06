"""Opens the source that a location names: a file by its suffix, a folder of documents, or a provider by its prefix."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pinakes.errors import InputError
from pinakes.sources.compressed import COMPRESSED, require_file, without_compression
from pinakes.sources.csv_rows import CsvRows
from pinakes.sources.folder_rows import FolderRows
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.parquet_rows import ParquetRows
from pinakes.sources.port import RowSource
from pinakes.sources.sqlite_rows import SqliteRows

ENDINGS: Mapping[str, Callable[[Path], RowSource]] = {
    ".json": JsonRows,
    ".jsonl": JsonRows,
    ".ndjson": JsonRows,
    ".csv": CsvRows,
    ".tsv": CsvRows,
    ".tab": CsvRows,
    ".parquet": ParquetRows,
    ".pq": ParquetRows,
    ".sqlite": SqliteRows,
    ".sqlite3": SqliteRows,
    ".db": SqliteRows,
}
"""File suffix → reader."""


def no_provider(_location: str) -> RowSource | None:
    """Return None: there are no providers."""
    return None


def open_source(
    location: str,
    *,
    table: str | None = None,
    query: str | None = None,
    open_provider: Callable[[str], RowSource | None] = no_provider,
) -> RowSource:
    """Return the source at a location, or refuse with the known forms; table and query are for SQLite alone.

    `open_provider` opens a location such as `PREFIX:QUERY`, and returns None for any other.
    """
    if (asked := open_provider(location)) is not None:
        _require_no_choice(location, table, query)
        return asked
    path = _require_path(location)
    if path.is_dir():
        _require_no_choice(location, table, query)
        return FolderRows(path)
    reader = ENDINGS.get(without_compression(path).suffix.lower())
    if reader is None:
        raise InputError(f"{location}: unsupported file type; supported: {_kinds()}")
    if reader is SqliteRows:
        return SqliteRows(path, table=table, query=query)
    _require_no_choice(location, table, query)
    return reader(path)


def _require_path(location: str) -> Path:
    try:
        path = Path(location).expanduser()
        return path if path.is_dir() else require_file(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{location}: cannot be read: {error}") from error


def _require_no_choice(location: str, table: str | None, query: str | None) -> None:
    if table is not None or query is not None:
        raise InputError(f"{location}: --table and --query are for SQLite files only (.sqlite, .sqlite3, .db)")


def _kinds() -> str:
    return f"{', '.join(ENDINGS)} (each also compressed: {', '.join(COMPRESSED)})"
