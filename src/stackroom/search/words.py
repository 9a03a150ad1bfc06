"""The words of a query, weighed by how rare each is in a catalogue."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stackroom.model.scope import SEES_EVERYTHING, WHOLE, Scope, Visibility
from stackroom.shelf.port import ShelfReader
from stackroom.text.query import TextQuery

FEW = 3
"""A word of at most this many records is rare: its number would tell of records that a caller may not see."""


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


def weigh_words(reader: ShelfReader, query: TextQuery, visibility: Visibility = SEES_EVERYTHING) -> WeighedWords:
    """Weigh the terms of a query, as BM25 does; rare ones are counted among the records that the caller may see."""
    count = reader.count(WHOLE)
    tokens = [token for token, _ in query.terms]
    having = [
        _count_visible(reader, token, visibility) if 0 < some <= FEW and visibility.audiences is not None else some
        for token, some in zip(tokens, reader.frequencies(tokens), strict=True)
    ]
    weights = {
        token: weight * math.log(1 + (max(count, some) - some + 0.5) / (some + 0.5))
        for (token, weight), some in zip(query.terms, having, strict=True)
    }
    return WeighedWords(
        query, weights, frozenset(token for token, some in zip(tokens, having, strict=True) if not some)
    )


def _count_visible(reader: ShelfReader, token: str, visibility: Visibility) -> int:
    """Return how many visible records have a token, so that a word of hidden records is as unknown as one of none."""
    return reader.lexical(TextQuery(terms=((token, 1.0),)), scope=Scope(visibility=visibility), limit=1).total
