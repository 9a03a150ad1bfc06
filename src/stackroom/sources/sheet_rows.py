"""Rows from a sheet of a spreadsheet (`.xlsx`, `.xlsm`, `.xls`, `.ods`), with its header found
below titles.

What a packed one unpacks to, and what its cells stand for, is told from its parts before anything
is read as cells: one far outside the table, or one that says how often it is repeated, is a few
bytes in the file and gigabytes in memory.
"""

import copy
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time, timedelta
from itertools import pairwise
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
from stackroom.sources import grid_layout
from stackroom.sources.compressed import (
    MEGABYTE,
    most_unpacked,
    open_decompressed,
    require_moderate,
)
from stackroom.sources.file_rows import SAMPLE_ROWS, FileRows, refusing, require_name
from stackroom.sources.location import NO_OPTIONS, ReadOptions
from stackroom.sources.port import ReadingNotes, SourceRow

# numbers from here on are not told from their neighbours by a spreadsheet, and stay floats
LARGEST_WHOLE = 1e15
# the beginning of a file of before 2007, and of the wrapper of an encrypted one of today
FORMER = b"\xd0\xcf\x11\xe0"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the name of what is in such a wrapper

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
        return tuple(
            name
            for name, sheet in self._sheets.items()
            if name != self._sheet.name and _size(sheet)
        )

    def list_sheets(self) -> dict[str, "SheetRows"]:
        """Return this sheet, and the others that are shown and have cells."""
        sheets = {self.table: self}
        for name in self.other_tables:
            if name not in self._hidden:
                sheets[name] = other = copy.copy(self)
                other._sheet, other._notes = self._sheets[name], ReadingNotes()
                other._options = ReadOptions(table=name)
        return sheets

    def _iter_table(self) -> Iterator[SourceRow]:
        rows = self._read_rows()
        head = [row for _, row in rows[:SAMPLE_ROWS]]
        layout = grid_layout.find_layout(head, self._options)
        headers = [row for _, row in rows[layout.titles : layout.first_row]] or [
            [""] * len(head[0])
        ]
        self._note(rows[: layout.titles], "above the header", "; --skip 0 reads all rows")
        footnotes = grid_layout.Footnotes(len(rows[0][1]), by_gap=True)
        body = list(footnotes.without(rows[layout.first_row :]))
        self._note(footnotes.rows, "below the table")
        if not body:
            raise InputError(
                f"{self._path}: the sheet '{self._sheet.name}' has a header and no rows; name"
                " another: --sheet NAME"
            )
        cells_of_all = [*headers, *(row for _, row in body)]
        places = range(len(headers[-1]))
        used = [
            place
            for place in places
            if not all(grid_layout.is_empty(row[place]) for row in cells_of_all)
        ]
        sample = [[row[place] for place in used] for _, row in body[:SAMPLE_ROWS]]
        names = grid_layout.column_names(
            [[row[place] for place in used] for row in headers], sample
        )
        missing = grid_layout.MissingCells(sample, self._notes)
        for number, row in body:
            cells = [row[place] for place in used]
            yield missing.emptied(
                SourceRow(place=f"row {number}", values=dict(zip(names, cells, strict=True)))
            )

    def _read_rows(self) -> list[NumberedRow]:
        """Return the rows that are not empty, each with its number on the sheet."""
        first = self._sheet.start[0] + 1 if self._sheet.start else 1
        skip = self._options.skip or 0
        with self._guarded():
            numbered = list(enumerate(_read_cells(self._sheet), start=first))
        rows: list[NumberedRow] = [
            (number, row)
            for number, row in numbered
            if number > skip and not all(map(grid_layout.is_empty, row))
        ]
        if not rows:
            raise InputError(
                f"{self._path}: the sheet '{self._sheet.name}' has no row below row {skip}; give a"
                " smaller --skip"
            )
        return rows

    def _note(self, rows: Sequence[NumberedRow], where: str, advice: str = "") -> None:
        if rows:
            self._notes.add(f"{grid_layout.describe_left_out('row', rows, where)}{advice}")

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
        """Return the sheet of a name, or the one with the most cells, of those that are shown if
        there are any.
        """
        if wanted is not None:
            name = require_name(list(self._sheets), wanted, kind="sheet", place=self._path)
            if not _size(self._sheets[name]):
                raise InputError(
                    f"{self._path}: the sheet '{name}' is empty; name another: --sheet NAME"
                )
            return self._sheets[name]
        filled = [sheet for sheet in self._sheets.values() if _size(sheet)]
        if not filled:
            raise InputError(
                f"{self._path}: the spreadsheet is empty; expected column names and rows"
            )
        return max(
            [sheet for sheet in filled if sheet.name not in self._hidden] or filled, key=_size
        )

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with refusing(self._path, "a spreadsheet", advice="save it again, or as CSV"):
            try:
                yield
            except PasswordError as error:
                raise InputError(
                    f"{self._path}: it is encrypted; save it without a password"
                ) from error


def _size(sheet: CalamineSheet) -> int:
    """Return the number of cells of a sheet's used area."""
    return sheet.height * sheet.width if sheet.start else 0


def _read_cells(sheet: CalamineSheet) -> list[list[Any]]:
    """Return the used area; a value merged over several rows is in each of them, in the first of
    its columns.
    """
    cells = [[_plain(cell) for cell in row] for row in sheet.to_python()]
    top, left = sheet.start or (0, 0)
    for (first, column), (last, _) in sheet.merged_cell_ranges or ():
        place = column - left
        if last > first >= top and 0 <= place < sheet.width and first - top < len(cells):
            for row in cells[first - top + 1 : last - top + 1]:
                row[place] = cells[first - top][place]
    return cells


