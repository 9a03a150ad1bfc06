"""Fusion: what each arm found, side by side, becomes one score a record."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.spec import Fusion, SearchSpec
from stackroom.model.hits import MatchType, build_ranking
from stackroom.model.record import Key
from stackroom.search.fuse import (
    STEPS,
    Candidates,
    blend_steps,
    candidate_keys,
    line_up,
    over_best,
)

SPEC = SearchSpec()
QUERY = np.array([1.0, 0.0], dtype=np.float32)


def towards(cosine: float) -> list[float]:
    """Return a unit vector with that cosine to the query."""
    return [cosine, float(np.sqrt(1 - cosine**2))]


def found(
    *,
    words: Mapping[int, float],
    near: Mapping[int, float],
    names: Mapping[int, float] | None = None,
    known: Mapping[int, float] | None = None,
    named: Mapping[int, float] | None = None,
    has_vectors: bool = True,
    full_score: float = 0.0,
) -> Candidates:
    """Line up BM25 scores, cosines, likenesses of names, how much is known and named values, each
    by key.
    """
    lexical = build_ranking(list(words), list(words.values()), limit=len(words))
    nearest = build_ranking(list(near), list(near.values()), limit=len(near))
    alike = {Key(key): likeness for key, likeness in (names or {}).items()}
    keys = candidate_keys(lexical.keys, np.array(list(alike), dtype=np.int64), nearest.keys)
    vectors = np.array(
        [towards(near.get(key, 0.0)) for key in keys.tolist()], dtype=np.float32
    ).reshape(len(keys), 2)
    return line_up(
        keys,
        lexical=lexical,
        names=alike,
        nearest=nearest,
        vectors=vectors if has_vectors else vectors[:, :0],
        query=QUERY if has_vectors else None,
        known=np.array([(known or {}).get(key, 0.0) for key in keys.tolist()]),
        named=np.array([(named or {}).get(key, 0.0) for key in keys.tolist()]),
        full_score=full_score,
    )


def by_key(candidates: Candidates, scores: np.ndarray) -> dict[int, float]:
    return {int(key): float(score) for key, score in zip(candidates.keys, scores, strict=True)}


@pytest.mark.row("A4")
@pytest.mark.parametrize("fusion", list(Fusion))
def test_a_record_that_is_best_in_everything_has_the_score_one(fusion: Fusion) -> None:
    everything = found(
        words={1: 3.0}, near={1: 0.8}, names={1: 1.0}, known={1: 1.0}, named={1: 1.0}
    )
    for query in (QUERY, None):
        (score,) = STEPS[fusion](everything, query, SPEC).scores()
        assert score == pytest.approx(1.0)


@pytest.mark.row("A4")
@pytest.mark.parametrize("fusion", list(Fusion))
@pytest.mark.parametrize(
    ("more", "spec", "first"),
    [
        ({"known": {1: 0.1, 2: 0.9}}, SPEC, 2),
        ({"known": {1: 0.1, 2: 0.9}}, SearchSpec(known_weight=0.0), 1),
        ({"named": {2: 1.0}}, SPEC, 2),
    ],
)
def test_of_records_that_match_equally_the_better_known_or_with_the_named_values_comes_first(
    fusion: Fusion, more: dict[str, Any], spec: SearchSpec, first: int
) -> None:
    alike = found(words={1: 3.0, 2: 3.0}, near={1: 0.8, 2: 0.8}, **more)
    scores = by_key(alike, STEPS[fusion](alike, QUERY, spec).scores())
    assert max(scores, key=lambda key: scores[key]) == first


@pytest.mark.parametrize("fusion", list(Fusion))
def test_a_record_found_by_both_arms_outranks_those_that_are_as_good_in_a_single_one(
    fusion: Fusion,
) -> None:
    candidates = found(words={1: 4.0, 2: 4.0}, near={1: 0.7, 3: 0.7})
    scores = by_key(candidates, STEPS[fusion](candidates, QUERY, SPEC).scores())
    assert scores[1] > max(scores[2], scores[3])


def test_without_a_query_vector_the_blend_goes_by_the_words() -> None:
    candidates = found(words={1: 8.0, 2: 2.0}, near={})
    scores = by_key(candidates, blend_steps(candidates, None, SPEC).scores())
    assert scores[2] / scores[1] == pytest.approx(0.25)


def test_the_blend_keeps_what_lies_below_its_smoothed_depth_below_it() -> None:
    spec = SearchSpec().model_copy(update={"smoothing_depth": 10})
    candidates = found(
        words={key: float(50 - key) for key in range(50)}, near=dict.fromkeys(range(50), 0.5)
    )
    scores = blend_steps(candidates, QUERY, spec).scores()
    order = np.argsort(-scores, kind="stable")
    assert scores[order[:10]].min() >= scores[order[10:]].max()


def test_feedback_moves_the_query_towards_what_the_best_answers_share() -> None:
    candidates = found(words={1: 5.0}, near={1: 0.6, 2: 0.59, 3: 0.58})
    still = blend_steps(
        candidates, QUERY, SearchSpec(feedback_weight=0.0, smoothing_weight=0.0)
    ).scores()
    moved = blend_steps(
        candidates, QUERY, SearchSpec(feedback_weight=1.0, smoothing_weight=0.0)
    ).scores()
    assert not np.allclose(still, moved)


@pytest.mark.row("A2")
def test_the_match_type_tells_which_arms_found_a_record() -> None:
    candidates = found(words={1: 4.0, 2: 1.0}, near={2: 0.8, 3: 0.5}, names={5: 0.9})
    assert candidates.keys.tolist() == [1, 2, 3, 5]
    assert candidates.match_types(range(4)) == [
        MatchType.FTS,
        MatchType.HYBRID,
        MatchType.VECTOR,
        MatchType.FTS,
    ]


@pytest.mark.row("A4")
def test_a_record_found_by_words_and_by_name_has_the_better_of_both() -> None:
    candidates = found(words={1: 4.0, 2: 1.0}, near={}, names={2: 0.9}, has_vectors=False)
    assert candidates.lexical.tolist() == [1.0, 0.9]
    assert candidates.bm25.tolist() == [4.0, 1.0]
    assert candidates.name.tolist() == [0.0, 0.9]


@pytest.mark.parametrize(
    ("scores", "relative"),
    [([4.0, 1.0], [1.0, 0.25]), ([0.0, 0.0], [0, 0]), ([-1.0, 2.0], [0, 1]), ([], [])],
)
def test_scores_are_taken_over_the_best_and_never_below_nothing(
    scores: list[float], relative: list[float]
) -> None:
    assert over_best(np.array(scores)).tolist() == relative


@pytest.mark.row("T2")
@pytest.mark.parametrize(
    ("full_score", "by_coverage", "is_first_by_words"),
    [
        (4.0, True, True),
        (2.0, True, True),
        (8.0, True, False),
        (4.0, False, True),
        (8.0, False, True),
    ],
)
def test_a_record_with_few_of_the_words_stands_below_a_near_one_where_coverage_counts(
    full_score: float, by_coverage: bool, is_first_by_words: bool
) -> None:
    spec = SearchSpec(
        vector_weight=0.5, by_coverage=by_coverage, feedback_weight=0.0, smoothing_weight=0.0
    )
    candidates = found(words={1: 4.0}, near={1: 0.3, 2: 0.6}, full_score=full_score)
    by_words, near = blend_steps(candidates, QUERY, spec).scores()
    assert bool(by_words > near) is is_first_by_words
