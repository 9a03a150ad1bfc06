"""The candidates of a search: the scores of each arm as arrays over the same records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stackroom.model.hits import MatchType, Ranking
from stackroom.model.record import Key
from stackroom.model.vectors import Vector

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """One row per record.

    `name` is 1 for a record with the query as its name, less for a similar name; `lexical` is the score of the words
    over the best, or of the name; `cosine` is to the query, zeros where there is no vector arm; `vectors` are the
    records' own; `known` is how much is known of each; `named` is the share of the values named by the query (genres,
    themes) that a record has. The last two are zeros where the catalogue or the query has none.
    """

    keys: Keys
    bm25: Floats
    name: Floats
    lexical: Floats
    cosine: Floats
    in_vector_arm: NDArray[np.bool_]
    vectors: Vector
    known: Floats
    named: Floats
    covered: float = 1.0
    """The share of the query's words that the best record by words has."""
    awaiting: NDArray[np.bool_] | None = None
    """The records whose vector is still to come: words speak for both arms. None: no record's is."""

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


def candidate_keys(*arms: Keys) -> Keys:
    """Return the keys that any arm found, each once, in order."""
    return np.unique(np.concatenate(arms))


def line_up(
    keys: Keys,
    *,
    lexical: Ranking,
    names: Mapping[Key, float],
    nearest: Ranking,
    vectors: Vector,
    query: Vector | None,
    known: Floats,
    named: Floats,
    full_score: float = 0.0,
    some_await_vectors: bool = False,
) -> Candidates:
    """Align the results of the arms by key; `keys` are those of `candidate_keys`.

    `full_score` is the score by BM25 of a record of average length that has every word of the query; 0: not known.
    `some_await_vectors` says that the catalogue is being embedded, so that a missing vector is still to come.
    """
    bm25 = np.zeros(len(keys))
    bm25[np.searchsorted(keys, lexical.keys)] = lexical.scores
    name = np.zeros(len(keys))
    for key, likeness in names.items():
        name[np.searchsorted(keys, key)] = likeness
    in_vector_arm = np.zeros(len(keys), dtype=bool)
    in_vector_arm[np.searchsorted(keys, nearest.keys)] = True
    covered = min(float(bm25.max(initial=0.0)) / full_score, 1.0) if full_score else 1.0
    return Candidates(
        keys=keys,
        bm25=bm25,
        name=name,
        lexical=np.maximum(over_best(bm25) * (covered if names else 1.0), name),  # few words do not beat a name
        cosine=np.zeros(len(keys)) if query is None else (vectors @ query).astype(np.float64),
        in_vector_arm=in_vector_arm,
        vectors=vectors,
        known=known,
        named=named,
        covered=covered,
        awaiting=np.all(vectors == 0, axis=1) if some_await_vectors and query is not None else None,
    )


def discount_little_known(candidates: Candidates, query: Vector | None, discount: float) -> Candidates:
    """Return candidates whose vectors are shortened where little is known of a record."""
    if query is None or not discount:
        return candidates
    vectors = candidates.vectors * (1 - discount * (1 - candidates.known[:, None])).astype(np.float32)
    return replace(candidates, vectors=vectors, cosine=(vectors @ query).astype(np.float64))


def over_best(scores: Floats) -> Floats:
    """Return the scores divided by the best, negative ones as 0."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0) / best if best > 0 else np.zeros(len(scores))
