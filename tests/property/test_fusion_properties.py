"""Fusion, whatever the arms found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.catalogue.spec import Fusion, SearchSpec
from pinakes.model.hits import TitleMatch, build_ranking
from pinakes.model.record import Key
from pinakes.search.candidates import Candidates, candidate_keys, line_up
from pinakes.search.fuse import FUSIONS, reciprocal_rank

pytestmark = pytest.mark.row("A4")

SPEC = SearchSpec(smoothing_depth=20)
KEYS = st.integers(1, 60)
QUERY = np.array([1, 0, 0, 0], dtype=np.float32)
WORDS = st.dictionaries(KEYS, st.floats(0.01, 50, allow_nan=False), max_size=40)
TITLES = st.dictionaries(KEYS, st.floats(0.8, 1.0), max_size=3)
NEAR = st.sets(KEYS, max_size=40)


def vector_of(key: int) -> np.ndarray:
    row = np.random.default_rng(key).normal(size=4)
    return (row / np.linalg.norm(row)).astype(np.float32)


def lined_up(words: dict[int, float], titles: dict[int, float], near: set[int]) -> Candidates:
    lexical = build_ranking(list(words), list(words.values()), limit=len(words))
    alike = [TitleMatch(Key(key), likeness) for key, likeness in titles.items()]
    nearest = build_ranking(list(near), [float(vector_of(key) @ QUERY) for key in near], limit=len(near))
    keys = candidate_keys(lexical, alike, nearest)
    vectors = np.array([vector_of(key) for key in keys], dtype=np.float32).reshape(len(keys), 4)
    return line_up(keys, lexical=lexical, titles=alike, nearest=nearest, vectors=vectors, query=QUERY)


def reordered(candidates: Candidates, order: np.ndarray) -> Candidates:
    """Return the same candidates in other rows."""
    return Candidates(
        keys=candidates.keys[order],
        bm25=candidates.bm25[order],
        title=candidates.title[order],
        lexical=candidates.lexical[order],
        cosine=candidates.cosine[order],
        in_vector_arm=candidates.in_vector_arm[order],
        vectors=candidates.vectors[order],
    )


@given(words=WORDS, titles=TITLES, near=NEAR, fusion=st.sampled_from(list(Fusion)), by_words=st.booleans())
def test_scores_lie_between_nothing_and_one(
    words: dict[int, float], titles: dict[int, float], near: set[int], fusion: Fusion, by_words: bool
) -> None:
    candidates = lined_up(words, titles, near)
    scores = FUSIONS[fusion](candidates, None if by_words else QUERY, SPEC)
    assert scores.shape == (len(candidates.keys),)
    assert ((scores >= 0) & (scores <= 1 + 1e-12)).all()


@given(words=WORDS, titles=TITLES, near=NEAR, seed=st.integers(0, 1_000))
def test_reciprocal_rank_does_not_depend_on_the_order_of_the_rows(
    words: dict[int, float], titles: dict[int, float], near: set[int], seed: int
) -> None:
    candidates = lined_up(words, titles, near)
    order = np.random.default_rng(seed).permutation(len(candidates.keys))
    scores = reciprocal_rank(candidates, QUERY, SPEC)
    assert reciprocal_rank(reordered(candidates, order), QUERY, SPEC).tolist() == scores[order].tolist()


@given(words=WORDS, near=NEAR)
def test_reciprocal_rank_is_the_naive_sum_over_both_rankings(words: dict[int, float], near: set[int]) -> None:
    candidates = lined_up(words, {}, near)
    scores = dict(zip(candidates.keys, reciprocal_rank(candidates, QUERY, SPEC), strict=True))
    best_words = max(words.values(), default=1.0)
    by_words = sorted(words, key=lambda key: (-(words[key] / best_words), key))
    rows = {key: row for row, key in enumerate(candidates.keys)}
    by_meaning = sorted(near, key=lambda key: (-candidates.cosine[rows[key]], key))
    for key in candidates.keys:
        wanted = sum(1 / (61 + ranking.index(key)) for ranking in (by_words, by_meaning) if key in ranking)
        assert scores[key] == pytest.approx(wanted / (2 / 61))


@given(words=WORDS, titles=TITLES, near=NEAR, fusion=st.sampled_from(list(Fusion)))
def test_a_better_lexical_score_never_lowers_a_record_among_those_without_vectors(
    words: dict[int, float], titles: dict[int, float], near: set[int], fusion: Fusion
) -> None:
    candidates = lined_up(words, {}, set())
    scores = FUSIONS[fusion](candidates, None, SPEC)
    order = np.argsort(-candidates.bm25, kind="stable")
    assert (np.diff(scores[order]) <= 1e-12).all()
