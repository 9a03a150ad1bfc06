"""The signals of a recommendation, each 0–1: how candidates compare with the titles someone likes.

Meaning and tags count by the nearest of the liked titles, since a taste is several things and not their average; year
and form count by the mean over them. Every function scores all candidates at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinakes.catalogue.spec import CatalogueSpec, RecommendSpec
from pinakes.model.record import Key
from pinakes.shelf.port import ShelfReader

Floats = NDArray[np.float64]
Terms = Sequence[frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """A candidate's signals; `popularity` is None where the spec has none."""

    semantic: float
    taxonomy: float
    temporal: float
    format: float
    popularity: float | None = None


def score_signals(
    reader: ShelfReader, candidates: Sequence[Key], cosines: Sequence[float], liked: Sequence[Key], spec: CatalogueSpec
) -> list[Signals]:
    """Return the signals of every candidate, from the shelf's columns."""
    recommend = spec.recommend or RecommendSpec()
    tags = taxonomy(_tags(reader, candidates, recommend), _tags(reader, liked, recommend))
    times = np.zeros(len(candidates))
    if recommend.temporal_field:
        field = recommend.temporal_field
        times = temporal(
            reader.numbers(field, candidates), reader.numbers(field, liked), sigma=recommend.temporal_sigma
        )
    forms = _form(reader, candidates, liked, spec)
    fame: Sequence[float | None] = [None] * len(candidates)
    if recommend.popularity:
        fame = popularity(reader.numbers(recommend.popularity_field, candidates)).tolist()
    semantic = np.clip(cosines, 0.0, 1.0).tolist()
    rows = zip(semantic, tags.tolist(), times.tolist(), forms.tolist(), fame, strict=True)
    return [Signals(semantic=a, taxonomy=b, temporal=c, format=d, popularity=e) for a, b, c, d, e in rows]


def taxonomy(candidates: Terms, liked: Terms) -> Floats:
    """Return for each candidate the greatest Jaccard similarity to the tags of a liked title."""
    return np.array([max((_jaccard(one, other) for other in liked), default=0.0) for one in candidates], dtype=float)


def temporal(candidates: Floats, liked: Floats, *, sigma: float) -> Floats:
    """Return for each candidate the mean nearness in time: 1 for the same year, falling as a Gaussian."""
    known = liked[~np.isnan(liked)]
    if not len(known):
        return np.zeros(len(candidates))
    nearness = np.exp(-((candidates[:, None] - known[None, :]) ** 2) / (2 * sigma**2))
    means: Floats = np.nan_to_num(nearness.mean(axis=1))
    return means


def same_terms(candidates: Terms, liked: Terms) -> Floats:
    """Return for each candidate on how great a share of the liked titles it has the same value."""
    shares = [sum(bool(one) and one == other for other in liked) / max(len(liked), 1) for one in candidates]
    return np.array(shares, dtype=float)


def near_numbers(candidates: Floats, liked: Floats) -> Floats:
    """Return for each candidate the mean of the smaller number over the greater; 0 where one is not known."""
    if not len(liked):
        return np.zeros(len(candidates))
    one, other = np.abs(candidates)[:, None], np.abs(liked)[None, :]
    greater = np.maximum(one, other)
    likeness = np.where(greater > 0, np.minimum(one, other) / np.where(greater > 0, greater, 1), 1.0)
    means: Floats = np.where(np.isnan(one + other), 0.0, likeness).mean(axis=1)
    return means


def popularity(candidates: Floats) -> Floats:
    """Return the logarithm of each popularity over that of the most popular."""
    logs: Floats = np.log1p(np.nan_to_num(np.maximum(candidates, 0)))
    most = logs.max(initial=0.0)
    return logs / most if most > 0 else logs


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


def _tags(reader: ShelfReader, keys: Sequence[Key], spec: RecommendSpec) -> list[frozenset[str]]:
    columns = [reader.terms(field, keys) for field in spec.taxonomy_fields]
    return [frozenset().union(*row) for row in zip(*columns, strict=True)] if columns else [frozenset()] * len(keys)


def _form(reader: ShelfReader, candidates: Sequence[Key], liked: Sequence[Key], spec: CatalogueSpec) -> Floats:
    """Return the mean likeness over the fields that make up the form."""
    fields = spec.recommend.format_fields if spec.recommend else ()
    scores = [
        near_numbers(reader.numbers(field, candidates), reader.numbers(field, liked))
        if spec.fields[field].is_numeric
        else same_terms(reader.terms(field, candidates), reader.terms(field, liked))
        for field in fields
    ]
    return np.mean(scores, axis=0) if scores else np.zeros(len(candidates))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
