"""The candidates of a search: the scores of each arm as arrays over the same records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinakes.model.hits import MatchType, Ranking, TitleMatch
from pinakes.model.vectors import Vector

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]

TITLE_FLOOR = 0.8
"""Titles less like the query than this are ignored."""

TITLE_ZERO = 0.6
"""The likeness at which a title's score is 0; it grows to 1 for the same title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """One row per record.

    `lexical` is the lexical arm's score over its best, 0 where it did not find the record; `cosine` is to the query,
    zeros where there is no vector arm; `vectors` are the records' own.
    """

    keys: Keys
    bm25: Floats
    title: Floats
    lexical: Floats
    cosine: Floats
    in_vector_arm: NDArray[np.bool_]
    vectors: Vector

    @property
    def has_cosines(self) -> bool:
        """Tell whether the vector arm ran."""
        return bool(self.vectors.shape[1])

    def match_types(self, rows: Sequence[int]) -> list[MatchType]:
        """Tell which arms found each of these records."""
        by_words = (self.lexical[rows] > 0).tolist()
        return [
            MatchType.VECTOR if not has_words else MatchType.HYBRID if is_near else MatchType.FTS
            for has_words, is_near in zip(by_words, self.in_vector_arm[rows].tolist(), strict=True)
        ]


def candidate_keys(lexical: Ranking, titles: Sequence[TitleMatch], nearest: Ranking) -> Keys:
    """Return the keys that any arm found, each once, in order."""
    of_titles = np.array([match.key for match in titles], dtype=np.int64)
    return np.unique(np.concatenate((lexical.keys, of_titles, nearest.keys)))


def line_up(
    keys: Keys,
    *,
    lexical: Ranking,
    titles: Sequence[TitleMatch],
    nearest: Ranking,
    vectors: Vector,
    query: Vector | None,
) -> Candidates:
    """Align the results of the arms by key; `keys` are those of `candidate_keys`."""
    bm25 = np.zeros(len(keys))
    bm25[np.searchsorted(keys, lexical.keys)] = lexical.scores
    title = np.zeros(len(keys))
    for match in titles:
        title[np.searchsorted(keys, match.key)] = (match.likeness - TITLE_ZERO) / (1 - TITLE_ZERO)
    in_vector_arm = np.zeros(len(keys), dtype=bool)
    in_vector_arm[np.searchsorted(keys, nearest.keys)] = True
    return Candidates(
        keys=keys,
        bm25=bm25,
        title=title,
        lexical=np.maximum(over_best(bm25), title),
        cosine=np.zeros(len(keys)) if query is None else (vectors @ query).astype(np.float64),
        in_vector_arm=in_vector_arm,
        vectors=vectors,
    )


def over_best(scores: Floats) -> Floats:
    """Return the scores divided by the best, negative ones as 0."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0) / best if best > 0 else np.zeros(len(scores))
