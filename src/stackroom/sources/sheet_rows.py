"""Rows from a sheet of a spreadsheet (`.xlsx`, `.xlsm`, `.xls`, `.ods`), with its header found below titles."""

import copy
import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from python_calamine import CalamineSheet, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from stackroom.errors import InputError
from stackroom.sources.columns import require_name
from stackroom.sources.compressed import open_decompressed
from stackroom.sources.file_rows import SAMPLE_ROWS, FileRows, ReadingNotes, refusing
from stackroom.sources.grid_layout import Footnotes, column_names, describe_left_out, find_layout, is_empty
from stackroom.sources.location import NO_OPTIONS, ReadOptions
from stackroom.sources.missing import MissingCells
from stackroom.sources.port import SourceRow
from stackroom.sources.sheet_bounds import require_moderate_sheets

LARGEST_WHOLE = 1e15
"""Numbers from here on are not told from their neighbours by a spreadsheet, and stay floats."""
FORMER = b"\xd0\xcf\x11\xe0"
"""The beginning of a file of before 2007, and of the wrapper of an encrypted one of today."""
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""The name of what is in such a wrapper."""

NumberedRow = tuple[int, Sequence[Any]]


class SheetRows(FileRows):
    """Implements `RowSource` for a sheet; the one with the most cells where none is named."""

    takes = frozenset({"table", "skip", "header_rows"})
    table_option = "--sheet"

    def __init__(self, path: Path, options: ReadOptions = NO_OPTIONS) -> None:
        super().__init__(path, options)
        with self._guarded():
            self._sheets = self._read_sheets()
        self._sheet = self._choose_sheet(options.table)
        self._options = replace(options, table=self._sheet.name)

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The other sheets with cells."""
        return tuple(name for name, sheet in self._sheets.items() if name != self._sheet.name and _size(sheet))

    def list_sheets(self) -> dict[str, "SheetRows"]:
        """Return this sheet, and the others that are shown and have cells."""
        sheets = {self.table: self}
        for name in self.other_tables:
            if name not in self._hidden:
                sheets[name] = other = copy.copy(self)
                other._sheet, other._notes, other._options = self._sheets[name], ReadingNotes(), ReadOptions(table=name)
        return sheets

    def _iter_table(self) -> Iterator[SourceRow]:
        rows = self._read_rows()
        head = [row for _, row in rows[:SAMPLE_ROWS]]
        layout = find_layout(head, self._options)
        headers = [row for _, row in rows[layout.titles : layout.first_row]] or [[""] * len(head[0])]
        self._note(rows[: layout.titles], "above the header", "; --skip 0 reads all rows")
        footnotes = Footnotes(len(rows[0][1]), by_gap=True)
        body = list(footnotes.without(rows[layout.first_row :]))
        self._note(footnotes.rows, "below the table")
        if not body:
            raise InputError(
                f"{self._path}: the sheet '{self._sheet.name}' has a header and no rows; name another: --sheet NAME"
            )
        cells_of_all = [*headers, *(row for _, row in body)]
        is_used = [any(not is_empty(row[place]) for row in cells_of_all) for place in range(len(headers[-1]))]
        used = [place for place, has_cells in enumerate(is_used) if has_cells]
        sample = [[row[place] for place in used] for _, row in body[:SAMPLE_ROWS]]
        names = column_names([[row[place] for place in used] for row in headers], sample)
        missing = MissingCells(sample, self._notes)
        for number, row in body:
            cells = [row[place] for place in used]
            yield missing.emptied(SourceRow(place=f"row {number}", values=dict(zip(names, cells, strict=True))))

    def _read_rows(self) -> list[NumberedRow]:
        """Return the rows that are not empty, each with its number on the sheet."""
        first = self._sheet.start[0] + 1 if self._sheet.start else 1
        skip = self._options.skip or 0
        with self._guarded():
            numbered = list(enumerate(_read_cells(self._sheet), start=first))
        rows: list[NumberedRow] = [
            (number, row) for number, row in numbered if number > skip and not all(map(is_empty, row))
        ]
        if not rows:
            raise InputError(
                f"{self._path}: the sheet '{self._sheet.name}' has no row below row {skip}; give a smaller --skip"
            )
        return rows

    def _note(self, rows: Sequence[NumberedRow], where: str, advice: str = "") -> None:
        if rows:
            self._notes.add(f"{describe_left_out('row', rows, where)}{advice}")

    def _read_sheets(self) -> dict[str, CalamineSheet]:
        """Return the sheets by name; refuse a file that would fill the memory."""
        with open_decompressed(self._path) as file:
            content = io.BytesIO(file.read())
        if not content.getvalue().startswith(FORMER):  # which is not packed, and has few cells
            with zipfile.ZipFile(content) as archive:
                require_moderate_sheets(archive, self._path)
            content.seek(0)
        elif ENCRYPTED in content.getvalue():
            raise InputError(f"{self._path}: it is encrypted; save it without a password")
        book = CalamineWorkbook.from_filelike(content)
        sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        self._hidden = {sheet.name for sheet in sheets if sheet.visible != SheetVisibleEnum.Visible}
        return {sheet.name: book.get_sheet_by_name(sheet.name) for sheet in sheets}

    def _choose_sheet(self, wanted: str | None) -> CalamineSheet:
        """Return the sheet of a name, or the one with the most cells, of those that are shown if there are any."""
        if wanted is not None:
            name = require_name(list(self._sheets), wanted, kind="sheet", place=self._path)
            if not _size(self._sheets[name]):
                raise InputError(f"{self._path}: the sheet '{name}' is empty; name another: --sheet NAME")
            return self._sheets[name]
        filled = [sheet for sheet in self._sheets.values() if _size(sheet)]
        if not filled:
            raise InputError(f"{self._path}: the spreadsheet is empty; expected column names and rows")
        return max([sheet for sheet in filled if sheet.name not in self._hidden] or filled, key=_size)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with refusing(self._path, "a spreadsheet", advice="save it again, or as CSV"):
            try:
                yield
            except PasswordError as error:
                raise InputError(f"{self._path}: it is encrypted; save it without a password") from error


def _size(sheet: CalamineSheet) -> int:
    """Return the number of cells of a sheet's used area."""
    return sheet.height * sheet.width if sheet.start else 0


def _read_cells(sheet: CalamineSheet) -> list[list[Any]]:
    """Return the used area; a value merged over several rows is in each of them, in the first of its columns."""
    cells = [[_plain(cell) for cell in row] for row in sheet.to_python()]
    top, left = sheet.start or (0, 0)
    for (first, column), (last, _) in sheet.merged_cell_ranges or ():
        place = column - left
        if last > first >= top and 0 <= place < sheet.width and first - top < len(cells):
            for row in cells[first - top + 1 : last - top + 1]:
                row[place] = cells[first - top][place]
    return cells


def _plain(cell: Any) -> Any:
    """Return a cell as a plain value: whole numbers as int, times as text, an empty cell or an error as None."""
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < LARGEST_WHOLE else cell
    if isinstance(cell, datetime):
        return cell.date() if cell.time() == time() else cell
    if isinstance(cell, time):
        return cell.isoformat("minutes") if not cell.second and not cell.microsecond else cell.isoformat("seconds")
    return str(cell) if isinstance(cell, timedelta) else cell
