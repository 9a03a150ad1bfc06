"""Rows from CSV and TSV files, plain or packed, as spreadsheets, databases and people write them.

The first line that is not blank names the columns. Cells stay texts: what they mean is for the mapping to say.
"""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from pinakes.errors import InputError
from pinakes.sources.columns import unique_names
from pinakes.sources.port import SourceRow
from pinakes.sources.unpacked import is_packed, open_unpacked, require_file, without_packing

DELIMITERS = (",", "\t", ";", "|")
TAB_ENDINGS = (".tsv", ".tab")
SAMPLE_LINES = 200
"""How many lines the delimiter is told by."""
CELL_CHARACTERS = (1 << 31) - 1
ROW_LINES = 100_000
"""A row that goes on for more lines has a quote that is never closed."""
REREAD_LINES = 5_000_000
"""How many lines may be read anew because of quotes that do not match, before the file is given up."""
COUNTED_PACKED_BYTES = 64 << 20
"""A packed file larger than this is not unpacked only to count its rows."""

SEPARATOR_LINE = re.compile(r"sep=([^\w \r\n\"])\s*", re.IGNORECASE)
"""What a spreadsheet may write before the header."""
NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*")


class CsvRows:
    """Implements `RowSource` for a file of cells parted by comma, tab, semicolon or bar."""

    def __init__(self, path: Path) -> None:
        self._path = require_file(path)

    @property
    def name(self) -> str:
        """The file's whole path."""
        return str(self._path.resolve())

    @property
    def is_whole(self) -> bool:
        """A file has all its rows."""
        return True

    def count_rows(self) -> int | None:
        """Return how many lines end a row, the header left out; None for a packed file that is large."""
        if is_packed(self._path) and self._path.stat().st_size > COUNTED_PACKED_BYTES:
            return None
        rows = quotes = 0
        with open_unpacked(self._path) as file:
            for line in self._iter_text(file):
                quotes += line.count('"')
                rows += not quotes % 2 and not line.isspace()
        return max(rows - 1, 0)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; one whose cells are not as many as the header's comes with that as its problem."""
        with open_unpacked(self._path) as file:
            yield from islice(self._iter_table(_Lines(self._path, self._iter_text(file))), start, None)

    def _iter_table(self, lines: "_Lines") -> Iterator[SourceRow]:
        csv.field_size_limit(CELL_CHARACTERS)
        cells = _Cells(lines, _find_delimiter(lines, self._path))
        header = next(cells, None)
        if header is None:
            raise InputError(f"{self._path}: it is empty; a line that names the columns and lines of cells are wanted")
        row = None
        names = self._require_names(*header)
        cells.width = len(names)
        for number, values in cells:
            row = _row(number, values, names)
            yield row
        if row is None:
            raise InputError(f"{self._path}: it names its columns and has no rows")

    def _require_names(self, number: int, header: Sequence[str] | None) -> list[str]:
        if header is None:
            raise InputError(f"{self._path}, line {number}: the names of the columns have quotes that do not match")
        if all(NUMBER.fullmatch(name) for name in header):
            raise InputError(f"{self._path}, line {number}: the first line has to name the columns; these are numbers")
        return unique_names(header)

    def _iter_text(self, file: io.BufferedReader) -> Iterator[str]:
        """Yield the lines, their ends included; what holds a NUL is no text."""
        lines = self._iter_utf16(file.read()) if _starts_as_utf16(file) else _iter_utf8(file)
        for number, line in enumerate(lines, start=1):
            if "\0" in line:
                raise InputError(f"{self._path}, line {number}: a NUL byte; this is no file of text")
            yield line

    def _iter_utf16(self, content: bytes) -> Iterator[str]:
        try:
            return iter(io.StringIO(content.decode("utf-16"), newline=""))
        except UnicodeDecodeError as error:
            raise InputError(f"{self._path}: not the UTF-16 it starts as: {error}") from error


