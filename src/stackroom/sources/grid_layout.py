"""The layout of a table on a sheet or in a CSV file: titles above its header, headers of two rows, footnotes below.

Everything is decided from the first rows, or from a row alone; readers note what was decided.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stackroom.sources.columns import joined_names, unique_names


@dataclass(slots=True)
class _Tally:
    """How often something was decided, and where first."""

    say: Callable[[int, str], str]
    first: str
    count: int = 0


class ReadingNotes:
    """Collects decisions; reading again starts anew."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._tallies: dict[str, _Tally] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes, in the order in which they were first needed."""
        return (*self._said, *(tally.say(tally.count, tally.first) for tally in self._tallies.values()))

    def clear(self) -> None:
        """Forget all notes."""
        self._said.clear()
        self._tallies.clear()

    def add(self, text: str) -> None:
        """Note a decision once."""
        self._said[text] = None

    def count(self, key: str, place: str, say: Callable[[int, str], str]) -> None:
        """Count a decision that may be made for many rows; `say` makes the note of the number and the first place."""
        self._tallies.setdefault(key, _Tally(say=say, first=place)).count += 1


Cells = Sequence[Any]
"""The cells of a row; an empty cell is None or an empty text."""

MOST_TITLES = 30
"""The most rows above a header that are taken as titles without being asked."""
MOST_FOOTNOTES = 50
LONG_FOOTNOTE = 80
"""A lone cell with so many characters is a sentence."""
LEAST_WIDTH = 3
"""A table of fewer columns has no footnotes that could be told from rows."""
WIDE = 6
"""A table of so many columns may have rows such as `Source: | the ministry` above it."""
SHOWN_CHARACTERS = 60
NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d\s*%?\s*")
YEAR = re.compile(r"\s*(1[89]|20)\d\d\s*")
FOOTNOTE = re.compile(
    r"\W*(sources?|notes?|footnotes?|remarks?|data|copyright|licen[cs]e|generated|exported|updated|last updated"
    r"|quellen?|stand|anmerkung(en)?|hinweise?|remarques?|fuentes?|notas?|fonti|fonte)\b|[*†‡©§¹²³]|\(?\d\)\s|\[\d\]"
    r"|https?://",
    re.IGNORECASE,
)
"""The beginning of a cell below a table that is about the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How many rows are above the header, and how many the header has."""

    titles: int = 0
    header_rows: int = 1


