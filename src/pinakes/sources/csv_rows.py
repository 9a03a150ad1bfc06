"""Rows from CSV and TSV files, plain or compressed, as spreadsheets, databases and people write them.

The first non-blank line is the header. Cells stay text; the mapping interprets them.
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
from pinakes.sources.columns import joined_names, unique_names
from pinakes.sources.compressed import is_compressed, open_decompressed, require_file, without_compression
from pinakes.sources.location import SourceLocation
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import SourceRow

DELIMITERS = (",", "\t", ";", "|")
TAB_ENDINGS = (".tsv", ".tab")
SAMPLE_LINES = 200
"""How many lines are sampled to infer the delimiter."""
CELL_CHARACTERS = (1 << 31) - 1
ROW_LINES = 100_000
"""A row that spans more lines has an unclosed quote."""
REREAD_LINES = 5_000_000
"""How many lines may be reread because of unbalanced quotes before the file is refused."""
COUNTED_PACKED_BYTES = 64 << 20
"""A compressed file larger than this is not decompressed only to count its rows."""

SEPARATOR_LINE = re.compile(r"sep=([^\w \r\n\"])\s*", re.IGNORECASE)
"""Lines that a spreadsheet program may write before the header."""
NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*")


class CsvRows:
    """Implements `RowSource` for a file of cells separated by comma, tab, semicolon or bar."""

    def __init__(self, path: Path, *, skip: int | None = None, header_rows: int | None = None) -> None:
        self._path = require_file(path)
        self._skip = skip
        self._header_rows = header_rows

    @property
    def name(self) -> str:
        """The file's whole path, with the options that were given."""
        options = ReadOptions(skip=self._skip, header_rows=self._header_rows)
        return SourceLocation(location=str(self._path.resolve()), options=options).name

    @property
    def is_whole(self) -> bool:
        """A file has all its rows."""
        return True

    def count_rows(self) -> int | None:
        """Return the number of rows without the header; None for a large compressed file."""
        if is_compressed(self._path) and self._path.stat().st_size > COUNTED_PACKED_BYTES:
            return None
        rows = quotes = 0
        with open_decompressed(self._path) as file:
            for line in self._iter_text(file):
                quotes += line.count('"')
                rows += not quotes % 2 and not line.isspace()
        header_rows = 1 if self._header_rows is None else self._header_rows
        return max(rows - header_rows - (self._skip or 0), 0)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; a row with another number of cells than the header has that as its problem."""
        with open_decompressed(self._path) as file:
            yield from islice(self._iter_table(_Lines(self._path, self._iter_text(file))), start, None)

    def _iter_table(self, lines: "_Lines") -> Iterator[SourceRow]:
        csv.field_size_limit(CELL_CHARACTERS)
        lines.drop(self._skip or 0)
        cells = _Cells(lines, _find_delimiter(lines, self._path))
        names = self._read_names(cells)
        row = None
        cells.width = len(names)
        for number, values in cells:
            row = _row(number, values, names)
            yield row
        if row is None:
            raise InputError(f"{self._path}: the file has a header and no rows")

    def _read_names(self, cells: "_Cells") -> list[str]:
        headers = [self._require_header(*header) for header in islice(cells, self._header_rows or 1)]
        if not headers:
            raise InputError(f"{self._path}: the file is empty; expected column names and rows")
        return unique_names(headers[0]) if len(headers) == 1 else joined_names(headers)

    def _require_header(self, number: int, header: Sequence[str] | None) -> Sequence[str]:
        if header is None:
            raise InputError(f"{self._path}, line {number}: the header has unbalanced quotes")
        if all(NUMBER.fullmatch(name) for name in header):
            raise InputError(f"{self._path}, line {number}: expected column names; these are numbers")
        return header

    def _iter_text(self, file: io.BufferedReader) -> Iterator[str]:
        """Yield the lines with their line ends; refuse a file with a NUL byte, which is not text."""
        lines = self._iter_utf16(file.read()) if _starts_as_utf16(file) else _iter_utf8(file)
        for number, line in enumerate(lines, start=1):
            if "\0" in line:
                raise InputError(f"{self._path}, line {number}: NUL byte: this is not a text file")
            yield line

    def _iter_utf16(self, content: bytes) -> Iterator[str]:
        try:
            return iter(io.StringIO(content.decode("utf-16"), newline=""))
        except UnicodeDecodeError as error:
            raise InputError(f"{self._path}: starts as UTF-16 and is not valid UTF-16: {error}") from error


class _Lines:
    """The lines of a file, with pushback: the lines of the current row can be returned and are then read again."""

    def __init__(self, path: Path, lines: Iterator[str]) -> None:
        self._path = path
        self._lines = lines
        self._pushed_back: deque[str] = deque()
        self._rereads = 0
        self._read = 0
        self._row_lines: list[str] = []
        self._has_ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._find_next() if len(self._row_lines) < ROW_LINES else None
        if line is None:
            self._has_ended = True
            raise StopIteration
        self._read += 1
        self._row_lines.append(line)
        return line

    def _find_next(self) -> str | None:
        return self._pushed_back.popleft() if self._pushed_back else next(self._lines, None)

    @property
    def row_lines(self) -> Sequence[str]:
        """The lines of the current row."""
        return self._row_lines

    @property
    def is_one_whole_line(self) -> bool:
        """Whether the current row ended with its first line."""
        return len(self._row_lines) == 1 and not self._has_ended

    def start_row(self) -> int:
        """Return the number of the line at which the next row starts."""
        self._row_lines.clear()
        self._has_ended = False
        return self._read + 1

    def push_back(self, *, kept: int) -> None:
        """Push back all lines of the current row after the first `kept` ones."""
        again = self._row_lines[kept:]
        self._rereads += len(again)
        if self._rereads > REREAD_LINES:
            raise InputError(f"{self._path}, line {self._read}: too many unbalanced quotes")
        self._pushed_back.extendleft(reversed(again))
        self._read -= len(again)

    def drop(self, count: int) -> None:
        """Skip the next lines."""
        for _ in islice(self, count):
            pass

    def peek(self, count: int) -> list[str]:
        """Return the next lines without consuming them."""
        self.start_row()
        head = list(islice(self, count))
        self.push_back(kept=0)
        return head


class _Cells:
    """Iterates over rows: the line where each starts, and its cells or None where its quotes are unbalanced.

    An unclosed quote would swallow all rows up to the next quote. So its row ends with its first line, and the next
    line starts a new row.
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
            return self._first_line_cells()
        return self._first_line_cells() if self._has_joined_rows() else cells

    def _has_joined_rows(self) -> bool:
        """Return whether literal quotes have joined several rows: each line has as many tabs as a row."""
        lines = self._lines.row_lines
        if self._delimiter != "\t" or len(lines) == 1:
            return False
        return self.width > 1 and all(line.count("\t") == self.width - 1 for line in lines)

    def _first_line_cells(self) -> list[str] | None:
        """Return the cells of the row's first line, with quotes taken literally where that gives the right number."""
        line = self._lines.row_lines[0]
        is_one_line = self._lines.is_one_whole_line
        self._lines.push_back(kept=1)
        if is_one_line:
            return _split(line, self._delimiter)
        plain = line.rstrip("\r\n").split(self._delimiter)
        return plain if self._delimiter == "\t" and len(plain) == self.width else None


