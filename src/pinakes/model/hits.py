"""Results of reads: scored keys, rankings, hits with the reasons for their rank."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinakes.model.record import Key, Record


class Scored(NamedTuple):
    """A record's key and its score in one ranking."""

    key: Key
    score: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The best of one ranking, best first, as two arrays side by side, and how many records matched in all."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    total: int

    @property
    def best(self) -> tuple[Scored, ...]:
        """The same as pairs."""
        return tuple(
            Scored(Key(key), score) for key, score in zip(self.keys.tolist(), self.scores.tolist(), strict=True)
        )


def build_ranking(keys: ArrayLike, scores: ArrayLike, *, limit: int, total: int | None = None) -> Ranking:
    """Sort by score, ties by key, and cut; `total` defaults to the number kept."""
    all_keys = np.asarray(keys, dtype=np.int64)
    all_scores = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((all_keys, -all_scores))[:limit]
    return Ranking(keys=all_keys[order], scores=all_scores[order], total=len(order) if total is None else total)


class TitleMatch(NamedTuple):
    """A record with a name like the one asked for, and how alike the two are (0–1)."""

    key: Key
    likeness: float


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A value, and how many records in scope have it."""

    category: str
    value: str
    count: int


class MatchType(StrEnum):
    """The arms of the search that found a record."""

    FTS = "fts"
    VECTOR = "vector"
    HYBRID = "hybrid"


class SearchMode(StrEnum):
    """The arms of the search that ran."""

    HYBRID = "hybrid"
    FTS_ONLY = "fts_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One ranked record. `reasons` names each part of the score, for explanations."""

    key: Key
    record: Record
    score: float
    match_type: MatchType
    reasons: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The answer to a search: the hits, how many there are in all, and how they were found."""

    hits: tuple[Hit, ...]
    total_matches: int
    mode: SearchMode
    degraded: str | None = None
    """Why the search was not hybrid, or answered from stale data; None otherwise."""
