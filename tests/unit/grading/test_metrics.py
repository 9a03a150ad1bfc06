"""Ranking metrics: gains are the grades themselves, and intervals come from resampling."""

import math

import pytest

from stackroom.grading.metrics import build_figure, ndcg, recall, reciprocal_rank

GRADES = {"best": 3, "good": 2, "fair": 1}


def test_the_ideal_order_has_an_ndcg_of_one_and_ungraded_documents_add_nothing() -> None:
    assert ndcg(["best", "good", "fair"], GRADES, depth=10) == pytest.approx(1.0)
    assert ndcg(["best"], GRADES, depth=1) == pytest.approx(1.0)
    assert ndcg(["unknown"], GRADES, depth=10) == ndcg(["unknown"], {}, depth=10) == 0


def test_the_gain_of_a_document_is_its_grade_and_not_a_power_of_it() -> None:
    found = 1 + 3 / math.log2(3) + 2 / math.log2(4)
    ideal = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert ndcg(["fair", "best", "good"], GRADES, depth=10) == pytest.approx(found / ideal)


def test_grades_lower_the_score_of_a_ranking_that_begins_with_the_least_relevant() -> None:
    ranked = ["fair", "other", "best"]
    assert ndcg(ranked, GRADES, depth=10) < ndcg(ranked, dict.fromkeys(GRADES, 1), depth=10)


def test_recall_and_reciprocal_rank_count_every_graded_document_alike() -> None:
    ranked = ["other", "fair", "best"]
    assert recall(ranked, GRADES, depth=3) == pytest.approx(2 / 3)
    assert reciprocal_rank(ranked, GRADES, depth=3) == pytest.approx(1 / 2)


def test_an_estimate_keeps_the_value_of_each_query_and_an_interval_around_the_mean() -> None:
    found = build_figure([0.0, 1.0] * 50)
    assert found.values == (0.0, 1.0) * 50
    assert found.low < found.mean == 0.5 < found.high
