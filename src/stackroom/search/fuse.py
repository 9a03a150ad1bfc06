"""Candidates of a search, as arrays over the same records, and their fusion into one score each.

Scores are 0–1, where 1 is the best a record could reach with the arms that ran. `rank_steps` is the
classic, by reciprocal ranks. `blend_steps` is the default and measures better
(`docs/reference/quality.md`): a weighted sum of both arms' scores, relevance feedback that moves
the query towards the best hits, and a share of the neighbours' scores. Both keep the score after
each of their steps, so that one candidate's score can be explained by what each step added.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import Fusion, SearchSpec
from stackroom.frozen import frozen
from stackroom.model.hits import MatchType, Ranking
from stackroom.model.record import Key
from stackroom.model.vectors import Vector

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]
MOOD_SHARE = 0.6  # the share of moods in the score of a query that is about them


@frozen
class Candidates:
    """One row per record.

    `name` is 1 for a record with the query as its name, less for a similar name; `lexical` is the
    score of the words over the best, or of the name; `cosine` is to the query, zeros if there is no
    vector arm; `vectors` are the records' own; `known` is how much is known of each; `named` is the
    share of the values named by the query (genres, themes) that a record has. The last two are
    zeros where the catalogue or the query has none.
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
    # the share of the query's words that each record has, each word weighed by its rarity
    share: Floats
    mood: Floats | None = None
    """How well each record meets the moods of the query, or None if the query has none."""
    is_mood: bool = False  # whether the query is about nothing else
    covered: float = 1.0
    """The BM25 score of the best record divided by that of a record with every word of the query,
    at most 1.
    """
    awaiting: NDArray[np.bool_] | None = None
    """The records without a vector yet, for which words count in both arms; None if all
    have one.
    """

    @property
    def has_cosines(self) -> bool:
        """Tell whether the vector arm ran."""
        return bool(self.vectors.shape[1])

    def match_types(self, rows: NDArray[np.intp]) -> list[MatchType]:
        """Tell which arms found each of these records."""
        by_words, by_vector = self.lexical[rows] > 0, self.in_vector_arm[rows]
        return [
            MatchType.VECTOR if not has_words else MatchType.HYBRID if is_near else MatchType.FTS
            for has_words, is_near in zip(by_words, by_vector, strict=True)
        ]


def candidate_keys(*arms: Keys) -> Keys:
    """Return the keys that any arm found, each once, in order."""
    keys = np.concatenate(arms)
    keys.sort()
    is_first = np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)]
    return keys[is_first]  # `np.unique` takes several times as long for a few hundred


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
    having: Ranking | None = None,
    mood: Floats | None = None,
    is_mood: bool = False,
    full_score: float = 0.0,
    some_await_vectors: bool = False,
) -> Candidates:
    """Align the results of the arms by key; `keys` are those of `candidate_keys`.

    `having` has the weights of the words that records have; those of other records are no more than
    its least. `full_score` is the score by BM25 of a record of average length that has every word
    of the query; 0: not known. `some_await_vectors` says that the catalogue is being embedded, so
    that a missing vector is still to come.
    """
    bm25 = np.zeros(len(keys))
    bm25[keys.searchsorted(lexical.keys)] = lexical.scores
    name = np.zeros(len(keys))
    if names:
        name[keys.searchsorted(list(names))] = list(names.values())
    in_vector_arm = np.zeros(len(keys), dtype=bool)
    in_vector_arm[keys.searchsorted(nearest.keys)] = True
    covered = min(float(bm25.max(initial=0.0)) / full_score, 1.0) if full_score else 1.0
    return Candidates(
        keys=keys,
        bm25=bm25,
        share=_shares(keys, bm25, having, full_score),
        name=name,
        # few words do not beat a name
        lexical=np.maximum(over_best(bm25) * (covered if names else 1.0), name),
        cosine=np.zeros(len(keys)) if query is None else (vectors @ query).astype(np.float64),
        in_vector_arm=in_vector_arm,
        vectors=vectors,
        known=known,
        named=named,
        mood=mood,
        is_mood=is_mood,
        covered=covered,
        awaiting=np.all(vectors == 0, axis=1) if some_await_vectors and query is not None else None,
    )


