"""Cells of text tables that stand for a missing value: `NA`, `-`, `NULL` and the like.

Such a word is a value where it is written as the other cells of its column are: `NA` among codes of two capitals,
`None` among words that begin with one, as names do.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from stackroom.sources.file_rows import ReadingNotes
from stackroom.sources.port import SourceRow

WORDS = frozenset({"na", "nan", "null", "none", "unknown"})
MISSING = WORDS | {"-", "–", "—", "?", "n/a", "n.a.", "#n/a", "<na>", "\\n"}
WRITTEN = frozenset(form(word) for word in MISSING for form in (str.lower, str.upper, str.title)) | {"NaN", "NaT"}
"""The cells that may stand for a missing value; `NaT` is a moment in pandas, and in other letters a name."""
LEAST_ALIKE = 0.9
FEWEST = 3
"""A word is a value where this share, and this number, of the other cells are written as it is."""


class MissingCells:
    """Empties the cells of rows that stand for a missing value, and counts them by column."""

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
        cells = [row[column] for row in self._sample if column < len(row) and isinstance(row[column], str)]
        others = [cell for cell in map(str.strip, cells) if cell and cell.lower() not in MISSING]
        alike = sum(_are_alike(word, cell) for cell in others)
        return len(others) >= FEWEST and alike >= LEAST_ALIKE * len(others)


def _are_alike(word: str, cell: str) -> bool:
    """Return whether a cell is a code of the same form, or a word that begins with a letter of the same case."""
    if len(cell) == len(word) and cell.isalpha() and cell.isupper() == word.isupper():
        return True
    if word.istitle():
        return cell[:1].isupper() and not cell.isupper()
    return word in {"none", "unknown"} and cell[:1].islower()