def _row(number: int, cells: list[str] | None, names: Sequence[str]) -> SourceRow:
    place = f"line {number}"
    if cells is None:
        return SourceRow(place=place, values={}, problem="unbalanced quote")
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) == len(names):
        return SourceRow(place=place, values=dict(zip(names, cells, strict=True)))
    return SourceRow(place=place, values={}, problem=f"{len(cells)} cells where the header has {len(names)}")


def _find_delimiter(lines: _Lines, path: Path) -> str:
    """Return the delimiter that splits the first lines most evenly; ties are broken by the file's suffix."""
    head = lines.peek(SAMPLE_LINES)
    if head and (stated := SEPARATOR_LINE.fullmatch(head[0])):
        next(lines)
        return stated[1]
    usual = "\t" if without_compression(path).suffix.lower() in TAB_ENDINGS else ","
    best = max(DELIMITERS, key=lambda delimiter: (_evenness(head, delimiter), delimiter == usual))
    return best if _evenness(head, best) > (0, 0) else usual


def _evenness(head: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of rows with as many cells as the first, and that number; zeros where it is one."""
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
    """Yield the lines; each line that is not UTF-8 is decoded as Windows-1252."""
    for number, piece in enumerate(file):
        for line in (piece if number else piece.removeprefix(codecs.BOM_UTF8)).splitlines(keepends=True):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                yield line.decode("cp1252", errors="replace")
