"""Ranking metrics with binary judgements, and confidence intervals of their means."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def ndcg(ranked: Sequence[str], relevant: Collection[str], *, depth: int) -> float:
    """Return the normalised discounted cumulative gain."""
    gain = sum(1 / math.log2(rank + 2) for rank, one in enumerate(ranked[:depth]) if one in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(relevant))))
    return gain / ideal if ideal else 0.0


def recall(ranked: Sequence[str], relevant: Collection[str], *, depth: int) -> float:
    """Return the share of relevant documents among the first `depth`."""
    return len(set(ranked[:depth]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], *, depth: int) -> float:
    """Return the reciprocal rank of the first relevant document, 0 if none is among the first `depth`."""
    return next((1 / rank for rank, one in enumerate(ranked[:depth], start=1) if one in relevant), 0.0)


def estimate(values: Sequence[float], *, seed: int = 0) -> Estimate:
    """Return the mean of per-query values with its bootstrap interval."""
    sample = np.asarray(values)
    generator = np.random.default_rng(seed)
    means = sample[generator.integers(0, len(sample), (RESAMPLES, len(sample)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(mean=float(sample.mean()), low=float(low), high=float(high))
