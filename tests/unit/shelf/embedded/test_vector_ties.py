"""Rows that are equal, or at right angles to the query, are ranked as the obvious way would rank them."""

import numpy as np

from stackroom.shelf.embedded.vectors import build_vector_table

DIMENSION = 384


def unit(seed: int) -> np.ndarray:
    row = np.random.default_rng(seed).normal(size=DIMENSION)
    return (row / np.linalg.norm(row)).astype(np.float32)


def test_the_first_of_hundreds_of_equal_rows_come_first() -> None:
    exact = np.tile(unit(0), (500, 1))
    rows, _ = build_vector_table(exact).nearest(unit(0), mask=None, limit=5)
    assert rows.tolist() == [0, 1, 2, 3, 4]


def test_equal_rows_have_equal_cosines_wherever_they_stand() -> None:
    exact = np.tile(unit(1), (37, 1))
    _, cosines = build_vector_table(exact).nearest(unit(2), mask=None, limit=37)
    assert len(set(cosines.tolist())) == 1


def test_a_row_at_right_angles_to_the_query_is_ranked_with_a_cosine_of_nothing() -> None:
    exact = np.eye(2, DIMENSION, dtype=np.float32)
    rows, cosines = build_vector_table(exact).nearest(exact[0], mask=None, limit=2)
    assert rows.tolist() == [0, 1]
    assert cosines.tolist() == [1.0, 0.0]


def test_a_row_without_a_vector_is_not_ranked() -> None:
    exact = np.stack([unit(3), np.zeros(DIMENSION, np.float32)])
    rows, _ = build_vector_table(exact).nearest(unit(3), mask=None, limit=2)
    assert rows.tolist() == [0]
