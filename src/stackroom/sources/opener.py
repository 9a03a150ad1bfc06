"""Opens the source that a location names: a file by its suffix, a folder of documents, or a provider by its prefix."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from stackroom.errors import InputError
from stackroom.sources.columns import unique_names
from stackroom.sources.compressed import COMPRESSED, require_file, without_compression
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.extract import KINDS as DOCUMENT_KINDS
from stackroom.sources.extract import find_format
from stackroom.sources.file_rows import FileRows
from stackroom.sources.folder_rows import FolderRows, iter_files
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation, is_address
from stackroom.sources.parquet_rows import ParquetRows
from stackroom.sources.port import RowSource
from stackroom.sources.related_tables import relate
from stackroom.sources.sqlite_rows import SqliteRows

SHEET_READER = "stackroom.sources.sheet_rows"

OpenFile = Callable[[Path, ReadOptions], FileRows]


def _open_sheet(path: Path, options: ReadOptions) -> FileRows:
    """Open a spreadsheet, with the sheets that belong together; its reader is loaded at the first one."""
    sheet = importlib.import_module(SHEET_READER).SheetRows(path, options)
    return relate(sheet.list_sheets(), is_chosen=bool(options.given))[0]


ENDINGS: Mapping[str, OpenFile] = {
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), JsonRows),
    **dict.fromkeys((".csv", ".tsv", ".tab"), CsvRows),
    **dict.fromkeys((".parquet", ".pq"), ParquetRows),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), _open_sheet),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), SqliteRows),
}
"""File suffix → the reader of its format."""

ARCHIVES = (".zip", ".tar", ".tgz")

OpenProvider = Callable[[str, ReadOptions], RowSource | None]
"""Opens a location that is no file or folder, such as `PREFIX:QUERY`, with the options given beside it; returns None
for any other location. An option that means nothing for the source is refused."""


def open_source(
    location: str, *, options: ReadOptions = NO_OPTIONS, open_provider: OpenProvider | None = None
) -> RowSource:
    """Return the source at a location, or refuse with the known forms.

    The location may be the name of a source, options included; those given beside it come first.
    """
    if open_provider and (source := open_provider(location, options)) is not None:
        return source
    place = SourceLocation.parse(location)
    chosen = options.over(place.options)
    if is_address(place.location):
        scheme = place.location.partition(":")[0]
        raise InputError(f"{place.location}: sources at {scheme}:// cannot be read here; files can")
    try:
        path = Path(place.location).expanduser()
        path = path if path.is_dir() else require_file(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{place.location}: cannot be read: {error}") from error
    if path.is_dir():
        chosen.require_only((), location=place.location)
        return FolderRows(path)
    return open_file(path, chosen)


def open_file(path: Path, options: ReadOptions = NO_OPTIONS) -> FileRows:
    """Return the rows of a file, by its suffix, joined with those of the files that belong to it."""
    if options.join is not None:
        first = open_file(path, replace(options, join=None))
        return open_related(first, list(map(Path, options.join)), is_chosen=True)
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


def list_tables(folder: Path) -> list[str]:
    """Return the files of tables in a folder; none if it has documents."""
    files = list(iter_files(folder))
    return [] if any(map(find_format, files)) else [str(file) for file in files if is_table_file(file)]


def open_related(first: FileRows, others: Sequence[Path], *, is_chosen: bool) -> FileRows:
    """Return the rows of the first file, or unless it is chosen of that with the most text, joined with the others."""
    files = [first, *(open_file(require_file(path)) for path in others)]
    names = unique_names(file.table for file in files)
    rows, unrelated = relate(dict(zip(names, files, strict=True)), is_chosen=is_chosen)
    if unrelated:
        raise InputError(
            f"no key relates {', '.join(unrelated)} to the other files: it has the same name in both, or that of the "
            "other, as customer_id for the id in customers.csv, and its values are there; files with the same columns "
            "can be joined to one file first"
        )
    rows.joined_files = tuple(file.location for file in files if file is not rows)
    return rows


def is_table_file(path: Path) -> bool:
    """Return whether a file is one of a table, by its suffix."""
    return without_compression(path).suffix.lower() in ENDINGS
