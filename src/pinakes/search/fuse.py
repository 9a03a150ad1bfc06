"""Fusion: candidates → one score each, 0–1, where 1 is the best a record could reach with the arms that ran.

`reciprocal_rank` is the classic; `blend` is the default and measures better (`docs/quality.md`): a weighted sum of both
arms' scores, relevance feedback that moves the query towards the best hits, and a share of the neighbours' scores.
"""

from collections.abc import Callable, Mapping

import numpy as np

from pinakes.catalogue.spec import Fusion, SearchSpec
from pinakes.model.vectors import Vector
from pinakes.search.candidates import Candidates, Floats, over_best


def reciprocal_rank(candidates: Candidates, query: Vector | None, spec: SearchSpec) -> Floats:
    """Score by the sum of 1/(k + rank) over the arms that found the record."""
    arms = [(candidates.lexical, candidates.lexical > 0)]
    if query is not None:
        arms.append((candidates.cosine, candidates.in_vector_arm))
    total = np.zeros(len(candidates.keys))
    for arm, is_found in arms:
        found = np.flatnonzero(is_found)
        ranked = found[np.lexsort((candidates.keys[found], -arm[found]))]
        total[ranked] += 1.0 / (spec.rrf_k + 1 + np.arange(len(ranked)))
    best_possible = len(arms) / (spec.rrf_k + 1)
    return _with_priors(candidates, total / best_possible, spec)


def blend(candidates: Candidates, query: Vector | None, spec: SearchSpec) -> Floats:
    """Score by a weighted sum of both arms, with relevance feedback, smoothed over neighbours, and with priors."""
    if query is None or not len(candidates.keys):
        return _with_priors(candidates, candidates.lexical, spec)
    first = _weighted(candidates, candidates.cosine, spec)
    moved = _towards_best(candidates, query, first, spec)
    second = _weighted(candidates, (candidates.vectors @ moved).astype(np.float64), spec)
    return _with_priors(candidates, _smoothed(candidates, second, spec), spec)


def _with_priors(candidates: Candidates, scores: Floats, spec: SearchSpec) -> Floats:
    """Add how much is known of each record, and which of the values that the query names it has.

    A query that is a name ranks the records of that name first, whatever their vectors say.
    """
    matched = np.maximum(scores, candidates.name)
    priors = spec.known_weight * candidates.known + spec.named_weight * candidates.named
    mixed = (matched + priors) / (1 + spec.known_weight + spec.named_weight)
    ranked: Floats = (mixed + (candidates.name == 1.0)) / 2
    return ranked


def _weighted(candidates: Candidates, cosine: Floats, spec: SearchSpec) -> Floats:
    by_words = (1 - spec.vector_weight) * (candidates.covered**2 if spec.by_coverage else 1.0)
    weights = by_words + spec.vector_weight
    return (by_words * candidates.lexical + spec.vector_weight * over_best(cosine)) / (weights or 1.0)


def _towards_best(candidates: Candidates, query: Vector, scores: Floats, spec: SearchSpec) -> Vector:
    """Return the query moved towards the mean of the best answers (Rocchio's feedback)."""
    best = np.argsort(-scores, kind="stable")[: spec.feedback_records]
    moved = query + spec.feedback_weight * candidates.vectors[best].mean(axis=0)
    unit: Vector = moved / max(float(np.linalg.norm(moved)), 1e-12)
    return unit


def _smoothed(candidates: Candidates, scores: Floats, spec: SearchSpec) -> Floats:
    """Mix into each of the best scores a share of its nearest neighbours' among them, weighted by squared cosine."""
    best = np.argsort(-scores, kind="stable")[: spec.smoothing_depth]
    if len(best) < 2:
        return scores
    near = candidates.vectors[best] @ candidates.vectors[best].T
    np.fill_diagonal(near, -1.0)
    count = min(spec.smoothing_neighbours, len(best) - 1)
    neighbours = np.argpartition(-near, count - 1, axis=1)[:, :count]
    weights = np.maximum(np.take_along_axis(near, neighbours, axis=1), 0.0) ** 2
    spread = _spread(scores[best])
    means = (weights * spread[neighbours]).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-12)
    smoothed = scores * 0.0
    floor = scores[best].min()
    mixed = (1 - spec.smoothing_weight) * spread + spec.smoothing_weight * means
    smoothed[best] = floor + (1 - floor) * mixed
    rest = np.setdiff1d(np.arange(len(scores)), best, assume_unique=True)
    smoothed[rest] = np.minimum(scores[rest], floor) * (1 - 1e-9)
    return smoothed


def _spread(scores: Floats) -> Floats:
    """Return the scores stretched to 0–1."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


FUSIONS: Mapping[Fusion, Callable[[Candidates, Vector | None, SearchSpec], Floats]] = {
    Fusion.BLEND: blend,
    Fusion.RRF: reciprocal_rank,
}
