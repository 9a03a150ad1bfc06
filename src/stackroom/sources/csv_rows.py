"""Rows from CSV and TSV files, plain or compressed, as spreadsheets, databases and people write
them.

The first non-blank line is the header, unless there are titles above it. Cells stay text; the
mapping interprets them.
"""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from stackroom.errors import InputError
from stackroom.sources import grid_layout
from stackroom.sources.compressed import LONGEST_LINE, open_decompressed, without_compression
from stackroom.sources.file_rows import FileRows, unique_names
from stackroom.sources.port import SourceRow
from stackroom.sources.text_lines import iter_lines

DELIMITERS = (",", "\t", ";", "|")
SAMPLE_LINES = 200
# the share of rows like the first below which lines are looked for that are above the header
LEAST_EVEN = 0.5
LEAST_EVEN_BELOW = 0.9
SEPARATOR_LINE = re.compile(r"sep=([^\w \r\n\"])\s*", re.IGNORECASE)
"""A line that a spreadsheet program may write before the header."""

Rows = list[list[str]]


def find_delimiter(lines: Sequence[str], usual: str, *, may_have_titles: bool) -> tuple[str, Rows]:
    """Return the delimiter that splits lines most evenly, and the rows that it makes; ties go to
    the usual one.
    """
    rows = {delimiter: _rows(lines, delimiter) for delimiter in DELIMITERS}
    chosen, evenness = _most_even(rows, usual)
    if may_have_titles and evenness[0] < LEAST_EVEN:
        below = {
            delimiter: some[above:]
            for delimiter, some in rows.items()
            if (above := grid_layout.count_titles(some))
        }
        found, evenness_below = _most_even(below, usual)
        chosen = found if evenness_below[0] >= LEAST_EVEN_BELOW else chosen
    return chosen, rows[chosen]


def _most_even(rows: dict[str, Rows], usual: str) -> tuple[str, tuple[float, int]]:
    best = max(
        rows, key=lambda delimiter: (_evenness(rows[delimiter]), delimiter == usual), default=usual
    )
    evenness = _evenness(rows.get(best, []))
    return (best if evenness > (0, 0) else usual), evenness


def _evenness(rows: Rows) -> tuple[float, int]:
    """Return the share of rows with as many cells as the first, and that number; zeros where it is
    one.
    """
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0, 0
    even = sum(len(row) == width or (len(row) > width and not any(row[width:])) for row in rows[1:])
    return even / max(len(rows) - 1, 1), width


def _rows(lines: Sequence[str], delimiter: str) -> Rows:
    """Return the rows that are not blank; the last of a sample may be cut off, and is left out."""
    rows = [
        row for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if any(row)
    ]
    return rows[:-1] if len(lines) >= SAMPLE_LINES else rows


TAB_ENDINGS = (".tsv", ".tab")
ROW_LINES = 100_000  # a row that spans more lines has an unclosed quote
# how many lines may be reread because of unbalanced quotes before the file is refused
REREAD_LINES = 5_000_000
# the share of columns without a name above which the header may have a second line
MANY_UNNAMED = 0.3

SHORT_ROWS = "{count:,} row{s} without the last cells completed with empty ones (first: {first})"

Row = tuple[int, list[str] | None]
"""The line at which a row starts, and its cells; None where its quotes are unbalanced."""


