"""Reads over segments: what every shelf answers from columns and titles, base and tail, whatever else it keeps.

A view over segments has a base, a tail of what changed since, and the rows of the base that are still alive. This has
the reads that need no more than that; ranking by words and vectors, and the records themselves, are the shelf's own.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.hits import FacetCount, TitleMatch
from pinakes.model.record import Key, RecordId
from pinakes.model.scope import Condition, Scope
from pinakes.shelf.columns import Columns, Mask
from pinakes.shelf.terms import require_countable, require_filterable
from pinakes.text.titles import TitleIndex

MASKS_KEPT = 8


class ColumnSegment(Protocol):
    """An unchanging run of rows in key order, with their columns and names."""

    @property
    def keys(self) -> NDArray[np.int64]:
        """The keys of the rows."""

    @property
    def columns(self) -> Columns:
        """What rows are filtered and counted by."""

    @property
    def titles(self) -> TitleIndex:
        """The names of the rows."""

    def rows_of(self, keys: Sequence[Key]) -> NDArray[np.int64]:
        """Return the row of each key, −1 where this segment does not have it."""

    def ids_of(self, rows: NDArray[np.int64]) -> list[RecordId]:
        """Return the ids of the records at these rows."""


def find_rows(present: NDArray[np.int64], keys: Sequence[Key] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each key among those that are present, in order; −1 where it is not."""
    wanted = np.asarray(keys, dtype=np.int64)
    if not len(present):
        return np.full(len(wanted), -1)
    rows = np.minimum(np.searchsorted(present, wanted), len(present) - 1)
    return np.where(present[rows] == wanted, rows, -1)


SegmentT = TypeVar("SegmentT", bound=ColumnSegment)


@dataclass(frozen=True, kw_only=True)
class SegmentedView(Generic[SegmentT]):
    """The part of `ShelfReader` that columns and titles answer. Rows of the base that were changed since are dead."""

    spec: CatalogueSpec
    base: SegmentT
    tail: SegmentT
    base_alive: Mask | None
    _last_masks: dict[tuple[Condition, ...], list[Mask | None]] = field(default_factory=dict, repr=False)
    _mask_guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def ids(self, keys: Sequence[Key]) -> list[RecordId]:
        """Return the ids of keys that this view gave out."""
        ids: dict[Key, RecordId] = {}
        for segment in self._segments:
            rows = segment.rows_of(keys)
            here = np.flatnonzero(rows >= 0)
            ids |= zip([keys[place] for place in here.tolist()], segment.ids_of(rows[here]), strict=True)
        return [ids[key] for key in keys]

    def terms(self, field: str, keys: Sequence[Key]) -> list[frozenset[str]]:
        """Return the terms of a column for each of these keys."""
        found: dict[int, frozenset[str]] = {}
        for segment in self._segments:
            rows = segment.rows_of(keys)
            here = np.flatnonzero(rows >= 0)
            found.update(zip(here.tolist(), segment.columns.terms[field].terms_at(rows[here]), strict=True))
        return [found.get(place, frozenset()) for place in range(len(keys))]

    def numbers(self, field: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return the number of a column for each of these keys."""
        values = np.full(len(keys), np.nan)
        for segment in self._segments:
            rows = segment.rows_of(keys)
            values[rows >= 0] = segment.columns.numbers[field].values[rows[rows >= 0]]
        return values

    def titles_like(self, text: str, *, scope: Scope, limit: int) -> list[TitleMatch]:
        """Return the records in scope with the names most like the text."""
        found = [
            TitleMatch(Key(int(segment.keys[row])), likeness)
            for segment, mask in zip(self._segments, self._masks(scope), strict=True)
            for row, likeness in segment.titles.find_like(text, limit=limit, allowed=mask)
        ]
        return sorted(found, key=lambda match: (-match.likeness, match.key))[:limit]

    def facets(self, field: str, *, scope: Scope) -> list[FacetCount]:
        """Count the values of a field over the records in scope, most frequent first."""
        require_countable(field, self.spec)
        totals: dict[tuple[str, str], int] = {}
        for segment, mask in zip(self._segments, self._masks(scope), strict=True):
            column = segment.columns.terms[field]
            for (_, category, value), count in zip(column.entries, column.counts(mask).tolist(), strict=True):
                totals[category, value] = totals.get((category, value), 0) + count
        counts = [FacetCount(category, value, count) for (category, value), count in totals.items() if count]
        return sorted(counts, key=lambda facet: (-facet.count, facet.category, facet.value))

    def count(self, scope: Scope) -> int:
        """Return how many records are in scope."""
        return sum(
            segment.columns.size if mask is None else int(np.count_nonzero(mask))
            for segment, mask in zip(self._segments, self._masks(scope), strict=True)
        )

    def scan(self, *, scope: Scope, after: Key | None = None, limit: int) -> list[Key]:
        """Return the keys in scope that follow `after`, in key order."""
        keys = [
            segment.keys if mask is None else segment.keys[mask]
            for segment, mask in zip(self._segments, self._masks(scope), strict=True)
        ]
        ordered = np.sort(np.concatenate(keys))
        start = 0 if after is None else int(np.searchsorted(ordered, after, side="right"))
        return [Key(key) for key in ordered[start : start + limit].tolist()]

    @cached_property
    def _segments(self) -> tuple[SegmentT, ...]:
        """The base, and the tail after it, so that what is newer wins."""
        return (self.base, self.tail) if self.tail.columns.size else (self.base,)

    def _masks(self, scope: Scope) -> list[Mask | None]:
        """Return the rows of each segment that are alive and in scope; None means all.

        The last few are kept: the reads of one search, and often those of the next, have the same scope.
        """
        conditions = scope.all_conditions()
        require_filterable(conditions, self.spec)
        with self._mask_guard:
            if conditions not in self._last_masks:
                if len(self._last_masks) >= MASKS_KEPT:
                    self._last_masks.clear()
                self._last_masks[conditions] = self._alive(self._masks_of(conditions))
            return self._last_masks[conditions]

    def _masks_of(self, conditions: tuple[Condition, ...]) -> list[Mask | None]:
        """Return the rows of each segment that meet the conditions, dead ones among them."""
        return [segment.columns.mask(conditions) for segment in self._segments]

    def _alive(self, masks: list[Mask | None]) -> list[Mask | None]:
        if self.base_alive is not None:
            masks[0] = self.base_alive if masks[0] is None else masks[0] & self.base_alive
        return masks
