"""Candidates: what each arm found, side by side."""

import numpy as np
import pytest

from pinakes.model.hits import MatchType, Scored, TitleMatch
from pinakes.model.record import Key
from pinakes.search.candidates import candidate_keys, line_up, over_best

BY_WORDS = [Scored(Key(1), 4.0), Scored(Key(2), 1.0)]
BY_TITLE = [TitleMatch(Key(5), 0.9)]
NEAREST = [Scored(Key(2), 0.8), Scored(Key(3), 0.5)]


def test_every_record_has_one_row_in_the_order_the_arms_gave_them() -> None:
    assert candidate_keys(BY_WORDS, BY_TITLE, NEAREST) == (1, 2, 5, 3)


@pytest.mark.row("A2")
def test_the_match_type_tells_which_arms_found_a_record() -> None:
    keys = candidate_keys(BY_WORDS, BY_TITLE, NEAREST)
    vectors = np.ones((4, 1), dtype=np.float32)
    query = np.ones(1, dtype=np.float32)
    lined = line_up(keys, lexical=BY_WORDS, titles=BY_TITLE, nearest=NEAREST, vectors=vectors, query=query)
    found = {key: lined.match_type(row) for row, key in enumerate(keys)}
    assert found == {1: MatchType.FTS, 2: MatchType.HYBRID, 5: MatchType.FTS, 3: MatchType.VECTOR}


def test_a_like_title_counts_as_the_lexical_arm_s_and_the_more_the_liker_it_is() -> None:
    titles = [TitleMatch(Key(1), 0.8), TitleMatch(Key(2), 1.0)]
    lined = line_up(
        (Key(1), Key(2)), lexical=[], titles=titles, nearest=[], vectors=np.zeros((2, 0), np.float32), query=None
    )
    assert lined.lexical.tolist() == pytest.approx([0.5, 1.0])
    assert lined.cosine.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("scores", "relative"), [([4.0, 1.0], [1.0, 0.25]), ([0.0, 0.0], [0, 0]), ([-1.0, 2.0], [0, 1]), ([], [])]
)
def test_scores_are_taken_over_the_best_and_never_below_nothing(scores: list[float], relative: list[float]) -> None:
    assert over_best(np.array(scores)).tolist() == relative
