"""Bounds of packed spreadsheets (`.xlsx`, `.xlsm`, `.ods`): what they unpack to, and what their cells stand for.

They are told from the parts as they are unpacked, before anything is read as cells: a cell far outside the table, or
one that says how often it is repeated, is a few bytes in the file and gigabytes in memory.
"""

import copy
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from stackroom.errors import InputError
from stackroom.sources.compressed import MEGABYTE, most_unpacked, require_moderate

MOST_CELLS = 25_000_000
"""The most cells of a sheet; 50 bytes of memory are needed for each, empty or not."""
EMPTY_TIMES, FEW_CELLS = 1_000, 1_000_000
"""So many times as many cells as are filled may be empty in a sheet with more than a few."""
BLOCK_BYTES = 1 << 20
OVERLAP_BYTES = 64
LONGEST_TAG = 1 << 20
LETTERS = 26
REFERENCE = re.compile(rb"""\br\s*=\s*["']([A-Z]{1,3})?(\d{1,8})["']""")
ODS_CELLS = "content.xml"
BEGINNING = re.compile(rb"<table:(?:covered-)?table(?:-row|-cell)?(?=[\s/>]|$)")
TAG = re.compile(rb"""<table:((?:covered-)?table(?:-row|-cell)?)(?=[\s/>])((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
"""A tag that begins a sheet, a row or a cell, and its attributes."""
REPEATED = re.compile(rb"""table:number-(?:rows|columns)-repeated\s*=\s*["']\s*\+?(\d+)""")


def require_moderate_sheets(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive that unpacks to more than it may, whatever its directory states, and a sheet of huge extent."""
    unpacked = 0
    for member in map(copy.copy, archive.infolist()):
        member.file_size = 2 * most_unpacked(path)  # what is stated may be less than what it unpacks to
        is_sheet = member.filename.lower().startswith("xl/worksheets/") and member.filename.lower().endswith(".xml")
        sheet = _Extent(path) if is_sheet else _RepeatedCells(path) if member.filename == ODS_CELLS else None
        with archive.open(member) as content:
            while block := content.read(BLOCK_BYTES):
                unpacked += len(block)
                require_moderate(path, unpacked)
                if sheet is not None:
                    sheet.feed(block)
        if sheet is not None:
            sheet.require_moderate()


class _Extent:
    """How far a sheet reaches, and how many cells it has, by the references of its cells."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tail = b""
        self.rows = self.columns = 1
        self.cells = 0

    def feed(self, block: bytes) -> None:
        """Read the next part of the sheet."""
        for letters, row in REFERENCE.findall(self._tail + block):
            self.rows, self.columns = max(self.rows, int(row)), max(self.columns, _column(letters))
            self.cells += 1
        self._tail = block[-OVERLAP_BYTES:]

    def require_moderate(self) -> None:
        """Refuse a sheet with far more cells than are filled, or more than fit into memory."""
        if self.rows * self.columns > max(min(EMPTY_TIMES * self.cells, MOST_CELLS), FEW_CELLS):
            raise InputError(
                f"{self._path}: a sheet reaches to row {self.rows:,} and column {self.columns:,}, and has "
                f"{self.cells:,} cells; delete what is far outside the table, or save the table as CSV"
            )


class _RepeatedCells(_Extent):
    """The same of the sheets of an OpenDocument file, whose rows and cells may be repeated any number of times."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._place = self._row = self._times = self._width = self._filled = 0
        self._cell: tuple[int, int] | None = None
        """The place of the cell that is being read, and how often it is repeated; None of an empty one."""
        self._row_bytes = self._written = 0
        """The bytes of the row, and of all rows, if every cell were written as often as it is there."""

    def feed(self, block: bytes) -> None:
        """Read the next part of the file, and refuse what stands for more than it may."""
        for place, name, attributes in self._iter_tags(self._tail + block):
            self._end_cell(place)
            times = _times(attributes)
            if name.endswith(b"-cell"):
                is_empty = attributes.endswith(b"/") and b"office:" not in attributes and b"formula" not in attributes
                self._width += times
                self._cell = None if is_empty else (place, times)
            else:
                self._end_row()
                self._times = times
            if name == b"table":
                self.require_moderate()
                self._row, self.rows, self.columns, self.cells = 0, 1, 1, 0

    def require_moderate(self) -> None:
        """Refuse the sheet, where it has far more cells than are filled, or more than fit into memory."""
        self._end_cell(self._place)
        self._end_row()
        super().require_moderate()

    def _end_cell(self, place: int) -> None:
        if self._cell is not None:
            begun, times = self._cell
            self._cell, self._filled, self.cells = None, self._width, self.cells + 1
            self._row_bytes += (place - begun) * times

    def _end_row(self) -> None:
        self._row += self._times
        if self._filled:
            self.rows, self.columns = self._row, max(self.columns, self._filled)
        self._written += self._row_bytes * self._times
        if self._written > (most := most_unpacked(self._path)):
            large = f"{most // MEGABYTE:,} MB"
            raise InputError(f"{self._path}: its repeated cells stand for more than {large}; save the table as CSV")
        self._times = self._width = self._filled = self._row_bytes = 0

    def _iter_tags(self, content: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the place, the name and the attributes of each tag, and keep one that is not whole."""
        begun, end = self._place - len(self._tail), 0
        self._place = begun + len(content)
        for tag in TAG.finditer(content):
            end = tag.end()
            yield begun + tag.start(), tag[1], tag[2]
        beginning = BEGINNING.search(content, end)
        self._tail = content[beginning.start() if beginning else max(end, len(content) - OVERLAP_BYTES) :]
        if len(self._tail) > LONGEST_TAG:
            raise InputError(f"{self._path}: the attributes of a cell take more than a megabyte; save the table as CSV")


def _times(attributes: bytes) -> int:
    """Return how often a row or cell is repeated; a number that is not written in digits may be any."""
    if b"-repeated" not in attributes:
        return 1
    return max((int(number[:12]) for number in REPEATED.findall(attributes)), default=MOST_CELLS + 1)


def _column(letters: bytes) -> int:
    """Return the number of a column: 27 for AA."""
    number = 0
    for letter in letters:
        number = number * LETTERS + letter - ord("A") + 1
    return number
