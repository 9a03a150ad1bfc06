"""The first lines of a CSV file: by them the delimiter is chosen, and the layout of the table found."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pinakes.sources.grid_layout import count_titles

DELIMITERS = (",", "\t", ";", "|")
SAMPLE_LINES = 200
"""How many lines are sampled."""
LEAST_EVEN = 0.5
"""The share of rows like the first below which lines are looked for that are above the header."""
LEAST_EVEN_BELOW = 0.9
FEW_SHORT = 3
"""As many rows must be cut short before it is taken as the file's way to leave out empty cells."""
SEPARATOR_LINE = re.compile(r"sep=([^\w \r\n\"])\s*", re.IGNORECASE)
"""A line that a spreadsheet program may write before the header."""

Rows = list[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvHead:
    """The first rows of a file, without blank ones, and the delimiter that separates their cells."""

    delimiter: str
    rows: Rows
    is_stated: bool = False
    """Whether the first line states the delimiter."""


def read_head(lines: Sequence[str], *, usual: str, may_have_titles: bool) -> CsvHead:
    """Return the head with the delimiter that splits its lines most evenly; ties go to the usual one."""
    if lines and (stated := SEPARATOR_LINE.fullmatch(lines[0])):
        return CsvHead(delimiter=stated[1], rows=_rows(lines[1:], stated[1]), is_stated=True)
    rows = {delimiter: _rows(lines, delimiter) for delimiter in DELIMITERS}
    chosen, evenness = _most_even(rows, usual)
    if may_have_titles and evenness[0] < LEAST_EVEN:
        below = {delimiter: some[above:] for delimiter, some in rows.items() if (above := count_titles(some))}
        found, evenness_below = _most_even(below, usual)
        chosen = found if evenness_below[0] >= LEAST_EVEN_BELOW else chosen
    return CsvHead(delimiter=chosen, rows=rows.get(chosen) or _rows(lines, chosen))


def leaves_out_empty_cells(rows: Rows, width: int) -> bool:
    """Return whether rows end with their last value, so that short ones are whole; not where a line break cut them."""
    lengths = [len(row) for row in rows]
    short = [length for length in lengths if length < width]
    is_cut = any(one < width and other < width and one + other == width + 1 for one, other in pairwise(lengths))
    has_empty_ends = any(len(row) == width and not row[-1].strip() for row in rows)
    return len(short) >= FEW_SHORT and not is_cut and not has_empty_ends and width in lengths


def _most_even(rows: dict[str, Rows], usual: str) -> tuple[str, tuple[float, int]]:
    best = max(rows, key=lambda delimiter: (_evenness(rows[delimiter]), delimiter == usual), default=usual)
    evenness = _evenness(rows.get(best, []))
    return (best if evenness > (0, 0) else usual), evenness


def _evenness(rows: Rows) -> tuple[float, int]:
    """Return the share of rows with as many cells as the first, and that number; zeros where it is one."""
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0, 0
    even = sum(len(row) == width or (len(row) > width and not any(row[width:])) for row in rows[1:])
    return even / max(len(rows) - 1, 1), width


def _rows(lines: Sequence[str], delimiter: str) -> Rows:
    """Return the rows that are not blank; the last of a sample may be cut off, and is left out."""
    rows = [row for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if any(row)]
    return rows[:-1] if len(lines) >= SAMPLE_LINES else rows
