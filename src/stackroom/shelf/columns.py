"""Columns: a field's values over all rows of a segment, for filters, facets and counts.

A term column is an inverted index (value → rows); a number column has one number per row. Both are
arrays that can be memory-mapped from files.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stackroom.frozen import frozen
from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from stackroom.shelf.spool import Spool
from stackroom.shelf.terms import Entry, asked_term
from stackroom.text.titles import contains

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class TermColumn:
    """Posting lists: entry `i` occurs on `rows[ends[i-1]:ends[i]]`, in row order."""

    entries: Sequence[Entry]
    ends: NDArray[np.int64]
    rows: NDArray[np.int32]

    @cached_property
    def _entries_by_term(self) -> Mapping[str, list[int]]:
        indexes: dict[str, list[int]] = {}
        for index, (term, _, _) in enumerate(self.entries):
            indexes.setdefault(term, []).append(index)
        return indexes

    def rows_with(self, term: str) -> NDArray[np.int32]:
        """Return the rows that have this term, in any category."""
        slices = [self._slice(entry) for entry in self._entries_by_term.get(term, ())]
        if len(slices) == 1:
            return slices[0]
        return np.concatenate(slices) if slices else np.empty(0, np.int32)

    def counts(self, mask: Mask | None) -> NDArray[np.int64]:
        """Return for each entry the number of rows in the mask that have it."""
        if mask is None:
            return np.diff(self.ends, prepend=0)
        running = np.concatenate(([0], np.cumsum(mask[self.rows], dtype=np.int64)))
        return np.diff(running[self.ends], prepend=0)

    def occurrences(self, mask: Mask | None) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the entries and the rows in the mask that have them, side by side."""
        entries = np.repeat(np.arange(len(self.ends)), self.counts(None))
        if mask is None:
            return entries, self.rows
        kept = mask[self.rows]
        return entries[kept], self.rows[kept]

    def count_at(self, terms: Iterable[str], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of these terms each of these rows has."""
        wanted, counts = rows.astype(np.int32), np.zeros(len(rows), dtype=np.int64)
        for term in terms:
            having = [
                contains(self._slice(entry), wanted)
                for entry in self._entries_by_term.get(term, ())
            ]
            counts += reduce(np.logical_or, having, np.zeros(len(rows), dtype=bool))
        return counts

    def terms_at(self, rows: NDArray[np.int64]) -> list[frozenset[str]]:
        """Return the terms of each of these rows."""
        sorted_rows, entries = self._by_row
        # of another type, it would have all of them converted
        wanted = rows.astype(sorted_rows.dtype)
        starts = np.searchsorted(sorted_rows, wanted, side="left").tolist()
        ends = np.searchsorted(sorted_rows, wanted, side="right").tolist()
        return [
            frozenset([self.entries[entry][0] for entry in entries[start:end].tolist()])
            for start, end in zip(starts, ends, strict=True)
        ]

    @cached_property
    def _by_row(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The forward index: rows in order, and the entry on each."""
        entries, rows = self.occurrences(None)
        order = np.argsort(rows, kind="stable")
        return rows[order], entries[order]

    def _slice(self, entry: int) -> NDArray[np.int32]:
        return self.rows[self.ends[entry - 1] if entry else 0 : self.ends[entry]]


@frozen
class TextColumn:
    """One text per row: that of row `i` is `letters[ends[i-1]:ends[i]]`."""

    letters: NDArray[np.uint8]
    ends: NDArray[np.int64]

    def texts_at(self, rows: NDArray[np.int64]) -> list[bytes]:
        """Return the texts of these rows, as they were added."""
        starts, ends = np.where(rows > 0, self.ends[rows - 1], 0).tolist(), self.ends[rows].tolist()
        return [self.letters[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]


class TextColumnBuilder:
    """Builds a text column from rows that are added in row order."""

    def __init__(self, folder: Path | None = None) -> None:
        self._letters = Spool(folder)
        self._ends = array("q")

    def add(self, text: bytes) -> None:
        """Add the text of the next row."""
        self._letters.add(text)
        self._ends.append(self._letters.size_bytes)

    def build(self) -> TextColumn:
        """Return the column of the rows added so far."""
        return TextColumn(
            letters=self._letters.build(np.uint8), ends=np.frombuffer(self._ends, dtype=np.int64)
        )


@frozen
class Columns:
    """All columns of a segment."""

    size: int
    terms: Mapping[str, TermColumn] = field(default_factory=dict)
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """One number per row, NaN for a missing one."""
    texts: Mapping[str, TextColumn] = field(default_factory=dict)

    def mask(self, conditions: Iterable[Condition]) -> Mask | None:
        """Return the rows that meet every condition; None means all of them."""
        masks = [self._mask_of(condition) for condition in conditions]
        return reduce(np.logical_and, masks) if masks else None

    def _mask_of(self, condition: Condition) -> Mask:
        match condition:
            case AnyOf():
                return self._having(condition.field, condition.values)
            case NoneOf():
                return ~self._having(condition.field, condition.values)
            case AllOf():
                each = [self._having(condition.field, (value,)) for value in condition.values]
                return reduce(np.logical_and, each, np.ones(self.size, dtype=bool))
            # a missing number (NaN) fails every comparison, that with minus infinity too
            case Range():
                values = reduce(np.multiply, (self.numbers[name] for name in condition.fields))
                mask: Mask = values >= (
                    -np.inf if condition.at_least is None else condition.at_least
                )
                return mask if condition.at_most is None else mask & (values <= condition.at_most)

    def _having(self, name: str, values: Iterable[str]) -> Mask:
        mask = np.zeros(self.size, dtype=bool)
        for value in values:
            mask[self.terms[name].rows_with(asked_term(name, value))] = True
        return mask


class TermColumnBuilder:
    """Builds a term column from rows that are added in row order."""

    def __init__(self) -> None:
        self._numbers: dict[Entry, int] = {}
        self._entries = array("i")
        self._rows = array("i")
        self._size = 0

    def add(self, entries: Iterable[Entry]) -> None:
        """Add the distinct values of the next row."""
        for entry in entries:
            self._entries.append(self._numbers.setdefault(entry, len(self._numbers)))
            self._rows.append(self._size)
        self._size += 1

    def build(self) -> TermColumn:
        """Return the column of the rows added so far."""
        entries = sorted(self._numbers)
        places = np.empty(len(entries), dtype=np.int32)
        places[[self._numbers[entry] for entry in entries]] = np.arange(len(entries))
        numbers = places[np.frombuffer(self._entries, dtype=np.int32)]
        return TermColumn(
            entries=entries,
            ends=np.cumsum(np.bincount(numbers, minlength=len(entries)), dtype=np.int64),
            rows=np.frombuffer(self._rows, dtype=np.int32)[np.argsort(numbers, kind="stable")],
        )