def is_empty(cell: Any) -> bool:
    """Return whether a cell has no value."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def count_filled(row: Cells) -> int:
    """Return the number of cells with a value."""
    return sum(not is_empty(cell) for cell in row)


def find_layout(rows: Sequence[Cells], *, titles: int | None = None, header_rows: int | None = None) -> Layout:
    """Return the layout of a table by its first rows, none of them empty; what is given is not inferred."""
    above = count_titles(rows) if titles is None else titles
    return Layout(titles=above, header_rows=count_headers(rows[above:]) if header_rows is None else header_rows)


def count_titles(rows: Sequence[Cells]) -> int:
    """Return the number of rows above the header: those with next to nothing in them before one that is full."""
    width = usual_width(rows)
    above = 0
    while width > 1 and above < min(MOST_TITLES, len(rows) - 2) and _is_title(rows[above], width):
        above += 1
    if not above or not _is_header(rows[above], width):
        return 0
    return above - _are_groups(rows[above - 1 :])


def usual_width(rows: Sequence[Cells]) -> int:
    """Return the most frequent number of cells of a row."""
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def count_headers(rows: Sequence[Cells]) -> int:
    """Return 2 where the first row has headings for groups of columns, and the second the names within them; else 1."""
    if len(rows) < 3 or len(rows[0]) < len(rows[1]) or count_filled(rows[0]) < 2:
        return 1
    groups, names = (dict(enumerate(row)) for row in rows[:2])
    unnamed = [place for place in names if is_empty(groups.get(place))]
    named_below = [place for place in unnamed if not is_empty(names[place])]
    is_grouped = len(unnamed) >= max(2, len(names) / 5) and len(named_below) >= 0.8 * len(unnamed)
    is_in_groups = all(_is_in_group(groups, place) for place in named_below)
    texts = [cell for cell in rows[1] if not is_empty(cell)]
    return 2 if is_grouped and is_in_groups and _are_names(texts) and _is_unlike_rows(rows) else 1


def count_unnamed(header: Cells) -> int:
    """Return the number of columns without a name, other than the first."""
    return sum(is_empty(cell) for cell in header[1:])


def column_names(headers: Sequence[Cells]) -> list[str]:
    """Return the names of the columns below these rows of headings."""
    texts = [["" if is_empty(cell) else str(cell) for cell in row] for row in headers]
    return unique_names(texts[0]) if len(texts) == 1 else joined_names(texts)


def is_footnote(row: Cells, width: int) -> bool:
    """Return whether a row can be a footnote: one text, and that cut short, or about the table, or a sentence."""
    text = _lone_cell(row)
    if width < LEAST_WIDTH or not isinstance(text, str) or NUMBER.fullmatch(text):
        return False
    return len(row) == 1 or FOOTNOTE.match(text) is not None or len(text) >= LONG_FOOTNOTE


def shown(row: Cells) -> str:
    """Return the beginning of a row, to show it in a note."""
    text = " ".join(" ".join(str(cell).split()) for cell in row if not is_empty(cell))
    return f"'{text[:SHOWN_CHARACTERS]}{'…' if len(text) > SHOWN_CHARACTERS else ''}'"


def places(word: str, numbers: Iterable[int]) -> str:
    """Return `line 1` or `lines 1 to 3`."""
    first, *others = numbers
    return f"{word}s {first} to {others[-1]}" if others else f"{word} {first}"


class Footnotes:
    """Takes the footnotes from the end of a table's rows; with `by_gap`, a gap in their numbers is an empty row."""

    def __init__(self, width: int, *, by_gap: bool = False) -> None:
        self._width = width
        self._by_gap = by_gap
        self._last = 0
        self.rows: list[tuple[int, Cells]] = []
        """The rows below the table, each with its number, once all rows were read."""

    def without(self, rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """Yield the rows above the footnotes; rows that look like one, but have others below them, are yielded too."""
        for row in rows:
            is_held = len(self.rows) < MOST_FOOTNOTES and row[1] is not None and self._may_be_footnote(*row)
            self._last = row[0]
            if is_held:
                self.rows.append(row)
                continue
            if self.rows:
                held, self.rows = self.rows, []
                yield from held
            yield row

    def _may_be_footnote(self, number: int, cells: Cells) -> bool:
        """Return whether a row looks like a footnote; one text after an empty row does where numbers tell of it."""
        if is_footnote(cells, self._width):
            return True
        is_apart = self._by_gap and (bool(self.rows) or number > self._last + 1 > 1)
        return is_apart and self._width >= LEAST_WIDTH and isinstance(_lone_cell(cells), str)


def _lone_cell(row: Cells) -> Any:
    """Return the only cell with a value; None where there are others."""
    found = None
    for cell in row:
        if cell is not None and cell != "" and not is_empty(cell):
            if found is not None:
                return None
            found = cell
    return found


def _is_title(row: Cells, width: int) -> bool:
    filled = count_filled(row)
    if filled == 1 or width < LEAST_WIDTH:
        return filled == 1
    is_sparse = width >= WIDE and filled <= max(2, width / 4)
    return is_sparse or (len(row) != width and 2 * filled <= width)


def _are_groups(rows: Sequence[Cells]) -> bool:
    """Return whether a nearly empty row above a header has headings of groups, and is no line such as `Source: | x`."""
    heads, names = rows[0], rows[1]
    lone = [place for place in range(len(heads) - 1) if not is_empty(heads[place]) and not is_empty(heads[place + 1])]
    is_spread = all(_is_repeated(heads, names, place) for place in lone)
    return count_filled(heads) > 1 and is_spread and count_headers(rows) > 1


def _is_header(row: Cells, width: int) -> bool:
    names = [cell for cell in row if not is_empty(cell)]
    return len(names) >= max(2, width / 2) and _are_names(names)


def _are_names(cells: Cells) -> bool:
    """Return whether cells can be names of columns: texts, and years."""
    return all(YEAR.fullmatch(str(cell)) or not NUMBER.fullmatch(str(cell)) for cell in cells)


def _is_in_group(groups: dict[int, Any], place: int) -> bool:
    """Return whether a column without a heading is to the right of one."""
    return any(not is_empty(groups.get(before)) for before in range(place))


def _is_unlike_rows(rows: Sequence[Cells]) -> bool:
    """Return whether the second row is no row of the table: it lacks a value, or has a text where the others differ."""
    first, second, below = rows[0], rows[1], rows[2:]
    return any(
        _is_repeated(first, second, place) or (not NUMBER.fullmatch(str(cell)) and _are_numbers(below, place))
        for place, cell in enumerate(second)
        if _share(below, place, lambda cell: not is_empty(cell)) > 0.5
    )


def _is_repeated(first: Cells, second: Cells, place: int) -> bool:
    """Return whether a cell of the second row adds nothing to the name above it."""
    name = first[place] if place < len(first) else None
    return not is_empty(name) and (is_empty(second[place]) or second[place] == name)


def _are_numbers(rows: Sequence[Cells], place: int) -> bool:
    return _share(rows, place, lambda cell: NUMBER.fullmatch(str(cell)) is not None) > 0.5


def _share(rows: Sequence[Cells], place: int, holds: Callable[[Any], bool]) -> float:
    """Return the share of the rows for whose cell at a place something holds."""
    return sum(place < len(row) and holds(row[place]) for row in rows) / max(len(rows), 1)
