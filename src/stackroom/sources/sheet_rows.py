"""Rows from a sheet of a spreadsheet, with its header found below titles and its footnotes left out."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from stackroom.errors import InputError, did_you_mean
from stackroom.sources.compressed import require_file
from stackroom.sources.grid_layout import (
    Footnotes,
    ReadingNotes,
    column_names,
    find_layout,
    is_empty,
    places,
    shown,
)
from stackroom.sources.location import ALL_SHEETS, ReadOptions, SourceLocation
from stackroom.sources.port import SourceRow
from stackroom.sources.workbook import Sheet, Workbook

SHEET_COLUMN = "sheet"
SECTION_COLUMN = "section"
SAMPLE_ROWS = 200
"""How many rows are looked at to find the layout."""

NumberedRow = tuple[int, Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The table on a sheet: its columns, and its rows with their numbers on the sheet."""

    sheet: str
    names: tuple[str, ...]
    rows: tuple[NumberedRow, ...]
    notes: tuple[str, ...]


class SheetRows:
    """Implements `RowSource` for a sheet; the one with the most cells where none is named."""

    is_whole = True
    """A row that is missing was deleted."""
    table_option = "--sheet"
    """The option that chooses another sheet."""

    def __init__(
        self,
        path: Path,
        *,
        sheet: str | None = None,
        skip: int | None = None,
        header_rows: int | None = None,
        max_unpacked_mb: int | None = None,
    ) -> None:
        self._path = require_file(path)
        self._options = ReadOptions(sheet=sheet, skip=skip, header_rows=header_rows, max_unpacked_mb=max_unpacked_mb)
        self._book = Workbook(path, max_unpacked_mb=max_unpacked_mb)
        self._sheets = {name: self._book.get_sheet(name) for name in (*self._book.visible, *self._book.hidden)}
        self._main = self._find_main() if sheet in (None, ALL_SHEETS) else self._get_named(str(sheet))

    @property
    def name(self) -> str:
        """The absolute path, with the sheet and the options that were given."""
        chosen = ALL_SHEETS if self._options.sheet == ALL_SHEETS else self._main.name
        return SourceLocation(location=str(self._path.resolve()), options=replace(self._options, sheet=chosen)).name

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The other sheets with cells."""
        read = {table.sheet for table in self._tables}
        return tuple(name for name, sheet in self._sheets.items() if name not in read and sheet.size)

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions about titles, headers, footnotes and sheets."""
        notes = ReadingNotes()
        for table in self._tables:
            for note in table.notes:
                notes.add(note if len(self._tables) == 1 else f"{table.sheet}: {note}")
        return (*notes.texts, *self._notes_on_sheets())

    def count_rows(self) -> int | None:
        """Return the number of rows."""
        return sum(len(table.rows) for table in self._tables)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows."""
        yield from islice(self._iter_all(), start, None)

    def _iter_all(self) -> Iterator[SourceRow]:
        is_joined = self._options.sheet == ALL_SHEETS
        for table in self._tables:
            before = f"{table.sheet}, " if is_joined else ""
            for number, cells in table.rows:
                values = dict(zip(table.names, cells, strict=True))
                if is_joined:
                    values.setdefault(SHEET_COLUMN, table.sheet)
                yield SourceRow(place=f"{before}row {number}", values=values)

    @cached_property
    def _tables(self) -> tuple[_Table, ...]:
        main = self._read(self._main)
        if not main.rows:
            raise InputError(f"{self._path}: the sheet '{main.sheet}' has a header and no rows")
        return (main, *self._similar) if self._options.sheet == ALL_SHEETS else (main,)

    @cached_property
    def _similar(self) -> tuple[_Table, ...]:
        """The other visible sheets with the columns of the main one."""
        columns = self._read(self._main).names
        others = (self._sheets[name] for name in self._book.visible if name != self._main.name)
        tables = (self._read(sheet) for sheet in others if sheet.size)
        return tuple(table for table in tables if table.names == columns and table.rows)

    def _read(self, sheet: Sheet) -> _Table:
        return _TableReader(sheet, self._path, self._options).read()

    def _notes_on_sheets(self) -> Iterator[str]:
        if self._options.sheet is None and self._similar:
            names = ", ".join(table.sheet for table in self._similar)
            yield f"sheets with the same columns: {names}; to read all as one table: --sheet '*'"

    def _find_main(self) -> Sheet:
        for names in (self._book.visible, self._book.hidden):
            sheets = [self._sheets[name] for name in names if self._sheets[name].size]
            if sheets:
                return max(sheets, key=lambda sheet: sheet.size)
        raise InputError(f"{self._path}: the spreadsheet is empty; expected column names and rows")

    def _get_named(self, wanted: str) -> Sheet:
        by_name = {name.casefold(): name for name in reversed(self._sheets)}
        name = wanted if wanted in self._sheets else by_name.get(wanted.casefold())
        if name is None:
            known = ", ".join(self._sheets)
            raise InputError(
                f"{self._path}: no sheet '{wanted}'{did_you_mean(wanted, list(self._sheets))}; it has: {known}"
            )
        if not self._sheets[name].size:
            raise InputError(f"{self._path}: the sheet '{name}' is empty")
        return self._sheets[name]


class _TableReader:
    """Reads the table on one sheet: finds its header, and takes titles, footnotes and headings of sections from it."""

    def __init__(self, sheet: Sheet, path: Path, options: ReadOptions) -> None:
        self._sheet = sheet
        self._path = path
        self._options = options
        self._notes: list[str] = []

    def read(self) -> _Table:
        """Return the table."""
        rows = self._read_rows()
        head = [row for _, row in rows[:SAMPLE_ROWS]]
        options = self._options
        layout = find_layout(head, titles=None if options.skip is None else 0, header_rows=options.header_rows)
        below = layout.titles + layout.header_rows
        headers: list[Sequence[Any]] = [row for _, row in rows[layout.titles : below]] or [[""] * len(head[0])]
        self._note(rows[: layout.titles], "above the header", "; --skip 0 reads all rows")
        body = self._without_footnotes(rows[below:])
        if banners := self._sheet.list_banners().intersection(number for number, _ in body):
            headers = [*([*row, None] for row in headers[:-1]), [*headers[-1], SECTION_COLUMN]]
            body = self._in_sections(body, banners)
        used = _used_places(headers, body)
        names = column_names([[row[place] for place in used] for row in headers])
        if layout.header_rows == 2 and options.header_rows is None:
            self._notes.append(f"the header is read from two rows: '{names[-1]}'; --header-rows 1 reads one")
        return _Table(
            sheet=self._sheet.name,
            names=tuple(names),
            rows=tuple((number, [row[place] for place in used]) for number, row in body),
            notes=tuple(self._notes),
        )

    def _read_rows(self) -> list[NumberedRow]:
        """Return the rows that are not empty, each with its number on the sheet."""
        numbered = enumerate(self._sheet.read_cells(), start=self._sheet.first_row)
        rows: list[NumberedRow] = [
            (number, row)
            for number, row in numbered
            if number > (self._options.skip or 0) and not all(map(is_empty, row))
        ]
        if not rows:
            raise InputError(f"{self._path}: the sheet '{self._sheet.name}' has no row below row {self._options.skip}")
        return rows

    def _without_footnotes(self, rows: Sequence[NumberedRow]) -> list[NumberedRow]:
        footnotes = Footnotes(len(rows[0][1]) if rows else 0, by_gap=True)
        above = list(footnotes.without(rows))
        self._note(footnotes.rows, "below the table")
        return above

    def _in_sections(self, rows: Sequence[NumberedRow], banners: Collection[int]) -> list[NumberedRow]:
        """Return the rows with the heading of their section as a last cell; headings are merged across the table."""
        heading: Any = None
        result: list[NumberedRow] = []
        for number, row in rows:
            if number in banners:
                heading = next(cell for cell in row if not is_empty(cell))
            else:
                result.append((number, [*row, heading]))
        rows_are = "rows merged across the table are" if len(banners) > 1 else "row merged across the table is"
        self._notes.append(f"{len(banners)} {rows_are} read as the column '{SECTION_COLUMN}' of the rows below")
        return result

    def _note(self, rows: Sequence[NumberedRow], where: str, advice: str = "") -> None:
        if rows:
            numbers = [number for number, _ in rows]
            self._notes.append(f"{places('row', numbers)}, {where}, left out: {shown(rows[0][1])}{advice}")


def _used_places(headers: Sequence[Sequence[Any]], rows: Sequence[NumberedRow]) -> list[int]:
    """Return the columns with a name or a value."""
    named = [any(not is_empty(row[place]) for row in headers) for place in range(len(headers[-1]))]
    return [
        place for place, is_named in enumerate(named) if is_named or any(not is_empty(row[place]) for _, row in rows)
    ]
