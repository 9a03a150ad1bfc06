"""Opens the source that a location names: a file by its suffix, a folder of documents, or a
provider by its prefix.

Tables in several sheets or files that belong together are copied to a temporary database, which
joins them. The rows of the main table are read as ever; the names, lists and numbers that keys
relate to them come from the copy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain, islice, permutations
from pathlib import Path
from typing import Any

import apsw

from stackroom.errors import InputError
from stackroom.shelf.sqlite_files import scratch_folder
from stackroom.sources.compressed import COMPRESSED, require_file, without_compression
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.extract import KINDS as DOCUMENT_KINDS
from stackroom.sources.extract import find_format
from stackroom.sources.file_rows import SAMPLE_ROWS, FileRows, unique_names
from stackroom.sources.folder_rows import FolderRows, iter_files
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation, is_address
from stackroom.sources.parquet_rows import ParquetRows
from stackroom.sources.port import RowSource, SourceRow
from stackroom.sources.relations import Table, find_referred, is_key_name, is_measure, quoted
from stackroom.sources.sheet_rows import SheetRows
from stackroom.sources.sqlite_rows import SqliteRows
from stackroom.text.cells.values import (
    find_decimal_marks,
    is_nothing,
    read_number,
    text_of,
    with_point,
)

OpenFile = Callable[[Path, ReadOptions], FileRows]


def _open_sheet(path: Path, options: ReadOptions) -> FileRows:
    """Open a spreadsheet, with the sheets that belong together."""
    sheet = SheetRows(path, options)
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
"""Opens a location that is no file or folder, such as `PREFIX:QUERY`, with the options given beside
it; returns None for any other location. An option that means nothing for the source is refused.
"""


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
    """Return the rows of a file, by its suffix, joined with those of the files that belong to
    it.
    """
    if options.join is not None:
        first = open_file(path, replace(options, join=None))
        return open_related(first, list(map(Path, options.join)), is_chosen=True)
    suffix = without_compression(path).suffix.lower()
    if suffix in ARCHIVES:
        raise InputError(
            f"{path}: archives are not read; unpack it, and add the file or the folder in it"
        )
    opened = ENDINGS.get(suffix)
    if opened is None:
        tables = f"{', '.join(ENDINGS)} (each also compressed: {', '.join(COMPRESSED)})"
        raise InputError(
            f"{path}: unsupported file type; supported: {tables}; in folders of documents:"
            f" {DOCUMENT_KINDS}"
        )
    return opened(path, options)


def list_tables(folder: Path) -> list[str]:
    """Return the files of tables in a folder; none if it has documents."""
    files = list(iter_files(folder))
    return (
        [] if any(map(find_format, files)) else [str(file) for file in files if is_table_file(file)]
    )


def open_related(first: FileRows, others: Sequence[Path], *, is_chosen: bool) -> FileRows:
    """Return the rows of the first file, or unless it is chosen of that with the most text, joined
    with the others.
    """
    files = [first, *(open_file(require_file(path)) for path in others)]
    names = unique_names(file.table for file in files)
    rows, unrelated = relate(dict(zip(names, files, strict=True)), is_chosen=is_chosen)
    if unrelated:
        raise InputError(
            f"no key relates {', '.join(unrelated)} to the other files: it has the same name in"
            " both, or that of the other, as customer_id for the id in customers.csv, and its"
            " values are there; files with the same columns can be joined to one file first"
        )
    rows.joined_files = tuple(file.location for file in files if file is not rows)
    return rows


def is_table_file(path: Path) -> bool:
    """Return whether a file is one of a table, by its suffix."""
    return without_compression(path).suffix.lower() in ENDINGS


MOST_COLUMNS = 2_000


def relate(tables: Mapping[str, FileRows], *, is_chosen: bool) -> tuple[FileRows, Sequence[str]]:
    """Join to the first table, or unless it is chosen to the one with the most text, what keys
    relate to it.

    Return it, and the tables that no key relates to another. One that cannot be read is such a
    table.
    """
    first = next(iter(tables))
    known = [
        table
        for name, rows in tables.items()
        if len(tables) > 1 and (table := _find_table(name, rows))
    ]
    related = {
        place.name: tables[place.name]
        for table, other in permutations(known, 2)
        if any(find_referred(column, table, other) for column in table.columns)
        for place in (table, other)
    }
    if first not in related:
        return tables[first], list(tables)
    copied = CopiedTables(related, first if is_chosen else None)
    rows = tables[copied.main if copied.origins else first]
    if copied.origins:
        rows.join, rows.origins, rows.join_notes = copied.join, copied.origins, tuple(copied.notes)
    return rows, [name for name in tables if name not in copied.related]


def _find_table(name: str, rows: FileRows) -> Table | None:
    """Return a table as its first rows show it; every column may turn out to be a key."""
    try:
        head = [row.values for row in islice(rows.iter_rows(), SAMPLE_ROWS)]
    except InputError:
        return None
    columns = tuple(dict.fromkeys(column for values in head for column in values))
    return (
        Table(name=name, columns=columns, uniques=columns) if len(columns) <= MOST_COLUMNS else None
    )


class CopiedTables:
    """A temporary copy of tables that belong together, deleted with this, and what it joins to the
    main one.
    """

    def __init__(self, tables: Mapping[str, FileRows], main: str | None) -> None:
        path = scratch_folder(self) / "tables.sqlite"
        with closing(apsw.Connection(str(path))) as db, db:
            self._commas = {
                name: _copy(db, name, rows.iter_rows()) for name, rows in tables.items()
            }
        self._rows = SqliteRows(path, ReadOptions(table=main))
        losses = {
            name: rows.measure_losses() for name, rows in tables.items() if name != self._rows.table
        }
        self.notes = [f"{name}: {loss}" for name, loss in losses.items() if str(loss)]
        self.main, self.origins = self._rows.table, self._rows.origins
        self.related = self._rows.related

    def join(self, rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
        """Yield the rows of the main table with the joined columns."""
        for row, copied in zip(rows, self._rows.iter_rows(), strict=False):
            first, cell = next(iter(copied.values.items()))
            has_comma = first in self._commas[self.main]
            if (
                not row.problem
                and _plain(row.values.get(first), is_measure(first), has_comma) != cell
            ):
                raise InputError(
                    f"{row.place}: the file was changed while it was read; run the same command"
                    " again"
                )
            yield replace(
                row, values={**row.values, **{name: copied.values[name] for name in self.origins}}
            )


def _copy(db: apsw.Connection, name: str, rows: Iterator[SourceRow]) -> set[str]:
    """Copy a table; a column that is named as a key and has no value twice gets an index.

    Return the columns whose numbers have a comma before decimals.
    """
    head = list(islice(rows, SAMPLE_ROWS))
    names = {column.lower(): column for row in head for column in row.values}.values()
    texts = {
        column: [cell for row in head if isinstance(cell := row.values.get(column), str)]
        for column in names
    }
    commas = {column for column, marks in find_decimal_marks(texts).items() if marks.has_comma}
    kinds = []
    # numbers that are added up, texts, or others, which are kept as texts as well
    for column in names:
        cells = [cell for row in head if not is_nothing(cell := row.values.get(column))]
        is_text = any(read_number(cell) is None for cell in cells)
        kinds.append("NUMERIC" if is_measure(column) else "TEXT" if is_text else "BLOB")
    columns = ", ".join(
        f"{quoted(column)} {kind}" for column, kind in zip(names, kinds, strict=True)
    )
    db.execute(f"CREATE TABLE {quoted(name)} ({columns})")
    written = [(column, is_measure(column), column in commas) for column in names]
    plain = (
        [_plain(row.values.get(name), *how) for name, *how in written] for row in chain(head, rows)
    )
    db.executemany(f"INSERT INTO {quoted(name)} VALUES ({', '.join('?' * len(kinds))})", plain)
    for column in filter(is_key_name, names):
        with suppress(apsw.ConstraintError):
            db.execute(
                f"CREATE UNIQUE INDEX {quoted(f'{name} {column}')} ON {quoted(name)}"
                f" ({quoted(column)})"
            )
    return commas


def _plain(cell: Any, is_added_up: bool, has_comma: bool) -> Any:
    """Return a cell as a text without spaces around it, or as the number that it is; None if it is
    empty.
    """
    if isinstance(cell, str) and not is_added_up:
        return cell.strip() or None
    number = (
        read_number(with_point(cell) if has_comma and isinstance(cell, str) else cell)
        if is_added_up
        else None
    )
    if number is not None:
        return number
    return None if is_nothing(cell) else text_of(cell)