def _plain(cell: Any) -> Any:
    """Return a cell as a plain value: whole numbers as int, times as text, an empty cell or an
    error as None.
    """
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < LARGEST_WHOLE else cell
    if isinstance(cell, datetime):
        return cell.date() if cell.time() == time() else cell
    if isinstance(cell, time):
        return (
            cell.isoformat("minutes")
            if not cell.second and not cell.microsecond
            else cell.isoformat("seconds")
        )
    return str(cell) if isinstance(cell, timedelta) else cell


# the most cells of a sheet; 50 bytes of memory are needed for each, empty or not
MOST_CELLS = 25_000_000
EMPTY_TIMES, FEW_CELLS = 1_000, 1_000_000
"""So many times as many cells as are filled may be empty in a sheet with more than a few."""
BLOCK_BYTES = 1 << 20
LETTERS = 26
XLSX_SHEET = re.compile(r"xl/worksheets/.*\.xml", re.IGNORECASE)
REFERENCE = re.compile(rb"""\br\s*=\s*["']([A-Z]{1,3})?(\d{1,8})["']""")
ODS_CELLS = "content.xml"
TABLE, ROW, CELL = (
    re.compile(rb"<table:%s(?=[\s/>])" % name)
    for name in (b"table", b"table-row", b"(?:covered-)?table-cell")
)
ATTRIBUTES = re.compile(rb"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+""")
REPEATED = re.compile(rb"""table:number-(?:rows|columns)-repeated\s*=\s*["']\s*\+?(\d+)""")


def require_moderate_sheets(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive that unpacks to more than it may, whatever its directory states, and a
    sheet of huge extent.
    """
    unpacked = 0
    for member in map(copy.copy, archive.infolist()):
        # what is stated may be less than what it unpacks to
        member.file_size = 2 * most_unpacked(path)
        is_xlsx, is_ods = XLSX_SHEET.fullmatch(member.filename), member.filename == ODS_CELLS
        blocks = []
        with archive.open(member) as content:
            while block := content.read(BLOCK_BYTES):
                unpacked += len(block)
                require_moderate(path, unpacked)
                blocks += [block] if is_xlsx or is_ods else []
        if is_xlsx:
            _require_filled(path, *_measure_references(b"".join(blocks)))
        elif is_ods:
            _require_moderate_ods(path, b"".join(blocks))


def _measure_references(sheet: bytes) -> tuple[int, int, int]:
    """Return how many rows and columns a sheet reaches to, and its cells, by their references."""
    rows, columns, cells = 1, 1, 0
    for found in REFERENCE.finditer(sheet):
        rows, columns = max(rows, int(found[2])), max(columns, _column(found[1] or b""))
        cells += 1
    return rows, columns, cells


def _require_filled(path: Path, rows: int, columns: int, cells: int) -> None:
    """Refuse a sheet with far more cells than are filled, or more than fit into memory."""
    if rows * columns > max(min(EMPTY_TIMES * cells, MOST_CELLS), FEW_CELLS):
        raise InputError(
            f"{path}: a sheet reaches to row {rows:,} and column {columns:,}, and has {cells:,}"
            " cells; delete what is far outside the table, or save the table as CSV"
        )


def _require_moderate_ods(path: Path, content: bytes) -> None:
    """Refuse sheets of an OpenDocument file, whose rows and cells may be repeated any number of
    times: of huge extent, or of more bytes than may be if each cell were written as often.
    """
    written = 0
    for sheet in _iter_parts(TABLE, content):
        row, rows, columns, cells = 0, 1, 1, 0
        for part in _iter_parts(ROW, sheet):
            times, width, filled = _times(_attributes(part)), 0, 0
            row += times
            for cell in _iter_parts(CELL, part):
                attributes = _attributes(cell)
                count = _times(attributes)
                width += count
                if not _is_bare(attributes):
                    filled, cells = width, cells + 1
                    written += len(cell) * count * times
            if filled:
                rows, columns = row, max(columns, filled)
        if written > (most := most_unpacked(path)):
            large = f"{most // MEGABYTE:,} MB"
            raise InputError(
                f"{path}: its repeated cells stand for more than {large}; save the table as CSV"
            )
        _require_filled(path, rows, columns, cells)


def _iter_parts(mark: re.Pattern[bytes], content: bytes) -> Iterator[bytes]:
    """Yield what follows each mark, up to the next one."""
    places = [found.end() for found in mark.finditer(content)]
    for start, end in pairwise([*places, len(content)]):
        yield content[start:end]


def _attributes(part: bytes) -> bytes:
    found = ATTRIBUTES.match(part)
    return found[0] if found else b""


def _is_bare(attributes: bytes) -> bool:
    """Tell whether a cell has neither content nor a value."""
    is_valued = b"office:" in attributes or b"formula" in attributes
    return attributes.endswith(b"/") and not is_valued


def _times(attributes: bytes) -> int:
    """Return how often a row or cell is repeated; a number that is not written in digits may be
    any.
    """
    if b"-repeated" not in attributes:
        return 1
    return max(
        (int(number[:12]) for number in REPEATED.findall(attributes)), default=MOST_CELLS + 1
    )


def _column(letters: bytes) -> int:
    """Return the number of a column: 27 for AA."""
    number = 0
    for letter in letters:
        number = number * LETTERS + letter - ord("A") + 1
    return number