ROUNDED = 6  # the digits of a share: the index adds weights with few digits


def _shares(keys: Keys, bm25: Floats, having: Ranking | None, full_weight: float) -> Floats:
    shares = np.zeros(len(keys))
    if having is None or not len(having.keys) or not len(keys):
        return shares
    shares[bm25 > 0] = having.scores[-1]
    among = np.minimum(keys.searchsorted(having.keys), len(keys) - 1)
    found = keys[among] == having.keys
    shares[among[found]] = having.scores[found]
    return np.minimum((shares / full_weight).round(ROUNDED), 1.0) if full_weight else shares


def shorten_little_known(vectors: Vector, known: Floats, discount: float) -> Vector:
    """Return the vectors, shortened for records of which little is known: every query is near to a
    text of few words.
    """
    lengths = (1 - discount * (1 - known[:, None])).astype(np.float32)
    return vectors * lengths if discount else vectors


def over_best(scores: Floats) -> Floats:
    """Return the scores divided by the best, negative ones as 0."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0) / best if best > 0 else np.zeros(len(scores))


# the steps of a fusion
WORDS, MEANING, FEEDBACK, NEIGHBOURS = "words", "meaning", "feedback", "neighbours"
NAME, KNOWN, NAMED_VALUES, EXACT_NAME, MOOD = "name", "known", "named_values", "exact_name", "mood"
"""The parts that are added to the result of the steps."""


@frozen
class FusionSteps:
    """The scores of all candidates after each step of a fusion, by the step's name, before priors
    are added.
    """

    candidates: Candidates
    spec: SearchSpec
    steps: Mapping[str, Floats]

    def scores(self) -> Floats:
        """Return the last scores, plus priors: how well known each record is, and which values
        named by the query it has.

        A query that is a name ranks the records of that name first, whatever their vectors are.
        """
        mood, last = self.candidates.mood, list(self.steps.values())[-1]
        felt = last if mood is None else (1 - MOOD_SHARE) * last + MOOD_SHARE * mood
        matched = np.maximum(felt, self.candidates.name)
        known = self.spec.known_weight * self.candidates.known
        priors = known + self.spec.named_weight * self.candidates.named
        ranked: Floats = ((matched + priors) / self._weight() + (self.candidates.name == 1.0)) / 2
        return ranked

    def parts_at(self, row: int) -> dict[str, float]:
        """Return what each step, the name and the priors added to one candidate's score; the sum is
        the score.
        """
        candidates, parts, reached = self.candidates, dict[str, float](), 0.0
        share = 0.0 if candidates.mood is None else MOOD_SHARE
        for name, scores in self.steps.items():
            parts[name], reached = (1 - share) * (float(scores[row]) - reached), float(scores[row])
        if candidates.mood is not None:
            parts[MOOD] = share * float(candidates.mood[row])
        parts[NAME] = max(float(candidates.name[row]) - sum(parts.values()), 0.0)
        parts[KNOWN] = self.spec.known_weight * float(candidates.known[row])
        parts[NAMED_VALUES] = self.spec.named_weight * float(candidates.named[row])
        halved = {name: part / self._weight() / 2 for name, part in parts.items()}
        return {**halved, EXACT_NAME: float(candidates.name[row] == 1.0) / 2}

    def _weight(self) -> float:
        return 1 + self.spec.known_weight + self.spec.named_weight


def rank_steps(candidates: Candidates, query: Vector | None, spec: SearchSpec) -> FusionSteps:
    """Score by the sum of 1/(k + rank) over the arms that found the record."""
    arms = {WORDS: (candidates.lexical, candidates.lexical > 0)}
    if query is not None:
        arms[MEANING] = (candidates.cosine, candidates.in_vector_arm)
    total = np.zeros(len(candidates.keys))
    best_possible = len(arms) / (spec.rrf_k + 1)
    steps: dict[str, Floats] = {}
    for name, (arm, is_found) in arms.items():
        found = np.flatnonzero(is_found)
        ranked = found[np.lexsort((candidates.keys[found], -arm[found]))]
        total[ranked] += 1.0 / (spec.rrf_k + 1 + np.arange(len(ranked)))
        if name == MEANING and candidates.awaiting is not None:
            total[candidates.awaiting] *= len(arms)
        steps[name] = total / best_possible
    return FusionSteps(candidates=candidates, spec=spec, steps=steps)


def blend_steps(candidates: Candidates, query: Vector | None, spec: SearchSpec) -> FusionSteps:
    """Score by a weighted sum of both arms, with relevance feedback, and smoothed over
    neighbours.
    """
    if query is None or not len(candidates.keys):
        return FusionSteps(candidates=candidates, spec=spec, steps={WORDS: candidates.lexical})
    by_words = (1 - spec.vector_weight) * (candidates.covered**2 if spec.by_coverage else 1.0)
    both = (by_words + spec.vector_weight) or 1.0
    by_words, by_meaning = by_words / both, spec.vector_weight / both
    words = by_words * candidates.lexical
    first = words + by_meaning * _meaning(candidates, candidates.cosine)
    moved = _towards_best(candidates, query, first, spec)
    cosines = (candidates.vectors @ moved).astype(np.float64)
    second = words + by_meaning * _meaning(candidates, cosines)
    smoothed = _smoothed(candidates, second, spec)
    steps = {WORDS: words, MEANING: first, FEEDBACK: second, NEIGHBOURS: smoothed}
    return FusionSteps(candidates=candidates, spec=spec, steps=steps)


def _meaning(candidates: Candidates, cosines: Floats) -> Floats:
    """Return the scores by meaning; a record without a vector yet has the score of its words."""
    scores, awaiting = over_best(cosines), candidates.awaiting
    return scores if awaiting is None else np.where(awaiting, candidates.lexical, scores)


def _towards_best(
    candidates: Candidates, query: Vector, scores: Floats, spec: SearchSpec
) -> Vector:
    """Return the query moved towards the mean of the best answers (Rocchio's feedback)."""
    best = (-scores).argsort(kind="stable")[: spec.feedback_records]
    moved = query + spec.feedback_weight * candidates.vectors[best].mean(axis=0)
    unit: Vector = moved / max(math.sqrt(moved @ moved), 1e-12)
    return unit


def _smoothed(candidates: Candidates, scores: Floats, spec: SearchSpec) -> Floats:
    """Mix into each of the best scores a share of its nearest neighbours' among them, weighted by
    squared cosine.
    """
    best = (-scores).argsort(kind="stable")[: spec.smoothing_depth]
    if len(best) < 2:
        return scores
    vectors = candidates.vectors[best]
    near = vectors @ vectors.T
    # its own diagonal; `fill_diagonal` takes as long as the product
    near.ravel()[:: len(best) + 1] = -1.0
    count = min(spec.smoothing_neighbours, len(best) - 1)
    neighbours = (-near).argpartition(count - 1, axis=1)[:, :count]
    weights = np.maximum(near[np.arange(len(best))[:, None], neighbours], 0.0) ** 2
    low, high = scores[best].min(), scores[best].max()
    spread = (scores[best] - low) / (high - low) if high > low else np.ones(len(best))
    means = (weights * spread[neighbours]).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-12)
    if candidates.awaiting is not None:
        means = np.where(candidates.awaiting[best], spread, means)
    mixed = (1 - spec.smoothing_weight) * spread + spec.smoothing_weight * means
    smoothed: Floats = np.minimum(scores, low) * (1 - 1e-9)
    smoothed[best] = low + (1 - low) * mixed
    return smoothed


STEPS: Mapping[Fusion, Callable[[Candidates, Vector | None, SearchSpec], FusionSteps]] = {
    Fusion.BLEND: blend_steps,
    Fusion.RRF: rank_steps,
}
