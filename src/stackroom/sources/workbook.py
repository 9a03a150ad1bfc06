"""Spreadsheet files (`.xlsx`, `.xlsm`, `.ods`): their sheets, and the cells of each as plain values."""

import html
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
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

from stackroom.errors import InputError
from stackroom.sources.compressed import Ceiling, open_decompressed, require_moderate_sheet, require_moderate_zip

BUILT_IN_PERCENT = frozenset({b"9", b"10"})
"""The numbers of the formats `0%` and `0.00%`."""
FORMAT = re.compile(rb'<numFmt [^>]*?numFmtId="(\d+)"[^>]*?formatCode="([^"]*)"')
STYLES = re.compile(rb"<cellXfs.*?</cellXfs>", re.DOTALL)
STYLE = re.compile(rb'<xf [^>]*?numFmtId="(\d+)"')
SHEET = re.compile(rb'<sheet [^>]*?name="([^"]*)"[^>]*?r:id="([^"]*)"')
RELATION = re.compile(rb"<Relationship [^>]*>")
ATTRIBUTE = re.compile(rb'\b(Id|Target)="([^"]*)"')
CELL = re.compile(rb'<c r="([A-Z]{1,3})\d+"(?: s="(\d+)")?')
LEAST_SHARE = 0.5


def find_percent_columns(file: zipfile.ZipFile) -> dict[str, frozenset[int]]:
    """Return the columns of percentages by the name of their sheet, counted from 0; sheets without any are left out."""
    members = set(file.namelist())
    styles = _percent_styles(file.read("xl/styles.xml")) if "xl/styles.xml" in members else frozenset()
    if not styles or not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= members:
        return {}
    found = {}
    for name, member in _sheets(file).items():
        if member in members and (columns := _columns(file.read(member), styles)):
            found[name] = columns
    return found


def _percent_styles(text: bytes) -> frozenset[bytes]:
    """Return the numbers of the styles of cells with a format of percentages."""
    formats = BUILT_IN_PERCENT | {number for number, code in FORMAT.findall(text) if b"%" in code}
    section = STYLES.search(text)
    numbers = STYLE.findall(section[0]) if section else []
    return frozenset(str(place).encode() for place, number in enumerate(numbers) if number in formats)


def _sheets(file: zipfile.ZipFile) -> dict[str, str]:
    """Return the member of each sheet by its name."""
    relations = [dict(ATTRIBUTE.findall(one)) for one in RELATION.findall(file.read("xl/_rels/workbook.xml.rels"))]
    targets = {one[b"Id"]: one[b"Target"].decode(errors="replace") for one in relations if len(one) == 2}
    return {
        html.unescape(name.decode(errors="replace")): _member(targets[relation])
        for name, relation in SHEET.findall(file.read("xl/workbook.xml"))
        if relation in targets
    }


def _member(target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _columns(text: bytes, styles: frozenset[bytes]) -> frozenset[int]:
    """Return the columns most of whose cells have one of these styles."""
    cells, percentages = Counter[bytes](), Counter[bytes]()
    for column, style in CELL.findall(text):
        cells[column] += 1
        percentages[column] += style in styles
    shares = {column: percentages[column] / count for column, count in cells.items()}
    return frozenset(_number(column) for column, share in shares.items() if share >= LEAST_SHARE)


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number - 1


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
            return Sheet(sheet, percent_columns=self._percent_columns.get(name, frozenset()))

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

    def __init__(self, sheet: CalamineSheet, *, percent_columns: frozenset[int]) -> None:
        self._sheet = sheet
        self._merged = (sheet.merged_cell_ranges or ()) if sheet.start else ()
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
