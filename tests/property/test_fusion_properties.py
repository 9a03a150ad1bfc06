"""Fusion, whatever the arms found."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.catalogue.spec import Fusion, SearchSpec
from stackroom.model.hits import build_ranking
from stackroom.model.record import Key
from stackroom.model.vectors import ModelId
from stackroom.search.evidence import Calibration, WeighedWords, weigh_evidence
from stackroom.search.fuse import STEPS, Candidates, candidate_keys, line_up, rank_steps
from stackroom.text.analyser import TextQuery

pytestmark = pytest.mark.row("A4")

SPEC = SearchSpec().model_copy(update={"smoothing_depth": 20})
KEYS = st.integers(1, 60)
QUERY = np.array([1, 0, 0, 0], dtype=np.float32)
WORDS = st.dictionaries(KEYS, st.floats(0.01, 50, allow_nan=False), max_size=40)
NAMES = st.dictionaries(KEYS, st.floats(0.0, 1.0), max_size=3)
PRIORS = st.integers(0, 1_000)
NEAR = st.sets(KEYS, max_size=40)


def vector_of(key: int) -> np.ndarray:
    row = np.random.default_rng(key).normal(size=4)
    return (row / np.linalg.norm(row)).astype(np.float32)


def lined_up(
    words: dict[int, float], names: dict[int, float], near: set[int], *, priors: int | None = None
) -> Candidates:
    """Line up what was found, with priors drawn from this seed, or without."""
    lexical = build_ranking(list(words), list(words.values()), limit=len(words))
    nearest = build_ranking(
        list(near), [float(vector_of(key) @ QUERY) for key in near], limit=len(near)
    )
    keys = candidate_keys(lexical.keys, np.array(list(names), dtype=np.int64), nearest.keys)
    drawn = (
        np.zeros((2, len(keys)))
        if priors is None
        else np.random.default_rng(priors).uniform(size=(2, len(keys)))
    )
    return line_up(
        keys,
        lexical=lexical,
        names={Key(key): likeness for key, likeness in names.items()},
        nearest=nearest,
        vectors=np.array([vector_of(key) for key in keys], dtype=np.float32).reshape(len(keys), 4),
        query=QUERY,
        known=drawn[0],
        named=drawn[1],
    )


def reordered(candidates: Candidates, order: np.ndarray) -> Candidates:
    """Return the same candidates in other rows."""
    columns = {one.name: getattr(candidates, one.name) for one in fields(candidates)}
    return replace(
        candidates,
        **{
            name: column[order]
            for name, column in columns.items()
            if isinstance(column, np.ndarray)
        },
    )


@given(
    words=WORDS,
    names=NAMES,
    near=NEAR,
    fusion=st.sampled_from(list(Fusion)),
    by_words=st.booleans(),
    priors=PRIORS,
)
def test_scores_lie_between_nothing_and_one(
    words: dict[int, float],
    names: dict[int, float],
    near: set[int],
    fusion: Fusion,
    by_words: bool,
    priors: int,
) -> None:
    candidates = lined_up(words, names, near, priors=priors)
    scores = STEPS[fusion](candidates, None if by_words else QUERY, SPEC).scores()
    assert scores.shape == (len(candidates.keys),)
    assert ((scores >= 0) & (scores <= 1 + 1e-12)).all()


@given(words=WORDS, names=NAMES, near=NEAR, seed=st.integers(0, 1_000))
def test_reciprocal_rank_does_not_depend_on_the_order_of_the_rows(
    words: dict[int, float], names: dict[int, float], near: set[int], seed: int
) -> None:
    candidates = lined_up(words, names, near, priors=seed)
    order = np.random.default_rng(seed).permutation(len(candidates.keys))
    scores = rank_steps(candidates, QUERY, SPEC).scores()
    assert (
        rank_steps(reordered(candidates, order), QUERY, SPEC).scores().tolist()
        == scores[order].tolist()
    )


@given(words=WORDS, near=NEAR)
def test_reciprocal_rank_is_the_naive_sum_over_both_rankings(
    words: dict[int, float], near: set[int]
) -> None:
    candidates = lined_up(words, {}, near)
    scores = dict(zip(candidates.keys, rank_steps(candidates, QUERY, SPEC).scores(), strict=True))
    best_words = max(words.values(), default=1.0)
    by_words = sorted(words, key=lambda key: (-(words[key] / best_words), key))
    rows = {key: row for row, key in enumerate(candidates.keys)}
    by_meaning = sorted(near, key=lambda key: (-candidates.cosine[rows[key]], key))
    naive = {
        key: sum(
            1 / (61 + ranking.index(key)) for ranking in (by_words, by_meaning) if key in ranking
        )
        for key in candidates.keys
    }
    for key in candidates.keys:
        assert scores[key] / max(scores.values()) == pytest.approx(naive[key] / max(naive.values()))


@given(words=WORDS, fusion=st.sampled_from(list(Fusion)))
def test_a_better_lexical_score_never_lowers_a_record_among_those_without_vectors(
    words: dict[int, float], fusion: Fusion
) -> None:
    candidates = lined_up(words, {}, set())
    scores = STEPS[fusion](candidates, None, SPEC).scores()
    order = np.argsort(-candidates.bm25, kind="stable")
    assert (np.diff(scores[order]) <= 1e-12).all()


@given(
    words=WORDS,
    names=NAMES,
    near=NEAR,
    fusion=st.sampled_from(list(Fusion)),
    priors=PRIORS,
    typed=KEYS,
)
def test_a_record_with_the_query_as_its_name_is_above_every_other(
    words: dict[int, float],
    names: dict[int, float],
    near: set[int],
    fusion: Fusion,
    priors: int,
    typed: int,
) -> None:
    others = {key: min(likeness, 0.99) for key, likeness in names.items()}
    candidates = lined_up(words, {**others, typed: 1.0}, near, priors=priors)
    scores = STEPS[fusion](candidates, QUERY, SPEC).scores()
    assert candidates.keys[scores.argmax()] == typed
    assert (scores == scores.max()).sum() == 1


@pytest.mark.row("N3")
@given(
    words=WORDS,
    names=NAMES,
    near=NEAR,
    fusion=st.sampled_from(list(Fusion)),
    by_words=st.booleans(),
    priors=PRIORS,
)
def test_the_parts_of_a_fused_score_add_up_to_it(
    words: dict[int, float],
    names: dict[int, float],
    near: set[int],
    fusion: Fusion,
    by_words: bool,
    priors: int,
) -> None:
    candidates = lined_up(words, names, near, priors=priors)
    steps = STEPS[fusion](candidates, None if by_words else QUERY, SPEC)
    sums = [sum(steps.parts_at(row).values()) for row in range(len(candidates.keys))]
    assert sums == pytest.approx(steps.scores().tolist(), abs=1e-9)


@pytest.mark.row("N3")
@given(
    words=WORDS,
    names=NAMES,
    near=NEAR,
    priors=PRIORS,
    middle=st.floats(-0.5, 1.0),
    is_calibrated=st.booleans(),
    term=st.sampled_from(["robot", "宇宙"]),
    record_count=st.integers(0, 1_000),
)
def test_the_parts_of_a_strength_add_up_to_it(
    words: dict[int, float],
    names: dict[int, float],
    near: set[int],
    priors: int,
    middle: float,
    is_calibrated: bool,
    term: str,
    record_count: int,
) -> None:
    candidates = lined_up(words, names, near, priors=priors)
    query = TextQuery(terms=((term, 1.0), ("b", 1.0)))
    asked = WeighedWords(query, {term: 9.0, "b": 4.0}, frozenset({"b"}), query)
    calibration = Calibration(model=ModelId(name="m", dimension=4), middle=middle, spread=0.05)
    evidence = weigh_evidence(
        candidates, asked, calibration if is_calibrated else None, record_count=record_count
    )
    sums = [sum(evidence.parts_at(row).values()) for row in range(len(candidates.keys))]
    assert sums == pytest.approx(evidence.strengths().tolist(), abs=1e-9)
