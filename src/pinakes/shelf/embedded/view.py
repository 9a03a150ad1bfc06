"""A view of the embedded shelf: the base segment, the tail of what changed since, and the text index as of then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tantivy
from numpy.typing import NDArray

from pinakes.model.hits import Ranking, build_ranking
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import WORDS_FIELD, Condition, Scope
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.columns import Mask
from pinakes.shelf.embedded.codes import Scores
from pinakes.shelf.embedded.segment import Segment
from pinakes.shelf.embedded.store import Store
from pinakes.shelf.embedded.text_index import TextIndex
from pinakes.shelf.embedded.vectors import Rows
from pinakes.shelf.segments import SegmentedView
from pinakes.shelf.terms import require_filterable
from pinakes.text.query import TextQuery

MARKER_DOCUMENTS = 1
"""Documents of the text index that are not records: the one that holds the change number."""


@dataclass(frozen=True, kw_only=True)
class EmbeddedView(SegmentedView[Segment]):
    """Implements `ShelfReader`."""

    store: Store
    text: TextIndex
    searcher: tantivy.Searcher
    model: ModelId | None
    change_no: int
    stale: str | None = None

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and may be seen."""
        found = self.store.fetch(keys, as_of=self.change_no)
        return {key: record for key, record in found.items() if scope.visibility.sees(record.audiences)}

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        """Return the keys of these ids, where they exist and may be seen."""
        found = self.store.find(ids, as_of=self.change_no)
        if scope.visibility.audiences is None:
            return found
        visible = self.fetch(list(found.values()), scope=scope)
        return {record_id: key for record_id, key in found.items() if key in visible}

    def lexical(self, query: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        """Rank the records in scope that have any of the terms."""
        conditions = scope.all_conditions()
        require_filterable(conditions, self.spec)
        return self.text.search(query, conditions, searcher=self.searcher, limit=limit)

    def count_with_terms(self, query: TextQuery, keys: Sequence[Key]) -> int:
        """Return how many of these records have any of the terms."""
        return self.text.count_with_terms(query, keys, searcher=self.searcher)

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        """Rank the records in scope by cosine to each of the vectors."""
        found: list[list[tuple[Rows, Scores]]] = [[] for _ in vectors]
        for segment, mask in zip(self._segments, self._masks(scope), strict=True):
            if segment.vectors is None:
                continue
            each = segment.vectors.nearest_each(vectors, mask=mask, limit=limit)
            for parts, (rows, cosines) in zip(found, each, strict=True):
                parts.append((segment.keys[rows], cosines))
        return [_merged(parts, limit) for parts in found]

    def vectors(self, keys: Sequence[Key]) -> Vector:
        """Return the vectors of these keys as rows."""
        rows = np.zeros((len(keys), self.model.dimension if self.model else 0), dtype=np.float32)
        for segment in self._segments:
            places = segment.rows_of(keys)
            here = places >= 0
            if segment.vectors is not None and here.any():
                rows[here] = segment.vectors.exact[places[here]]
        return rows

    def counters(self) -> dict[str, int]:
        """Return the sizes and change numbers of the indexes."""
        return {
            "base_rows": self.base.columns.size,
            "tail_rows": self.tail.columns.size,
            "replaced_rows": 0 if self.base_alive is None else int(np.count_nonzero(~self.base_alive)),
            "base_change_no": self.base.change_no,
            "text_change_no": self.text.change_no(),
            "text_documents": max(0, self.searcher.num_docs - MARKER_DOCUMENTS),
            "text_segments": self.searcher.num_segments,
        }

    def _masks_of(self, conditions: tuple[Condition, ...]) -> list[Mask | None]:
        of_words = [condition for condition in conditions if condition.field == WORDS_FIELD]
        masks = super()._masks_of(tuple(condition for condition in conditions if condition.field != WORDS_FIELD))
        if not of_words:
            return masks
        keys = self.text.keys_meeting(of_words, searcher=self.searcher)
        return [_only(keys, segment, mask) for segment, mask in zip(self._segments, masks, strict=True)]


def _only(keys: NDArray[np.int64], segment: Segment, mask: Mask | None) -> Mask:
    """Return the rows of the mask that have one of the keys."""
    having: Mask = np.isin(segment.keys, keys)
    return having if mask is None else having & mask


def _merged(parts: list[tuple[Rows, Scores]], limit: int) -> Ranking:
    """Return the best of what the segments found."""
    keys = np.concatenate([keys for keys, _ in parts]) if parts else np.empty(0, np.int64)
    scores = np.concatenate([scores for _, scores in parts]) if parts else np.empty(0)
    return build_ranking(keys, scores, limit=limit)
