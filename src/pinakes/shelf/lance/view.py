"""A view of the LanceDB shelf: the base segment, the tail of what changed since, and the table's version as of then."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from lancedb.table import Table
from numpy.typing import NDArray

from pinakes.catalogue.codec import decode_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.hits import FacetCount, Ranking, TitleMatch, build_ranking
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import Condition, Scope
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.columns import Mask
from pinakes.shelf.lance.layout import token_column
from pinakes.shelf.lance.postings import LivePostings, Scores
from pinakes.shelf.lance.segment import Rows, Segment, reaching_best
from pinakes.shelf.terms import require_countable, require_filterable
from pinakes.text.query import TextQuery

MASKS_KEPT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the documents of one version are: their keys in order, the change that wrote each, LanceDB's row ids."""

    keys: NDArray[np.int64]
    change_nos: NDArray[np.int64]
    row_ids: NDArray[np.uint64]

    def row_ids_of(self, keys: Sequence[Key]) -> list[int]:
        """Return the row ids of those keys that exist."""
        wanted = np.unique(np.asarray(keys, dtype=np.int64))
        ids: list[int] = self.row_ids[np.isin(self.keys, wanted, assume_unique=True)].tolist()
        return ids


@dataclass(frozen=True, kw_only=True)
class LanceView:
    """Implements `ShelfReader`. Rows of the base that were changed or deleted since are dead."""

    spec: CatalogueSpec
    table: Table
    addresses: Addresses
    base: Segment
    tail: Segment
    base_alive: Mask | None
    model: ModelId | None
    change_no: int
    stale: str | None = None
    _last_masks: dict[tuple[Condition, ...], list[Mask | None]] = field(default_factory=dict, repr=False)
    _mask_guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and may be seen."""
        row_ids = self.addresses.row_ids_of(keys)
        if not row_ids:
            return {}
        try:
            rows = self.table.take_row_ids(row_ids).select(["key", "id", "body"]).to_arrow().to_pylist()
        except (ValueError, RuntimeError, OSError) as error:
            raise StorageError(f"{self.table.name}: records cannot be read: {error}") from error
        found = {Key(row["key"]): decode_record(RecordId(row["id"]), row["body"], self.spec) for row in rows}
        return {key: found[key] for key in keys if key in found and scope.sight.sees(found[key].audiences)}

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        """Return the keys of these ids, where they exist and may be seen."""
        found: dict[RecordId, Key] = {}
        for segment, mask in zip(self._segments, self._masks(Scope(sight=scope.sight)), strict=True):
            for record_id in ids:
                row = segment.row_by_id.get(record_id)
                if row is not None and (mask is None or mask[row]):
                    found[record_id] = Key(int(segment.keys[row]))
        return found

    def ids(self, keys: Sequence[Key]) -> list[RecordId]:
        """Return the ids of keys that this view gave out."""
        ids: dict[Key, RecordId] = {}
        for segment in self._segments:
            rows = segment.rows_of(keys)
            here = np.flatnonzero(rows >= 0)
            ids |= zip([keys[place] for place in here.tolist()], segment.ids_of(rows[here]), strict=True)
        return [ids[key] for key in keys]

    def lexical(self, query: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        """Rank by BM25 over the catch-all and the boosted fields; statistics are of the whole catalogue."""
        masks = self._masks(scope)
        found = []
        for segment, mask, scores in zip(self._segments, masks, self._bm25(query), strict=True):
            rows = np.flatnonzero(scores if mask is None else np.where(mask, scores, 0))
            found.append((segment.keys[rows], scores[rows]))
        return _merged(found, limit, total=sum(len(keys) for keys, _ in found))

    def count_with_terms(self, query: TextQuery, keys: Sequence[Key]) -> int:
        """Return how many of these records have any of the terms."""
        count = 0
        wanted = np.unique(np.asarray(keys, dtype=np.int64))
        for segment, having in zip(self._segments, self._texts["tokens"].having_any(query), strict=True):
            rows = segment.rows_of(wanted)
            count += int(np.count_nonzero(having[rows[rows >= 0]]))
        return count

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        """Rank the records in scope by cosine to each of the vectors."""
        masks = self._masks(scope)
        return [self._nearest_one(vector, masks, limit) for vector in vectors]

    def vectors(self, keys: Sequence[Key]) -> Vector:
        """Return the vectors of these keys as rows."""
        rows = np.zeros((len(keys), self.model.dimension if self.model else 0), dtype=np.float32)
        for segment in self._segments:
            places = segment.rows_of(keys)
            here = places >= 0
            if segment.vectors is not None and here.any():
                rows[here] = segment.vectors.values[places[here]]
        return rows

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
    def _segments(self) -> tuple[Segment, ...]:
        """The base, and the tail after it, so that what is newer wins."""
        return (self.base, self.tail) if self.tail.columns.size else (self.base,)

    @cached_property
    def _texts(self) -> Mapping[str, LivePostings]:
        """The live postings of each column of tokens."""
        alive = (self.base_alive, None)[: len(self._segments)]
        return {
            name: LivePostings([(one.texts[name], live) for one, live in zip(self._segments, alive, strict=True)])
            for name in self.base.texts
        }

    def _bm25(self, query: TextQuery) -> list[Scores]:
        """Return for each segment the score of every row."""
        totals = self._texts["tokens"].scores(query)
        for boosted in self.spec.boosted_fields:
            own = self._texts[token_column(boosted.name)].scores(query)
            totals = [total + boosted.boost * scores for total, scores in zip(totals, own, strict=True)]
        return totals

    def _nearest_one(self, vector: Vector, masks: Sequence[Mask | None], limit: int) -> Ranking:
        found = []
        for segment, mask in zip(self._segments, masks, strict=True):
            if segment.vectors is not None:
                rows, cosines = segment.vectors.nearest(vector, mask=mask, limit=limit)
                found.append((segment.keys[rows], cosines.astype(np.float64)))
        return _merged(found, limit)

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
                self._last_masks[conditions] = self._masks_of(conditions)
            return self._last_masks[conditions]

    def _masks_of(self, conditions: tuple[Condition, ...]) -> list[Mask | None]:
        masks = [segment.columns.mask(conditions) for segment in self._segments]
        if self.base_alive is not None:
            masks[0] = self.base_alive if masks[0] is None else masks[0] & self.base_alive
        return masks


def _merged(parts: Sequence[tuple[Rows, Scores]], limit: int, *, total: int | None = None) -> Ranking:
    """Return the best of what the segments found."""
    keys = np.concatenate([keys for keys, _ in parts]) if parts else np.empty(0, np.int64)
    scores = np.concatenate([scores for _, scores in parts]) if parts else np.empty(0)
    best = reaching_best(scores, limit)
    return build_ranking(keys[best], scores[best], limit=limit, total=total)
