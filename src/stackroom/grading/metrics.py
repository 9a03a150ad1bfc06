"""Ranking metrics, figures of quality, and the confidence intervals of their means."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from stackroom.frozen import frozen

RESAMPLES = 2_000

IdT = TypeVar("IdT", bound=Hashable)
DIGITS = 4
FIRST = 10
NDCG, MRR = "ndcg_10", "mrr_10"


@frozen
class Figure:
    """A mean or share with its 95 % interval, and one value for each question where these are
    kept.
    """

    mean: float
    low: float
    high: float
    lower_is_better: bool = False
    values: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def ndcg(ranked: Sequence[IdT], gains: Mapping[IdT, float], *, depth: int) -> float:
    """Return the normalised discounted cumulative gain, by the grades themselves as in trec_eval
    and BEIR.
    """
    gain = sum(gains.get(one, 0) / math.log2(rank + 2) for rank, one in enumerate(ranked[:depth]))
    best_first = sorted(gains.values(), reverse=True)[:depth]
    ideal = sum(best / math.log2(rank + 2) for rank, best in enumerate(best_first))
    return gain / ideal if ideal else 0.0


def recall(ranked: Sequence[IdT], relevant: Collection[IdT], *, depth: int) -> float:
    """Return the share of relevant documents among the first `depth`."""
    return len(set(ranked[:depth]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[IdT], relevant: Collection[IdT], *, depth: int) -> float:
    """Return the reciprocal rank of the first relevant document, 0 if none is among the first
    `depth`.
    """
    return next(
        (1 / rank for rank, one in enumerate(ranked[:depth], start=1) if one in relevant), 0.0
    )


def build_figure(values: Sequence[float], *, lower_is_better: bool = False) -> Figure:
    """Return the mean of the questions' values with its bootstrap interval."""
    sample = np.asarray(values)
    generator = np.random.default_rng(0)
    means = sample[generator.integers(0, len(sample), (RESAMPLES, len(sample)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Figure(
        mean=float(sample.mean()),
        low=float(low),
        high=float(high),
        lower_is_better=lower_is_better,
        values=tuple(round(float(value), DIGITS) for value in values),
    )


Quality = Mapping[str, Figure]
"""The figures of one way to rank, by the names of the metrics."""


def measure(
    judged: Sequence[tuple[Sequence[IdT], Mapping[IdT, float]]], *, depth: int
) -> dict[str, Figure]:
    """Return nDCG@10, the recall at a depth and MRR@10 of rankings, each with the gains of what
    answers it.
    """
    return {
        NDCG: build_figure([ndcg(ranked, gains, depth=FIRST) for ranked, gains in judged]),
        f"recall_{depth}": build_figure(
            [recall(ranked, gains, depth=depth) for ranked, gains in judged]
        ),
        MRR: build_figure(
            [reciprocal_rank(ranked, gains, depth=FIRST) for ranked, gains in judged]
        ),
    }


def figure_json(figure: Figure) -> dict[str, float]:
    """Return a mean and its interval as JSON has them."""
    return {name: round(getattr(figure, name), DIGITS) for name in ("mean", "low", "high")}
