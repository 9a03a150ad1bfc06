"""Postings of a column of tokens, and BM25 over them: exact, whatever was changed or deleted since they were built.

LanceDB's own full-text index gives the same scores only until the first change: it keeps what was deleted in its
statistics, and leaves equal scores in no order (docs/decisions/0007-lance-shelf.md).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pinakes.shelf.columns import Mask
from pinakes.text.query import TextQuery

K1 = 1.2
B = 0.75

Ints = NDArray[np.int32]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Rows by token: token `i` is on `rows[ends[i-1]:ends[i]]`, in row order, `counts` times on each."""

    places: Mapping[str, int]
    ends: NDArray[np.int64]
    rows: Ints
    counts: Ints
    lengths: Ints
    """How many tokens each row has."""

    def of(self, token: str) -> tuple[Ints, Ints]:
        """Return the rows that have the token, and how often."""
        place = self.places.get(token)
        if place is None:
            return self.rows[:0], self.counts[:0]
        span = slice(self.ends[place - 1] if place else 0, self.ends[place])
        return self.rows[span], self.counts[span]


def build_postings(texts: pa.Array) -> Postings:
    """Invert a column of tokens joined by spaces."""
    split = pc.split_pattern(texts, " ")
    tokens = pc.list_flatten(split)
    is_token = pc.not_equal(tokens, "")  # a text without tokens is split into one empty one
    encoded = tokens.filter(is_token).dictionary_encode()
    owners = pc.list_parent_indices(split).filter(is_token).to_numpy(zero_copy_only=False)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    pairs, counts = np.unique(codes.astype(np.int64) * len(texts) + owners, return_counts=True)
    held = np.bincount(pairs // max(len(texts), 1), minlength=len(encoded.dictionary))
    return Postings(
        places={token: place for place, token in enumerate(encoded.dictionary.to_pylist())},
        ends=np.cumsum(held, dtype=np.int64),
        rows=(pairs % max(len(texts), 1)).astype(np.int32),
        counts=counts.astype(np.int32),
        lengths=np.bincount(owners, minlength=len(texts)).astype(np.int32),
    )


@dataclass(frozen=True)
class LivePostings:
    """The postings of several segments, of which only the live rows count."""

    parts: Sequence[tuple[Postings, Mask | None]]

    def scores(self, query: TextQuery) -> list[Scores]:
        """Return for each part the BM25 score of every row; 0 where none of the terms is."""
        scores = [np.zeros(len(postings.lengths)) for postings, _ in self.parts]
        for token, weight in query.terms:
            found = list(self._having(token))
            having = sum(len(rows) for rows, _ in found)
            rarity = math.log(1 + (self._size - having + 0.5) / (having + 0.5))
            for part, (rows, counts) in enumerate(found):
                lengths = self.parts[part][0].lengths[rows]
                norm = K1 * (1 - B + B * lengths / self._average_length)
                scores[part][rows] += weight * rarity * (counts * (K1 + 1) / (counts + norm))
        return scores

    def having_any(self, query: TextQuery) -> list[Mask]:
        """Return for each part which rows have any of the terms."""
        masks = [np.zeros(len(postings.lengths), dtype=bool) for postings, _ in self.parts]
        for token, _ in query.terms:
            for mask, (rows, _) in zip(masks, self._having(token), strict=True):
                mask[rows] = True
        return masks

    def _having(self, token: str) -> Iterable[tuple[Ints, Ints]]:
        for postings, alive in self.parts:
            rows, counts = postings.of(token)
            yield (rows, counts) if alive is None else (rows[alive[rows]], counts[alive[rows]])

    @cached_property
    def _lengths(self) -> list[Ints]:
        return [postings.lengths if alive is None else postings.lengths[alive] for postings, alive in self.parts]

    @cached_property
    def _size(self) -> int:
        return sum(len(lengths) for lengths in self._lengths)

    @cached_property
    def _average_length(self) -> float:
        return sum(int(lengths.sum()) for lengths in self._lengths) / max(self._size, 1) or 1.0
