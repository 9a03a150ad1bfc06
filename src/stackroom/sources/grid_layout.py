"""The layout of a table on a sheet or in a CSV file: titles above its header, footnotes below,
missing values.

Everything is decided from the first rows, or from a row alone; readers note what was decided.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import compress, filterfalse, pairwise
from typing import Any, NamedTuple

from stackroom.sources.file_rows import unique_names
from stackroom.sources.location import ReadOptions
from stackroom.sources.port import ReadingNotes, SourceRow

Cells = Sequence[Any]  # the cells of a row; an empty cell is None or an empty text

MOST_TITLES = 30  # the most rows above a header that are taken as titles without being asked
MOST_FOOTNOTES = 50
LONG_FOOTNOTE = 80  # a lone cell with so many characters is a sentence
LEAST_WIDTH = 3  # a table of fewer columns has no footnotes that could be told from rows
WIDE = 6  # a table of so many columns may have rows such as `Source: | the ministry` above it
SHOWN_CHARACTERS = 60
NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d\s*%?\s*")
YEAR = re.compile(r"\s*(1[89]|20)\d\d\s*")
FOOTNOTE = re.compile(
    r"\W*(sources?|notes?|footnotes?|remarks?|data|copyright|licen[cs]e|generated|exported|updated|last"
    r" updated"
    r"|quellen?|stand|anmerkung(en)?|hinweise?|remarques?|fuentes?|notas?|fonti|fonte)\b|[*†‡©§¹²³]|\(?\d\)\s|\[\d\]"
    r"|https?://",
    re.IGNORECASE,
)
"""The beginning of a cell below a table that is about the table."""
LABEL = re.compile(
    r"(open-ended )?(response|answer)s?|antwort(en)?|r[eé]ponses?|respuestas?", re.IGNORECASE
)


class Layout(NamedTuple):
    """How many rows are above the header, and how many the header has."""

    titles: int
    header_rows: int

    @property
    def first_row(self) -> int:
        """The place of the first row below the header."""
        return self.titles + self.header_rows


def is_empty(cell: Any) -> bool:
    """Return whether a cell has no value."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def find_layout(rows: Sequence[Cells], options: ReadOptions) -> Layout:
    """Return the layout of a table by its first rows, none of them empty; what the options state is
    not inferred.
    """
    titles = count_titles(rows) if options.skip is None else 0
    # A second line of the header may have nothing but `Response`, as surveys have below each
    # question.
    second = rows[titles + 1] if len(rows) > titles + 2 else ()
    labels = [str(cell) for cell in second if not is_empty(cell)]
    has_second = len(labels) >= max(2, len(second) / 2) and all(map(LABEL.fullmatch, labels))
    return Layout(
        titles, (2 if has_second else 1) if options.header_rows is None else options.header_rows
    )


def count_titles(rows: Sequence[Cells]) -> int:
    """Return the number of rows above the header: those with next to nothing in them before one
    that is full.
    """
    width = usual_width(rows)
    above = 0
    while width > 1 and above < min(MOST_TITLES, len(rows) - 2) and _is_title(rows[above], width):
        above += 1
    names = [str(cell) for cell in rows[above] if not is_empty(cell)] if above else []
    # texts, and years
    are_names = all(YEAR.fullmatch(name) or not NUMBER.fullmatch(name) for name in names)
    return above if len(names) >= max(2, width / 2) and are_names else 0


def usual_width(rows: Sequence[Cells]) -> int:
    """Return the most frequent number of cells of a row."""
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def column_names(headers: Sequence[Cells], below: Sequence[Cells] = ()) -> list[str]:
    """Return the names of the columns below these rows of headings; a first one of years alone
    needs no heading.
    """
    texts = [["" if is_empty(cell) else str(cell) for cell in row] for row in headers]
    names = unique_names(texts[0]) if len(texts) == 1 else joined_names(texts)
    firsts = [str(row[0]) for row in below if row and not is_empty(row[0])]
    has_years = len(firsts) > 1 and all(map(YEAR.fullmatch, firsts)) and "year" not in names
    return (
        ["year", *names[1:]] if has_years and not any(text[0].strip() for text in texts) else names
    )


