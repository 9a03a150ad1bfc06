"""Nearest vectors, against a plain comparison with every row."""

import dataclasses

import numpy as np
import pytest

from stackroom.model.vectors import Vector
from stackroom.shelf.columns import Mask
from stackroom.shelf.embedded import vectors as module
from stackroom.shelf.embedded.vectors import VectorTable, _top, build_sketches, build_vector_table

ROWS = 6_000
DIMENSION = 64
LONG = 384


def clustered(rows: int, seed: int = 1) -> Vector:
    """Vectors in neighbourhoods, as embeddings are."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((40, DIMENSION))
    moved = centres[generator.integers(40, size=rows)] + 0.6 * generator.standard_normal(
        (rows, DIMENSION)
    )
    return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)


def exact_nearest(table: Vector, query: Vector, mask: Mask | None, limit: int) -> list[int]:
    rows = np.arange(len(table)) if mask is None else np.flatnonzero(mask)
    cosines = table[rows] @ query
    return [int(row) for row in rows[np.lexsort((rows, -cosines))[:limit]]]


@pytest.fixture(scope="module")
def table() -> VectorTable:
    return build_vector_table(clustered(ROWS))


@pytest.fixture
def sketched(table: VectorTable, monkeypatch: pytest.MonkeyPatch) -> VectorTable:
    monkeypatch.setattr(module, "SKETCHES_ABOVE", 500)
    monkeypatch.setattr(module, "PRESELECTED_AT_LEAST", 600)
    return dataclasses.replace(table, sketches=build_sketches(table.exact))


@pytest.mark.parametrize("share", [None, 0.5, 0.2, 0.05])
def test_sketches_lose_hardly_anything_and_nothing_outside_the_filter(
    sketched: VectorTable, share: float | None
) -> None:
    mask = None if share is None else np.random.default_rng(2).random(ROWS) < share
    found = 0
    for query in clustered(50, seed=3):
        ((rows, _),) = sketched.nearest_each(query[None, :], mask=mask, limit=10)
        assert mask is None or mask[rows].all()
        found += len(set(rows.tolist()) & set(exact_nearest(sketched.exact, query, mask, 10)))
    assert found >= 0.97 * 500


def unit(seed: int) -> np.ndarray:
    row = np.random.default_rng(seed).normal(size=LONG)
    return (row / np.linalg.norm(row)).astype(np.float32)


def test_the_first_of_hundreds_of_equal_rows_come_first() -> None:
    exact = np.tile(unit(0), (500, 1))
    ((rows, _),) = build_vector_table(exact).nearest_each(unit(0)[None, :], mask=None, limit=5)
    assert rows.tolist() == [0, 1, 2, 3, 4]


def test_equal_rows_have_equal_cosines_wherever_they_stand() -> None:
    exact = np.tile(unit(1), (37, 1))
    ((_, cosines),) = build_vector_table(exact).nearest_each(unit(2)[None, :], mask=None, limit=37)
    assert len(set(cosines.tolist())) == 1


def test_a_row_without_a_vector_is_not_ranked() -> None:
    exact = np.stack([unit(3), np.zeros(LONG, np.float32)])
    ((rows, _),) = build_vector_table(exact).nearest_each(unit(3)[None, :], mask=None, limit=2)
    assert rows.tolist() == [0]


def test_the_best_scores_of_many_are_those_of_a_sort_and_of_equal_ones_the_first() -> None:
    rng = np.random.default_rng(3)
    for size, limit in [(5_000, 20), (161, 20), (160, 20), (4_001, 200), (20_000, 1)]:
        for scores in (rng.normal(size=size), rng.integers(0, 9, size=size)):
            wanted = np.sort(np.lexsort((np.arange(size), -scores))[:limit])
            assert np.sort(_top(scores.astype(np.float32), limit)).tolist() == wanted.tolist()
