"""The words of a query, weighed by how rare each is in a catalogue."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pinakes.model.scope import WHOLE
from pinakes.shelf.port import ShelfReader
from pinakes.text.query import TextQuery


@dataclass(frozen=True, slots=True)
class WeighedWords:
    """The terms of a query, each with its inverse document frequency times its weight in the query."""

    query: TextQuery
    weights: Mapping[str, float]
    unknown: frozenset[str]
    """The words that no record has."""

    @property
    def total(self) -> float:
        """The score by BM25 of a record of average length that has every word once."""
        return sum(self.weights.values())

    @property
    def unknown_share(self) -> float:
        """The share of the query's weight in words that no record has."""
        return self.share_of(self.unknown)

    def share_of(self, words: Collection[str]) -> float:
        """Return the share of the query's weight that some of its words have."""
        return sum(self.weights.get(word, 0.0) for word in words) / self.total if self.weights else 0.0


def weigh_words(reader: ShelfReader, query: TextQuery) -> WeighedWords:
    """Weigh the terms of a query, as BM25 does."""
    count = reader.count(WHOLE)
    having = reader.frequencies([token for token, _ in query.terms])
    weights = {
        token: weight * math.log(1 + (max(count, some) - some + 0.5) / (some + 0.5))
        for (token, weight), some in zip(query.terms, having, strict=True)
    }
    unknown = frozenset(token for (token, _), some in zip(query.terms, having, strict=True) if not some)
    return WeighedWords(query, weights, unknown)
