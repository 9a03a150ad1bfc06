"""A view of the LanceDB shelf: the base segment, the tail of what changed since, and the table's version as of then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from lancedb.table import Table
from numpy.typing import NDArray

from pinakes.catalogue.codec import decode_record
from pinakes.errors import StorageError
from pinakes.model.hits import Ranking, build_ranking
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import Scope
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.columns import Mask
from pinakes.shelf.lance.layout import token_column
from pinakes.shelf.lance.postings import LivePostings, Scores
from pinakes.shelf.lance.segment import Rows, Segment, reaching_best
from pinakes.shelf.segments import SegmentedView
from pinakes.text.query import TextQuery


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
class LanceView(SegmentedView[Segment]):
    """Implements `ShelfReader`."""

    table: Table
    addresses: Addresses
    model: ModelId | None
    change_no: int
    stale: str | None = None

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and may be seen."""
        row_ids = self.addresses.row_ids_of(keys)
        if not row_ids:
            return {}
        try:
            rows = self.table.take_row_ids(row_ids).select(["key", "id", "body"]).to_arrow().to_pylist()
        except (ValueError, RuntimeError, OSError) as error:
            raise StorageError(f"records of table '{self.table.name}' cannot be read") from error
        found = {Key(row["key"]): decode_record(RecordId(row["id"]), row["body"], self.spec) for row in rows}
        return {key: found[key] for key in keys if key in found and scope.visibility.sees(found[key].audiences)}

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        """Return the keys of these ids, where they exist and may be seen."""
        found: dict[RecordId, Key] = {}
        for segment, mask in zip(self._segments, self._masks(Scope(visibility=scope.visibility)), strict=True):
            for record_id in ids:
                row = segment.row_by_id.get(record_id)
                if row is not None and (mask is None or mask[row]):
                    found[record_id] = Key(int(segment.keys[row]))
        return found

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


def _merged(parts: Sequence[tuple[Rows, Scores]], limit: int, *, total: int | None = None) -> Ranking:
    """Return the best of what the segments found."""
    keys = np.concatenate([keys for keys, _ in parts]) if parts else np.empty(0, np.int64)
    scores = np.concatenate([scores for _, scores in parts]) if parts else np.empty(0)
    best = reaching_best(scores, limit)
    return build_ranking(keys[best], scores[best], limit=limit, total=total)