class _Lines:
    """The lines of a file; those of the row being read can be given back, and are then read again."""

    def __init__(self, path: Path, lines: Iterator[str]) -> None:
        self._path = path
        self._lines = lines
        self._again: deque[str] = deque()
        self._rereads = 0
        self._read = 0
        self._taken: list[str] = []
        self._is_cut = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._find_next() if len(self._taken) < ROW_LINES else None
        if line is None:
            self._is_cut = True
            raise StopIteration
        self._read += 1
        self._taken.append(line)
        return line

    def _find_next(self) -> str | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    @property
    def taken(self) -> Sequence[str]:
        """The lines of the row being read."""
        return self._taken

    @property
    def is_one_whole_line(self) -> bool:
        """Whether the row being read has ended, and with its first line."""
        return len(self._taken) == 1 and not self._is_cut

    def start_row(self) -> int:
        """Return the number of the line at which the next row starts."""
        self._taken.clear()
        self._is_cut = False
        return self._read + 1

    def give_back(self, *, kept: int) -> None:
        """Have all lines of the row but the first `kept` ones read again."""
        again = self._taken[kept:]
        self._rereads += len(again)
        if self._rereads > REREAD_LINES:
            raise InputError(f"{self._path}, line {self._read}: too many quotes that do not match")
        self._again.extendleft(reversed(again))
        self._read -= len(again)

    def peek(self, count: int) -> list[str]:
        """Return the lines that come next, still to be read."""
        self.start_row()
        head = list(islice(self, count))
        self.give_back(kept=0)
        return head


class _Cells:
    """The rows as the line where each starts and its cells, None where its quotes do not match.

    A quote that is not closed would take in all rows up to the next quote. Such a row is given up at the end of its
    first line, and the next line starts a new one.
    """

    def __init__(self, lines: _Lines, delimiter: str) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self._reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        self.width = 0

    def __iter__(self) -> Iterator[tuple[int, list[str] | None]]:
        return self

    def __next__(self) -> tuple[int, list[str] | None]:
        while True:
            number = self._lines.start_row()
            cells = self._read_row()
            if cells is None or any(cell.strip() for cell in cells):
                return number, cells

    def _read_row(self) -> list[str] | None:
        try:
            cells = next(self._reader)
        except csv.Error:
            return self._rescued()
        return self._rescued() if self._has_taken_in_rows() else cells

    def _has_taken_in_rows(self) -> bool:
        """Tell whether quotes that are part of the text have joined rows: each line has all the tabs of a row."""
        taken = self._lines.taken
        if self._delimiter != "\t" or len(taken) == 1:
            return False
        return self.width > 1 and all(line.count("\t") == self.width - 1 for line in taken)

    def _rescued(self) -> list[str] | None:
        """Return the cells of the row's first line, with the quotes as text where that gives the right number."""
        line = self._lines.taken[0]
        is_one_line = self._lines.is_one_whole_line
        self._lines.give_back(kept=1)
        if is_one_line:
            return _split(line, self._delimiter)
        plain = line.rstrip("\r\n").split(self._delimiter)
        return plain if self._delimiter == "\t" and len(plain) == self.width else None


def _row(number: int, cells: list[str] | None, names: Sequence[str]) -> SourceRow:
    place = f"line {number}"
    if cells is None:
        return SourceRow(place=place, values={}, problem="a quote is opened and not closed as it should be")
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) == len(names):
        return SourceRow(place=place, values=dict(zip(names, cells, strict=True)))
    return SourceRow(place=place, values={}, problem=f"{len(cells)} cells where the header has {len(names)}")


def _find_delimiter(lines: _Lines, path: Path) -> str:
    """Return the delimiter that parts the first lines most evenly; the name decides where none or several do."""
    head = lines.peek(SAMPLE_LINES)
    if head and (stated := SEPARATOR_LINE.fullmatch(head[0])):
        next(lines)
        return stated[1]
    usual = "\t" if without_packing(path).suffix.lower() in TAB_ENDINGS else ","
    best = max(DELIMITERS, key=lambda delimiter: (_evenness(head, delimiter), delimiter == usual))
    return best if _evenness(head, best) > (0, 0) else usual


def _evenness(head: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of rows that have as many cells as the first, and that number; nothing where it is one."""
    rows = [row for row in csv.reader(head, delimiter=delimiter, skipinitialspace=True) if any(row)]
    complete = rows[:-1] if len(head) == SAMPLE_LINES else rows
    width = len(complete[0]) if complete else 0
    if width < 2:
        return 0, 0
    even = sum(len(row) == width or (len(row) > width and not any(row[width:])) for row in complete[1:])
    return even / max(len(complete) - 1, 1), width


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))


def _starts_as_utf16(file: io.BufferedReader) -> bool:
    return file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _iter_utf8(file: io.BufferedReader) -> Iterator[str]:
    """Yield the lines; one that is not UTF-8 is read as Windows-1252, whatever the others are."""
    for number, piece in enumerate(file):
        for line in (piece if number else piece.removeprefix(codecs.BOM_UTF8)).splitlines(keepends=True):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                yield line.decode("cp1252", errors="replace")
