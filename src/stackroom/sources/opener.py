"""Opens the source that a location names: a file by its suffix, a folder of documents, or a provider by its prefix."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from stackroom.errors import InputError
from stackroom.sources.compressed import COMPRESSED, require_file, without_compression
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.extract import KINDS as DOCUMENT_KINDS
from stackroom.sources.file_rows import FileRows
from stackroom.sources.folder_rows import FolderRows
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation, is_address
from stackroom.sources.parquet_rows import ParquetRows
from stackroom.sources.port import RowSource
from stackroom.sources.sqlite_rows import SqliteRows

SHEET_READER = "stackroom.sources.sheet_rows"

OpenFile = Callable[[Path, ReadOptions], FileRows]


def _open_sheet(path: Path, options: ReadOptions) -> FileRows:
    """Open a spreadsheet; its reader is loaded at the first one."""
    return cast(FileRows, importlib.import_module(SHEET_READER).SheetRows(path, options))


ENDINGS: Mapping[str, OpenFile] = {
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), JsonRows),
    **dict.fromkeys((".csv", ".tsv", ".tab"), CsvRows),
    **dict.fromkeys((".parquet", ".pq"), ParquetRows),
    **dict.fromkeys((".xlsx", ".xlsm", ".ods"), _open_sheet),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), SqliteRows),
}
"""File suffix → the reader of its format."""

ARCHIVES = (".zip", ".tar", ".tgz")

OpenProvider = Callable[[str, ReadOptions], RowSource | None]
"""Opens a location that is no file or folder, such as `PREFIX:QUERY`, with the options given beside it; returns None
for any other location. An option that means nothing for the source is refused."""


def no_provider(_location: str, _options: ReadOptions) -> RowSource | None:
    """Return None: there are no providers."""
    return None


def open_source(
    location: str,
    *,
    options: ReadOptions = NO_OPTIONS,
    open_provider: OpenProvider = no_provider,
) -> RowSource:
    """Return the source at a location, or refuse with the known forms.

    The location may be the name of a source, options included; those given beside it come first.
    """
    if (asked := open_provider(location, options)) is not None:
        return asked
    place = SourceLocation.parse(location)
    chosen = options.over(place.options)
    if is_address(place.location):
        scheme = place.location.partition(":")[0]
        raise InputError(f"{place.location}: sources at {scheme}:// cannot be read here; files can")
    path = _require_path(place.location)
    if path.is_dir():
        chosen.require_only((), location=place.location)
        return FolderRows(path)
    return open_file(path, chosen)


def open_file(path: Path, options: ReadOptions) -> FileRows:
    """Return the rows of a file, by its suffix."""
    suffix = without_compression(path).suffix.lower()
    if suffix in ARCHIVES:
        raise InputError(f"{path}: archives are not read; unpack it, and add the file or the folder in it")
    opened = ENDINGS.get(suffix)
    if opened is None:
        tables = f"{', '.join(ENDINGS)} (each also compressed: {', '.join(COMPRESSED)})"
        raise InputError(
            f"{path}: unsupported file type; supported: {tables}; in folders of documents: {DOCUMENT_KINDS}"
        )
    return opened(path, options)


def is_table_file(path: Path) -> bool:
    """Return whether a file is one of a table, by its suffix."""
    return without_compression(path).suffix.lower() in ENDINGS


def _require_path(location: str) -> Path:
    try:
        path = Path(location).expanduser()
        return path if path.is_dir() else require_file(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{location}: cannot be read: {error}") from error
