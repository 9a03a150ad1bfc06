"""The weight of words in a blend, by the share of the query that they cover."""

import numpy as np
import pytest

from stackroom.catalogue.spec import SearchSpec
from stackroom.model.hits import build_ranking
from stackroom.search.fuse import Candidates, blend_steps, line_up

pytestmark = pytest.mark.row("T2")

QUERY = np.array([1.0, 0.0], dtype=np.float32)
BY_COVERAGE = SearchSpec(vector_weight=0.5, by_coverage=True, feedback_weight=0.0, smoothing_weight=0.0)


def found(*, full_score: float) -> Candidates:
    """Line up a record that only the words found, with a score of 4, and one that is only near."""
    return line_up(
        np.array([1, 2]),
        lexical=build_ranking([1], [4.0], limit=1),
        names={},
        nearest=build_ranking([2], [0.6], limit=1),
        vectors=np.array([[0.3, 0.95], [0.6, 0.8]], dtype=np.float32),
        query=QUERY,
        known=np.zeros(2),
        named=np.zeros(2),
        full_score=full_score,
    )


@pytest.mark.parametrize(("full_score", "is_first_by_words"), [(4.0, True), (2.0, True), (8.0, False)])
def test_a_record_with_few_of_the_words_stands_below_a_near_one(full_score: float, is_first_by_words: bool) -> None:
    by_words, near = blend_steps(found(full_score=full_score), QUERY, BY_COVERAGE).scores()
    assert bool(by_words > near) is is_first_by_words


def test_coverage_does_not_count_where_it_is_not_declared() -> None:
    spec = SearchSpec(vector_weight=0.5, feedback_weight=0.0, smoothing_weight=0.0)

    def scores(full_score: float) -> list[float]:
        return blend_steps(found(full_score=full_score), QUERY, spec).scores().tolist()

    assert scores(8.0) == scores(4.0)
