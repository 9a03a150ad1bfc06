"""Columns: a field's values over all rows of a segment, for filters, facets and counts.

A term column is an inverted index (value → rows); a number column has one number a row. Both are arrays that can live
in files and be mapped into memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pinakes.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from pinakes.shelf.terms import Entry, term_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class TermColumn:
    """Rows by value: entry `i` is on `rows[ends[i-1]:ends[i]]`, in row order."""

    entries: Sequence[Entry]
    ends: NDArray[np.int64]
    rows: NDArray[np.int32]

    @cached_property
    def _places(self) -> Mapping[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, (term, _, _) in enumerate(self.entries):
            places.setdefault(term, []).append(place)
        return places

    def rows_with(self, value: str) -> NDArray[np.int32]:
        """Return the rows that have this value, in any category."""
        slices = [self._slice(place) for place in self._places.get(term_of(value), ())]
        return np.concatenate(slices) if slices else np.empty(0, np.int32)

    def counts(self, mask: Mask | None) -> NDArray[np.int64]:
        """Return for each entry on how many rows of the mask it is."""
        if mask is None:
            return np.diff(self.ends, prepend=0)
        running = np.concatenate(([0], np.cumsum(mask[self.rows], dtype=np.int64)))
        return np.diff(running[self.ends], prepend=0)

    def _slice(self, place: int) -> NDArray[np.int32]:
        return self.rows[self.ends[place - 1] if place else 0 : self.ends[place]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn:
    """One number a row, NaN where there is none."""

    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All columns of a segment."""

    size: int
    terms: Mapping[str, TermColumn] = field(default_factory=dict)
    numbers: Mapping[str, NumberColumn] = field(default_factory=dict)

    def mask(self, conditions: Iterable[Condition]) -> Mask | None:
        """Return the rows that meet every condition; None means all of them."""
        mask: Mask | None = None
        for condition in conditions:
            one = self._mask_of(condition)
            mask = one if mask is None else mask & one
        return mask

    def _mask_of(self, condition: Condition) -> Mask:
        match condition:
            case AnyOf():
                return self._having(condition.field, condition.values)
            case NoneOf():
                return ~self._having(condition.field, condition.values)
            case AllOf():
                mask = np.ones(self.size, dtype=bool)
                for value in condition.values:
                    mask &= self._having(condition.field, (value,))
                return mask
            case Range():
                return self._between(condition)

    def _having(self, name: str, values: Iterable[str]) -> Mask:
        mask = np.zeros(self.size, dtype=bool)
        for value in values:
            mask[self.terms[name].rows_with(value)] = True
        return mask

    def _between(self, condition: Range) -> Mask:
        values = self.numbers[condition.field].values
        mask = ~np.isnan(values)
        if condition.at_least is not None:
            mask &= values >= condition.at_least
        if condition.at_most is not None:
            mask &= values <= condition.at_most
        return mask


def build_term_column(entries_by_row: Iterable[Sequence[Entry]]) -> TermColumn:
    """Invert the values of each row."""
    places: dict[Entry, list[int]] = {}
    for row, entries in enumerate(entries_by_row):
        for entry in entries:
            places.setdefault(entry, []).append(row)
    ordered = sorted(places)
    rows = [row for entry in ordered for row in places[entry]]
    ends = np.cumsum([len(places[entry]) for entry in ordered], dtype=np.int64)
    return TermColumn(entries=ordered, ends=ends, rows=np.array(rows, dtype=np.int32))
