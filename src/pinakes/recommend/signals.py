"""The signals of a recommendation, each 0–1: how a candidate compares with the titles someone likes.

Meaning and tags count by the nearest of the liked titles, since a taste is several things and not their average; year
and format count by the mean over them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.catalogue.spec import RecommendSpec, texts_of
from pinakes.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """A candidate's signals; `popularity` is None where the spec has none."""

    semantic: float
    taxonomy: float
    temporal: float
    format: float
    popularity: float | None = None


def tag_set(record: Record, spec: RecommendSpec) -> frozenset[str]:
    """Return the values of a record that the taxonomy signal compares."""
    return frozenset(text for field in spec.taxonomy_fields for text in texts_of(record.get(field)))


def taxonomy(candidate: frozenset[str], liked: Sequence[frozenset[str]]) -> float:
    """Return the greatest Jaccard similarity to the tags of a liked title."""
    return max((_jaccard(candidate, one) for one in liked), default=0.0)


def temporal(candidate: float | None, liked: Sequence[float], *, sigma: float) -> float:
    """Return the mean nearness in time: 1 for the same year, falling as a Gaussian."""
    if candidate is None or not liked:
        return 0.0
    return sum(math.exp(-((candidate - one) ** 2) / (2 * sigma**2)) for one in liked) / len(liked)


def format_likeness(candidate: Record, liked: Sequence[Record], spec: RecommendSpec) -> float:
    """Return the mean likeness of form: the same kind, a similar length."""
    if not liked or not spec.format_fields:
        return 0.0
    pairs = [_alike(candidate.get(field), one.get(field)) for one in liked for field in spec.format_fields]
    return sum(pairs) / len(pairs)


def popularity(candidate: float | None, *, most: float) -> float:
    """Return the logarithm of the popularity over that of the most popular."""
    if not candidate or most <= 0:
        return 0.0
    return min(math.log1p(candidate) / math.log1p(most), 1.0)


def blend(signals: Signals, spec: RecommendSpec) -> float:
    """Return the weighted mean of the signals."""
    weighted = [
        (spec.semantic, signals.semantic),
        (spec.taxonomy, signals.taxonomy),
        (spec.temporal, signals.temporal),
        (spec.format, signals.format),
    ]
    content_weight = sum(weight for weight, _ in weighted) or 1.0
    content = sum(weight * signal for weight, signal in weighted) / content_weight
    if signals.popularity is None:
        return content
    return (1 - spec.popularity) * content + spec.popularity * signals.popularity


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def _alike(one: object, other: object) -> float:
    """Return 1 for the same value, for numbers the smaller over the greater."""
    if one is None or other is None:
        return 0.0
    if isinstance(one, int | float) and isinstance(other, int | float):
        greater = max(abs(one), abs(other))
        return min(abs(one), abs(other)) / greater if greater else 1.0
    return float(one == other)
