"""Ranking metrics, and confidence intervals of their means."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

RESAMPLES = 2_000

IdT = TypeVar("IdT", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...] = field(default=(), repr=False)
    """The value of each query."""


def ndcg(ranked: Sequence[IdT], gains: Mapping[IdT, float], *, depth: int) -> float:
    """Return the normalised discounted cumulative gain.

    The gain of a document is its grade itself, as in trec_eval and BEIR's published figures, not 2 to the grade.
    """
    gain = sum(gains.get(one, 0) / math.log2(rank + 2) for rank, one in enumerate(ranked[:depth]))
    best_first = sorted(gains.values(), reverse=True)[:depth]
    ideal = sum(best / math.log2(rank + 2) for rank, best in enumerate(best_first))
    return gain / ideal if ideal else 0.0


def recall(ranked: Sequence[IdT], relevant: Collection[IdT], *, depth: int) -> float:
    """Return the share of relevant documents among the first `depth`."""
    return len(set(ranked[:depth]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[IdT], relevant: Collection[IdT], *, depth: int) -> float:
    """Return the reciprocal rank of the first relevant document, 0 if none is among the first `depth`."""
    return next((1 / rank for rank, one in enumerate(ranked[:depth], start=1) if one in relevant), 0.0)


def estimate(values: Sequence[float], *, seed: int = 0) -> Estimate:
    """Return the mean of per-query values with its bootstrap interval."""
    sample = np.asarray(values)
    generator = np.random.default_rng(seed)
    means = sample[generator.integers(0, len(sample), (RESAMPLES, len(sample)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(mean=float(sample.mean()), low=float(low), high=float(high), values=tuple(sample.tolist()))
