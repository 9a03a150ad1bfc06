"""Opens the source that a location names: a file by its suffix, a folder of documents, or a provider by its prefix."""

import glob
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from stackroom.errors import InputError
from stackroom.sources.archive import ARCHIVE, open_archive
from stackroom.sources.compressed import COMPRESSED, require_file, without_compression
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.extract import KINDS as DOCUMENT_KINDS
from stackroom.sources.extract import find_format
from stackroom.sources.folder_rows import FolderRows, iter_files
from stackroom.sources.joined_rows import JoinedRows
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import (
    NO_OPTIONS,
    ReadOptions,
    SourceLocation,
    is_address,
    is_pattern,
    join_locations,
    split_locations,
)
from stackroom.sources.parquet_rows import ParquetRows
from stackroom.sources.port import RowSource
from stackroom.sources.sqlite_rows import SqliteRows

SHEET_READER = "stackroom.sources.sheet_rows"
ABOUT = ("readme", "license", "licence", "changelog", "notice", "copying", "codebook", "datapackage")
"""The beginnings of the names of documents that are about the tables beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A format of files: its reader, and the options that it takes."""

    open: Callable[[Path, ReadOptions], RowSource]
    options: frozenset[str] = frozenset()


def _open_sheet(path: Path, options: ReadOptions) -> RowSource:
    """Open a spreadsheet; its reader is loaded at the first one."""
    reader = importlib.import_module(SHEET_READER)
    return cast(
        RowSource,
        reader.SheetRows(
            path,
            sheet=options.part,
            skip=options.skip,
            header_rows=options.header_rows,
            max_unpacked_mb=options.max_unpacked_mb,
        ),
    )


CSV = FileFormat(
    open=lambda path, options: CsvRows(
        path, skip=options.skip, header_rows=options.header_rows, max_unpacked_mb=options.max_unpacked_mb
    ),
    options=frozenset({"skip", "header_rows"}),
)
JSON = FileFormat(
    open=lambda path, options: JsonRows(path, records=options.records, max_unpacked_mb=options.max_unpacked_mb),
    options=frozenset({"records"}),
)
PARQUET = FileFormat(open=lambda path, options: ParquetRows(path, max_unpacked_mb=options.max_unpacked_mb))
SHEET = FileFormat(
    open=_open_sheet,
    options=frozenset({"table", "sheet", "skip", "header_rows"}),
)
SQLITE = FileFormat(
    open=lambda path, options: SqliteRows(
        path, table=options.table, query=options.query, max_unpacked_mb=options.max_unpacked_mb
    ),
    options=frozenset({"table", "query"}),
)

ENDINGS: Mapping[str, FileFormat] = {
    ".json": JSON,
    ".jsonl": JSON,
    ".ndjson": JSON,
    ".csv": CSV,
    ".tsv": CSV,
    ".tab": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".xlsx": SHEET,
    ".xlsm": SHEET,
    ".ods": SHEET,
    ".sqlite": SQLITE,
    ".sqlite3": SQLITE,
    ".db": SQLITE,
}
"""File suffix → format."""

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
    return _open_path(place.location, chosen)


def _open_path(location: str, options: ReadOptions) -> RowSource:
    files = _find_files(location)
    if files is not None:
        return _open_files(location, files, options)
    path = _require_path(location)
    if path.is_dir():
        options.require_only((), location=location)
        return FolderRows(path)
    return open_file(path, options)


def open_file(path: Path, options: ReadOptions) -> RowSource:
    """Return the rows of a file, by its suffix."""
    if path.suffix.lower() == ARCHIVE:
        return open_archive(path, options, is_table=is_table_file, open_file=open_file)
    known = find_format_of(path)
    if known is None:
        raise InputError(f"{path}: unsupported file type; supported: {_kinds()}")
    options.require_only({*known.options, "max_unpacked_mb"}, location=str(path))
    return known.open(path, options)


def find_format_of(path: Path) -> FileFormat | None:
    """Return the format of a file of a table, by its suffix; None for any other file."""
    return ENDINGS.get(without_compression(path).suffix.lower())


def is_table_file(path: Path) -> bool:
    """Return whether a file is one of a table, by its suffix."""
    return find_format_of(path) is not None


def holds_tables(path: Path) -> bool:
    """Return whether a folder is one of tables: it has more of them than of documents, not counting read-me files."""
    if not path.is_dir():
        return False
    files = list(iter_files(path))
    tables = sum(is_table_file(file) for file in files)
    documents = sum(find_format(file) is not None and not file.stem.lower().startswith(ABOUT) for file in files)
    return tables > documents


def _find_files(location: str) -> list[Path] | None:
    """Return the files of a location of several: a list, a pattern, or a folder of tables; None for any other."""
    if is_pattern(location):
        found = [Path(one) for one in sorted(glob.glob(os.path.expanduser(location), recursive=True))]
        files = [one for one in found if one.is_file() and (is_table_file(one) or one.suffix.lower() == ARCHIVE)]
        if not files:
            raise InputError(f"{location}: no file of a supported type matches; supported: {_kinds()}")
        return files
    parts = split_locations(location)
    if len(parts) > 1:
        return [file for part in parts for file in _find_files(part) or [require_file(_require_path(part))]]
    path = _require_path(location)
    return [file for file in iter_files(path) if is_table_file(file)] if holds_tables(path) else None


def _open_files(location: str, files: Sequence[Path], options: ReadOptions) -> RowSource:
    """Open several files as one table; its name has their whole paths, so that it is read the same from anywhere."""
    whole = join_locations(tuple(os.path.abspath(os.path.expanduser(part)) for part in split_locations(location)))
    name = SourceLocation(location=whole, options=options).name
    return JoinedRows(name, files, lambda file: open_file(file, options))


def _require_path(location: str) -> Path:
    try:
        path = Path(location).expanduser()
        return path if path.is_dir() else require_file(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{location}: cannot be read: {error}") from error


def _kinds() -> str:
    tables = f"{', '.join(ENDINGS)} (each also compressed: {', '.join(COMPRESSED)}, or in {ARCHIVE})"
    return f"{tables}; in folders of documents: {DOCUMENT_KINDS}"
