"""Results of reads: scored keys, rankings, hits with the reasons for their rank."""

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stackroom.frozen import frozen
from stackroom.model.record import Key


class Scored(NamedTuple):
    """A record's key and its score in one ranking."""

    key: Key
    score: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The best of one ranking, best first, as two arrays side by side, and how many records matched
    in all.
    """

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    total: int

    def first(self, limit: int) -> "Ranking":
        """Return the first of it."""
        return Ranking(keys=self.keys[:limit], scores=self.scores[:limit], total=self.total)

    @property
    def best(self) -> tuple[Scored, ...]:
        """The same as pairs."""
        return tuple(map(Scored, map(Key, self.keys.tolist()), self.scores.tolist()))


def build_ranking(
    keys: ArrayLike, scores: ArrayLike, *, limit: int, total: int | None = None
) -> Ranking:
    """Sort by score, ties by key, and cut; `total` defaults to the number kept."""
    all_keys = np.asarray(keys, dtype=np.int64)
    all_scores = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((all_keys, -all_scores))[:limit]
    return Ranking(
        keys=all_keys[order], scores=all_scores[order], total=len(order) if total is None else total
    )


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Occurrences:
    """The values of a field in scope and the records that have them: record `keys[i]` has
    `values[indexes[i]]`.

    Spellings that compare as equal are one value, written as most records in scope write it. Each
    pair of a value and a record occurs once; the pairs are in no order.
    """

    values: Sequence[str]
    indexes: NDArray[np.int64]
    keys: NDArray[np.int64]


class MatchType(StrEnum):
    """The arms of the search that found a record."""

    FTS = "fts"
    VECTOR = "vector"
    HYBRID = "hybrid"


class SearchMode(StrEnum):
    """The arms of the search that ran."""

    HYBRID = "hybrid"
    FTS_ONLY = "fts_only"


class Label(StrEnum):
    """A grade of relevance; a record that does not answer the query has none."""

    IDENTICAL = "IDENTICAL"
    HIGHLY_SIMILAR = "HIGHLY_SIMILAR"
    SIMILAR = "SIMILAR"
    RELEVANT = "RELEVANT"

    @classmethod
    def of(cls, strength: float) -> "Label | None":
        """Return the label of a strength; labels begin at the same strength in every catalogue."""
        return LABELS[bisect(LABEL_STEPS, strength)]


IDENTICAL_AT = 0.97
LABEL_STEPS = (0.5, 0.7, 0.85, IDENTICAL_AT)  # the strengths from which the labels begin
LABELS = (None, Label.RELEVANT, Label.SIMILAR, Label.HIGHLY_SIMILAR, Label.IDENTICAL)


class Evidence(StrEnum):
    """How well an answer as a whole answers the query."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"

    @classmethod
    def of(cls, strength: float) -> "Evidence":
        """Return the evidence of the strongest record of an answer."""
        if strength >= STRONG_AT:
            return cls.STRONG
        return cls.WEAK if strength >= EVIDENCE_AT else cls.NONE

    @classmethod
    def of_best(cls, scores: NDArray[np.float64]) -> "Evidence":
        """Return the evidence of the first of these strengths; none of none."""
        return cls.of(float(scores[0])) if len(scores) else cls.NONE

    @classmethod
    def best(cls, several: Iterable["Evidence"]) -> "Evidence":
        """Return the strongest of several; none of none."""
        return min(several, key=list(cls).index, default=cls.NONE)


EVIDENCE_AT = 0.5  # the strength from which a record is evidence; the label RELEVANT begins here
STRONG_AT = 0.7


@frozen
class Why:
    """An explanation of a hit: parts that add up to its score, and parts that add up to the score
    that orders it.
    """

    strength: Mapping[str, float]  # the parts of the score, by name
    order: Mapping[str, float]  # the parts of the score by which hits are ordered
    lacks: tuple[str, ...] = ()  # the terms of the query that the record does not have

    def told(self) -> dict[str, Any]:
        """Return it as answers have it."""
        return {
            "strength": rounded_parts(self.strength),
            "order": rounded_parts(self.order),
            "lacks": list(self.lacks),
        }


DECIMALS = 4


def rounded_parts(parts: Mapping[str, float]) -> dict[str, float]:
    """Return parts as they are shown: rounded so that they add up to their rounded sum, without
    those of 0.
    """
    shown = {name: value for name, part in parts.items() if (value := round(part, DECIMALS))}
    missing = round(sum(parts.values()), DECIMALS) - sum(shown.values())
    if shown:
        greatest = max(shown, key=lambda name: abs(shown[name]))
        shown[greatest] = round(shown[greatest] + missing, DECIMALS)
    return shown


@frozen
class Promises:
    """The second tier of the shelf's contract; a shelf of the first tier has none, and is exact in
    everything.
    """

    recall_at_10: float = 0.97
    """The share of the ten records nearest to a vector that are found, on average, with and without
    filters.
    """
    # totals up to this number are exact; from it on, there are at least as many
    totals_up_to: int = 10_000
    facets_up_to: int = 100_000
    """Values, and records in scope, are counted exactly up to this many records; of more, values in
    a sample.
    """

    def __str__(self) -> str:
        return (
            f"at least {self.recall_at_10:.0%} of the nearest records are found; totals are exact"
            f" up to {self.totals_up_to:,}, above that there may be more; values and figures of"
            f" more than {self.facets_up_to:,} records are of a sample"
        )