class CsvRows(FileRows):
    """Implements `RowSource` for a file of cells separated by comma, tab, semicolon or bar."""

    takes = frozenset({"skip", "header_rows", "encoding"})

    def _iter_table(self) -> Iterator[SourceRow]:
        """Yield the rows; one with more cells than the header has that as its problem, one with
        fewer is completed.
        """
        csv.field_size_limit(LONGEST_LINE)
        with open_decompressed(self._path) as file:
            decoded = iter_lines(file, self._path, self._notes, self._options.encoding)
            skipped = len(list(islice(decoded, self._options.skip or 0)))
            sample = list(islice(decoded, SAMPLE_LINES))
            stated = SEPARATOR_LINE.fullmatch(sample[0]) if sample else None
            if stated:
                del sample[0]
                skipped += 1
                delimiter, head = stated[1], _rows(sample, stated[1])
            else:
                is_tabbed = without_compression(self._path).suffix.lower() in TAB_ENDINGS
                usual, may_have_titles = "\t" if is_tabbed else ",", self._options.skip is None
                delimiter, head = find_delimiter(sample, usual, may_have_titles=may_have_titles)
            lines = _Lines(self._path, chain(sample, decoded), skipped=skipped)
            rows = lines.iter_rows(delimiter)
            layout = grid_layout.find_layout(head, self._options)
            if titles := list(islice(rows, layout.titles)):
                left_out = grid_layout.describe_left_out("line", titles, "above the header")
                self._notes.add(f"{left_out}; --skip 0 reads all lines")
            names = self._read_names(rows, layout, head)
            lines.width = len(names)
            missing = grid_layout.MissingCells(head[layout.first_row :], self._notes)
            yield from map(missing.emptied, self._iter_below(rows, names))

    def _iter_below(self, rows: Iterator[Row], names: list[str]) -> Iterator[SourceRow]:
        row, good, footnotes = None, 0, grid_layout.Footnotes(len(names))
        for number, cells in footnotes.without(rows):
            row = self._to_row(f"line {number}", cells, names)
            good += row.problem is None
            yield row
        if row is None:
            raise InputError(
                f"{self._path}: the file has a header and no rows; for a file without a header:"
                " --header-rows 0"
            )
        if not good:
            raise InputError(
                f"{self._path}: no row can be read with the header {grid_layout.shown(names)};"
                f" {row.place}: {row.problem}; if there are lines above the header, give their"
                " number: --skip 1"
            )
        if footnotes.rows:
            self._notes.add(
                grid_layout.describe_left_out("line", footnotes.rows, "below the table")
            )

    def _to_row(self, place: str, cells: list[str] | None, names: list[str]) -> SourceRow:
        if cells is None:
            return SourceRow(place=place, problem="unbalanced quote")
        if len(cells) < len(names):
            self._notes.count(SHORT_ROWS, place)
            cells.extend([""] * (len(names) - len(cells)))
        while len(cells) > len(names) and not cells[-1].strip():
            cells.pop()
        if len(cells) > len(names):
            problem = f"{len(cells)} cells where the header has {len(names)}"
            return SourceRow(place=place, problem=problem)
        return SourceRow(place=place, values=dict(zip(names, cells, strict=True)))

    def _read_names(self, rows: Iterator[Row], layout: grid_layout.Layout, head: Rows) -> list[str]:
        if not layout.header_rows:
            return unique_names([""] * grid_layout.usual_width(head))
        headers = [self._require_header(*header) for header in islice(rows, layout.header_rows)]
        if not headers:
            raise InputError(f"{self._path}: the file is empty; expected column names and rows")
        unnamed = sum(not cell.strip() for cell in headers[0][1:])
        if layout.header_rows == 1 and unnamed > max(1, MANY_UNNAMED * len(headers[0])):
            self._notes.add(
                f"{unnamed} columns have no name; if the header has two lines: --header-rows 2"
            )
        if layout.header_rows > 1 and self._options.header_rows is None:
            second = grid_layout.shown(headers[1])
            self._notes.add(
                f"the header has a second line: {second}; --header-rows 1 reads it as a row"
            )
        return grid_layout.column_names(headers, head[layout.first_row :])

    def _require_header(self, number: int, header: Sequence[str] | None) -> Sequence[str]:
        if header is None:
            raise InputError(
                f"{self._path}, line {number}: the header has unbalanced quotes; close each quote"
            )
        if all(grid_layout.NUMBER.fullmatch(name) for name in header):
            raise InputError(
                f"{self._path}, line {number}: expected column names; these are numbers; "
                "for a file without a header: --header-rows 0"
            )
        return header


class _Lines:
    """The lines of a file, and the rows that they make; the lines of the current row can be pushed
    back.

    An unclosed quote would swallow all rows up to the next quote. So its row ends with its first
    line, and the next line starts a new row.
    """

    def __init__(self, path: Path, lines: Iterator[str], *, skipped: int) -> None:
        self._path = path
        self._lines = lines
        self._pushed_back: deque[str] = deque()
        self._rereads, self._read = 0, skipped
        self._row_lines: list[str] = []
        self._has_ended = False
        self.width = 0  # the number of columns, once it is known

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = None
        if len(self._row_lines) < ROW_LINES:
            line = self._pushed_back.popleft() if self._pushed_back else next(self._lines, None)
        if line is None:
            self._has_ended = True
            raise StopIteration
        self._read += 1
        self._row_lines.append(line)
        return line

    def iter_rows(self, delimiter: str) -> Iterator[Row]:
        """Yield the rows that are not blank."""
        reader = csv.reader(self, delimiter=delimiter, skipinitialspace=True, strict=True)
        while True:
            self._row_lines.clear()
            self._has_ended = False
            number, cells = self._read + 1, None
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:
                cells = self._first_line_cells(delimiter)
            else:
                lines, tabs = self._row_lines, self.width - 1
                is_joined = (
                    len(lines) > 1 and tabs > 0 and all(line.count("\t") == tabs for line in lines)
                )
                if is_joined and delimiter == "\t":  # by literal quotes
                    cells = self._first_line_cells(delimiter)
            if cells is None or any(map(str.strip, cells)):
                yield number, cells

    def _push_back(self) -> None:
        """Push back all lines of the current row after the first one."""
        again = self._row_lines[1:]
        self._rereads += len(again)
        if self._rereads > REREAD_LINES:
            raise InputError(
                f"{self._path}, line {self._read}: too many unbalanced quotes; close each quote"
            )
        self._pushed_back.extendleft(reversed(again))
        self._read -= len(again)

    def _first_line_cells(self, delimiter: str) -> list[str] | None:
        """Return the cells of the row's first line, with quotes taken literally where that gives
        the right number.
        """
        line, is_one_line = self._row_lines[0], len(self._row_lines) == 1 and not self._has_ended
        self._push_back()
        if is_one_line:
            return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
        plain = line.rstrip("\r\n").split(delimiter)
        return plain if delimiter == "\t" and len(plain) == self.width else None
