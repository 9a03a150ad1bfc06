"""Spreadsheet files (`.xlsx`, `.xlsm`, `.ods`): their sheets, and the cells of each as plain values."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from python_calamine import (
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from pinakes.errors import InputError
from pinakes.sources.compressed import open_decompressed
from pinakes.sources.ods_merged import Range, find_merged
from pinakes.sources.percent_cells import find_percent_columns
from pinakes.sources.unpacked import Ceiling, require_moderate_sheet, require_moderate_zip

LARGEST_WHOLE = 1e15
"""Numbers from here on are not told from their neighbours by a spreadsheet, and stay floats."""
ENCRYPTED = b"\xd0\xcf\x11\xe0"
"""The beginning of a file of the former format, in which an encrypted spreadsheet is wrapped."""

PANIC = "PanicException"
"""The class name of a Rust panic; the class cannot be imported."""

Grid = list[list[Any]]


class Workbook:
    """The sheets of a file, read with the values that formulas had when it was saved."""

    def __init__(self, path: Path, *, max_unpacked_mb: int | None = None) -> None:
        self._path = path
        content = _content(path, max_unpacked_mb)
        with self._guarded():
            _require_moderate(content, path, max_unpacked_mb)
            with zipfile.ZipFile(content) as file:
                self._percent_columns = find_percent_columns(file)
                self._merged = find_merged(file)
            content.seek(0)
            self._book = CalamineWorkbook.from_filelike(content)

    @property
    def visible(self) -> tuple[str, ...]:
        """The names of the sheets with cells that are shown."""
        return self._names(is_visible=True)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The names of the hidden sheets with cells."""
        return self._names(is_visible=False)

    def get_sheet(self, name: str) -> "Sheet":
        """Return a sheet by its exact name."""
        with self._guarded():
            sheet = self._book.get_sheet_by_name(name)
            merged = sheet.merged_cell_ranges or self._merged.get(name, [])
            return Sheet(sheet, merged=merged, percent_columns=self._percent_columns.get(name, frozenset()))

    def _names(self, *, is_visible: bool) -> tuple[str, ...]:
        return tuple(
            sheet.name
            for sheet in self._book.sheets_metadata
            if sheet.typ == SheetTypeEnum.WorkSheet and (sheet.visible == SheetVisibleEnum.Visible) == is_visible
        )

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except PasswordError as error:
            raise InputError(f"{self._path}: it is encrypted; save it without a password") from error
        except InputError:
            raise
        except BaseException as error:  # damaged archives fail in many ways, and a panic is not even an `Exception`
            if isinstance(error, Exception) or type(error).__name__ == PANIC:
                raise InputError(f"{self._path}: cannot be read as a spreadsheet: {error}") from error
            raise


class Sheet:
    """A sheet, held in memory."""

    def __init__(self, sheet: CalamineSheet, *, merged: Sequence[Range], percent_columns: frozenset[int]) -> None:
        self._sheet = sheet
        self._merged = merged if sheet.start else ()
        self._percent_columns = percent_columns
        self.name = sheet.name
        self.first_row = sheet.start[0] + 1 if sheet.start else 1
        """The number of the first row with a value, as spreadsheet programs count."""

    @property
    def size(self) -> int:
        """The number of cells of the used area."""
        return self._sheet.height * self._sheet.width if self._sheet.start else 0

    def list_banners(self) -> set[int]:
        """Return the numbers of the rows that are one cell, merged across the used area."""
        return {
            first + 1
            for (first, left), (last, right) in self._merged
            if first == last and self._sheet.width > 1 and right - left + 1 >= self._sheet.width
        }

    def read_cells(self) -> Grid:
        """Return the used area; a value merged over several rows is in each of them, in the first of its columns."""
        cells = [[_plain(cell) for cell in row] for row in self._sheet.to_python()]
        self._fill_merged(cells)
        self._show_percentages(cells)
        return cells

    def _show_percentages(self, cells: Grid) -> None:
        """Write numbers as the percentages that people see: 25% for 0.25."""
        left = self._sheet.start[1] if self._sheet.start else 0
        for place in (column - left for column in self._percent_columns):
            for row in cells if 0 <= place < self._sheet.width else ():
                if type(row[place]) in (int, float):
                    row[place] = f"{row[place] * 100:.10g}%"

    def _fill_merged(self, cells: Grid) -> None:
        if not self._sheet.start:
            return
        top, left = self._sheet.start
        for (first, column), (last, _) in self._merged:
            rows = range(first - top + 1, min(last - top + 1, len(cells)))
            place = column - left
            if last > first >= top and 0 <= place < self._sheet.width and first - top < len(cells):
                for row in rows:
                    cells[row][place] = cells[first - top][place]


def _content(path: Path, max_unpacked_mb: int | None) -> io.BytesIO:
    with open_decompressed(path, max_unpacked_mb=max_unpacked_mb) as file:
        return io.BytesIO(file.read())


def _require_moderate(content: io.BytesIO, path: Path, max_unpacked_mb: int | None) -> None:
    if content.getvalue()[: len(ENCRYPTED)] == ENCRYPTED:
        raise InputError(
            f"{path}: it is encrypted, or in the format of before 2007; save it as .xlsx, without a password"
        )
    with zipfile.ZipFile(content) as file:
        require_moderate_zip(file, Ceiling.of(path, max_unpacked_mb))
        for member in file.namelist():
            if member.lower().startswith("xl/worksheets/") and member.lower().endswith(".xml"):
                require_moderate_sheet(file, member, path)


def _plain(cell: Any) -> Any:
    """Return a cell as a plain value: whole numbers as int, times as text, an empty cell or an error as None."""
    kind = type(cell)
    if kind is str:
        return cell or None
    if kind is float:
        return int(cell) if cell.is_integer() and abs(cell) < LARGEST_WHOLE else cell
    return _plain_time(cell)


def _plain_time(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return cell.date() if cell.time() == time() else cell
    if isinstance(cell, time):
        return cell.isoformat("minutes") if not cell.second and not cell.microsecond else cell.isoformat("seconds")
    return str(cell) if isinstance(cell, timedelta) else cell
