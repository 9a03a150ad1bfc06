"""Candidates: what each arm found, side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from stackroom.model.hits import MatchType, Ranking, build_ranking
from stackroom.model.record import Key
from stackroom.search.fuse import Candidates, candidate_keys, line_up, over_best

BY_WORDS = build_ranking([1, 2], [4.0, 1.0], limit=2)
BY_NAME = {Key(5): 0.9}
NEAREST = build_ranking([2, 3], [0.8, 0.5], limit=2)
NOTHING = build_ranking([], [], limit=0)


def lined_up(
    keys: Sequence[int], *, lexical: Ranking, names: Mapping[Key, float], nearest: Ranking, has_vectors: bool
) -> Candidates:
    """Line up these rankings; every vector and the query are the same."""
    return line_up(
        np.array(keys),
        lexical=lexical,
        names=names,
        nearest=nearest,
        vectors=np.ones((len(keys), int(has_vectors)), np.float32),
        query=np.ones(1, np.float32) if has_vectors else None,
        known=np.zeros(len(keys)),
        named=np.zeros(len(keys)),
    )


def test_every_record_has_one_row_in_key_order() -> None:
    assert candidate_keys(BY_WORDS.keys, np.array([5]), NEAREST.keys).tolist() == [1, 2, 3, 5]


@pytest.mark.row("A2")
def test_the_match_type_tells_which_arms_found_a_record() -> None:
    keys = [1, 2, 3, 5]
    lined = lined_up(keys, lexical=BY_WORDS, names=BY_NAME, nearest=NEAREST, has_vectors=True)
    found = dict(zip(keys, lined.match_types(range(len(keys))), strict=True))
    assert found == {1: MatchType.FTS, 2: MatchType.HYBRID, 5: MatchType.FTS, 3: MatchType.VECTOR}


@pytest.mark.row("A4")
def test_a_name_counts_in_the_lexical_arm_by_how_alike_it_is() -> None:
    names = {Key(1): 0.5, Key(2): 1.0}
    lined = lined_up([1, 2], lexical=NOTHING, names=names, nearest=NOTHING, has_vectors=False)
    assert lined.lexical.tolist() == [0.5, 1.0]
    assert lined.cosine.tolist() == [0.0, 0.0]
    assert not lined.has_cosines


@pytest.mark.row("A4")
def test_a_record_found_by_words_and_by_name_has_the_better_of_both() -> None:
    lined = lined_up([1, 2], lexical=BY_WORDS, names={Key(2): 0.9}, nearest=NOTHING, has_vectors=False)
    assert lined.lexical.tolist() == [1.0, 0.9]
    assert lined.bm25.tolist() == [4.0, 1.0]
    assert lined.name.tolist() == [0.0, 0.9]


@pytest.mark.parametrize(
    ("scores", "relative"), [([4.0, 1.0], [1.0, 0.25]), ([0.0, 0.0], [0, 0]), ([-1.0, 2.0], [0, 1]), ([], [])]
)
def test_scores_are_taken_over_the_best_and_never_below_nothing(scores: list[float], relative: list[float]) -> None:
    assert over_best(np.array(scores)).tolist() == relative
