"""Candidates: what each arm found, side by side."""

import numpy as np
import pytest

from pinakes.model.hits import MatchType, TitleMatch, build_ranking
from pinakes.model.record import Key
from pinakes.search.candidates import candidate_keys, line_up, over_best

BY_WORDS = build_ranking([1, 2], [4.0, 1.0], limit=2)
BY_TITLE = [TitleMatch(Key(5), 0.9)]
NEAREST = build_ranking([2, 3], [0.8, 0.5], limit=2)
NOTHING = build_ranking([], [], limit=0)


def test_every_record_has_one_row_in_key_order() -> None:
    assert candidate_keys(BY_WORDS, BY_TITLE, NEAREST).tolist() == [1, 2, 3, 5]


@pytest.mark.row("A2")
def test_the_match_type_tells_which_arms_found_a_record() -> None:
    keys = candidate_keys(BY_WORDS, BY_TITLE, NEAREST)
    vectors = np.ones((4, 1), dtype=np.float32)
    query = np.ones(1, dtype=np.float32)
    lined = line_up(keys, lexical=BY_WORDS, titles=BY_TITLE, nearest=NEAREST, vectors=vectors, query=query)
    found = dict(zip(keys.tolist(), lined.match_types(range(len(keys))), strict=True))
    assert found == {1: MatchType.FTS, 2: MatchType.HYBRID, 5: MatchType.FTS, 3: MatchType.VECTOR}


def test_a_like_title_counts_as_the_lexical_arm_s_and_the_more_the_liker_it_is() -> None:
    titles = [TitleMatch(Key(1), 0.8), TitleMatch(Key(2), 1.0)]
    lined = line_up(
        np.array([1, 2]),
        lexical=NOTHING,
        titles=titles,
        nearest=NOTHING,
        vectors=np.zeros((2, 0), np.float32),
        query=None,
    )
    assert lined.lexical.tolist() == pytest.approx([0.5, 1.0])
    assert lined.cosine.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("scores", "relative"), [([4.0, 1.0], [1.0, 0.25]), ([0.0, 0.0], [0, 0]), ([-1.0, 2.0], [0, 1]), ([], [])]
)
def test_scores_are_taken_over_the_best_and_never_below_nothing(scores: list[float], relative: list[float]) -> None:
    assert over_best(np.array(scores)).tolist() == relative