def joined_names(headers: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns below several rows of headings; a heading spans the empty cells
    to its right.
    """
    width = max(map(len, headers))
    rows = [[*header, *[""] * (width - len(header))] for header in headers]
    spanned = [*map(_spread, rows[:-1]), _telling(rows[-2], rows[-1])]
    parts = ((part.strip() for part in column) for column in zip(*spanned, strict=True))
    return unique_names(" ".join(dict.fromkeys(filter(None, column))) for column in parts)


def _spread(headings: Sequence[str]) -> list[str]:
    """Return the headings with each repeated over the empty cells after it."""
    heading = ""
    return [heading := one if one.strip() else heading for one in headings]


def _telling(headings: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names without those that say nothing: the same one below several headings of one
    column each.
    """
    lone = [
        bool(one.strip() and following.strip()) for one, following in pairwise([*headings, "end"])
    ]
    repeated = {name for name, count in Counter(compress(names, lone)).items() if count > 1}
    return [
        "" if is_lone and name in repeated else name
        for name, is_lone in zip(names, lone, strict=True)
    ]


def shown(row: Cells) -> str:
    """Return the beginning of a row, to show it in a note."""
    text = " ".join(" ".join(str(cell).split()) for cell in row if not is_empty(cell))
    return f"'{text[:SHOWN_CHARACTERS]}{'…' if len(text) > SHOWN_CHARACTERS else ''}'"


def describe_left_out(word: str, rows: Sequence[tuple[int, Any]], where: str) -> str:
    """Return a note such as `lines 1 to 3, above the header, left out: 'Films of the world'`."""
    first, last = rows[0][0], rows[-1][0]
    place = f"{word}s {first} to {last}" if last > first else f"{word} {first}"
    return f"{place}, {where}, left out: {shown(rows[0][1] or ())}"


class Footnotes:
    """Takes the footnotes from the end of a table's rows; with `by_gap`, a gap in their numbers is
    an empty row.
    """

    def __init__(self, width: int, *, by_gap: bool = False) -> None:
        self._width = width
        self._by_gap = by_gap
        self._last = 0
        self.rows: list[tuple[int, Cells]] = []
        """The rows below the table, each with its number, once all rows were read."""

    def without(self, rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """Yield the rows above the footnotes; rows that look like one, but have others below them,
        are yielded too.
        """
        for row in rows:
            is_held = (
                len(self.rows) < MOST_FOOTNOTES
                and row[1] is not None
                and self._may_be_footnote(*row)
            )
            self._last = row[0]
            if is_held:
                self.rows.append(row)
                continue
            if self.rows:
                held, self.rows = self.rows, []
                yield from held
            yield row

    def _may_be_footnote(self, number: int, cells: Cells) -> bool:
        """Return whether a row is one text, which is after an empty row, cut short, about the table
        or a sentence.
        """
        text = _lone_cell(cells) if self._width >= LEAST_WIDTH else None
        if not isinstance(text, str):
            return False
        if self._by_gap and (self.rows or number > self._last + 1 > 1):
            return True
        is_note = len(cells) == 1 or FOOTNOTE.match(text) or len(text) >= LONG_FOOTNOTE
        return bool(is_note) and not NUMBER.fullmatch(text)


def _lone_cell(row: Cells) -> Any:
    """Return the only cell with a value; None where there are others."""
    filled = filterfalse(is_empty, row)
    found = next(filled, None)
    return found if next(filled, None) is None else None


def _is_title(row: Cells, width: int) -> bool:
    filled = sum(not is_empty(cell) for cell in row)
    if filled == 1 or width < LEAST_WIDTH:
        return filled == 1
    is_sparse = width >= WIDE and filled <= max(2, width / 4)
    return is_sparse or (len(row) != width and 2 * filled <= width)


WORDS = frozenset(str.split("na nan null none unknown"))
MISSING = WORDS.union(str.split(r"- – — ? n/a n.a. #n/a <na> \n"))
WRITTEN = frozenset(
    form(word) for word in MISSING for form in (str.lower, str.upper, str.title)
) | {"NaN", "NaT"}
"""The cells that may stand for a missing value; `NaT` is a moment in pandas, and in other letters a
name.
"""
LEAST_ALIKE = 0.9
# a word is a value where this share, and this number, of the other cells are written as it is
FEWEST = 3


class MissingCells:
    """Empties the cells of rows that stand for a missing value, `NA`, `-`, `NULL` and the like, and
    counts them.

    A word is a value where it is written as the other cells of its column are, as `NA` among codes
    of two capitals.
    """

    def __init__(self, sample: Sequence[Sequence[Any]], notes: ReadingNotes) -> None:
        self._sample = sample
        self._notes = notes
        self._is_value = cache(self._is_written_as_others)

    def emptied(self, row: SourceRow) -> SourceRow:
        """Return a row with None for the cells that stand for a missing value."""
        if WRITTEN.isdisjoint(row.values.values()):
            return row
        values = dict(row.values)
        for column, (name, cell) in enumerate(row.values.items()):
            if cell in WRITTEN and not self._is_value(column, cell):
                self._notes.change("missing", name, f"'{cell}', {row.place}")
                values[name] = None
        return SourceRow(place=row.place, values=values)

    def _is_written_as_others(self, column: int, word: str) -> bool:
        if word.lower() not in WORDS:
            return False
        cells = [
            row[column]
            for row in self._sample
            if column < len(row) and isinstance(row[column], str)
        ]
        others = [cell for cell in map(str.strip, cells) if cell and cell.lower() not in MISSING]
        alike = sum(_are_alike(word, cell) for cell in others)
        return len(others) >= FEWEST and alike >= LEAST_ALIKE * len(others)


def _are_alike(word: str, cell: str) -> bool:
    """Return whether a cell is a code of the same form, or a word that begins with a letter of the
    same case.
    """
    if len(cell) == len(word) and cell.isalpha() and cell.isupper() == word.isupper():
        return True
    if word.istitle():
        return cell[:1].isupper() and not cell.isupper()
    return word in {"none", "unknown"} and cell[:1].islower()
