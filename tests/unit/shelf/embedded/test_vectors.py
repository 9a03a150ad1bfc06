"""Nearest vectors, against a plain comparison with every row."""

import dataclasses

import numpy as np
import pytest

from stackroom.model.vectors import Vector
from stackroom.shelf.columns import Mask
from stackroom.shelf.embedded import vectors as module
from stackroom.shelf.embedded.sketches import build_sketches
from stackroom.shelf.embedded.vectors import VectorTable, build_vector_table

ROWS = 6_000
DIMENSION = 64


def clustered(rows: int, seed: int = 1) -> Vector:
    """Vectors in neighbourhoods, as embeddings are."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((40, DIMENSION))
    moved = centres[generator.integers(40, size=rows)] + 0.6 * generator.standard_normal((rows, DIMENSION))
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
        rows, _ = sketched.nearest(query, mask=mask, limit=10)
        assert mask is None or mask[rows].all()
        found += len(set(rows.tolist()) & set(exact_nearest(sketched.exact, query, mask, 10)))
    assert found >= 0.97 * 500
