"""The layout of points in the plane."""

import numpy as np
import pytest

from stackroom.maps.layout import (
    Repulsion,
    build_projection,
    lay_out,
    nearest_among,
)


def clustered(clusters: int, each: int) -> np.ndarray:
    chooser = np.random.default_rng(3)
    centres = chooser.normal(size=(clusters, 40))
    return (
        np.repeat(centres, each, axis=0) + 0.2 * chooser.normal(size=(clusters * each, 40))
    ).astype(np.float32)


def brute_force(points: np.ndarray, among: np.ndarray, count: int) -> list[set[int]]:
    distances = ((points[:, None, :].astype(np.float64) - among[None]) ** 2).sum(axis=2)
    return [set(np.argsort(row)[:count].tolist()) for row in distances]


@pytest.mark.parametrize("rows", [5, 31, 33, 200])
def test_the_nearest_rows_are_those_of_brute_force(rows: int) -> None:
    points = np.random.default_rng(rows).normal(size=(rows, 8)).astype(np.float32)
    others = [set(row.tolist()) for row in nearest_among(points, points, 4)]
    assert [one | {row} for row, one in enumerate(others)] == brute_force(points, points, 5)
    assert [set(row.tolist()) for row in nearest_among(points[:3], points, 4)] == brute_force(
        points[:3], points, 4
    )


def test_forces_on_a_grid_are_nearly_those_between_all_pairs() -> None:
    x, y = (np.random.default_rng(5).normal(size=(2, 600)) * 20).astype(np.float32)
    dx, dy = x[:, None] - x, y[:, None] - y
    nearness = 1 / (1 + dx * dx + dy * dy)
    squares, total = nearness * nearness, float(nearness.sum()) - len(x)
    exact, near = (
        ((squares * dx).sum(axis=1) / total, (squares * dy).sum(axis=1) / total),
        Repulsion().at(x, y),
    )
    for one, other in zip(exact, near, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.97
        assert float(np.abs(one - other).mean()) < 0.25 * float(np.abs(one).mean())


@pytest.mark.parametrize(("clusters", "each"), [(4, 20), (6, 60)], ids=["few", "many"])
def test_points_of_a_cluster_lie_together(clusters: int, each: int) -> None:
    vectors = clustered(clusters, each)
    layout = lay_out(build_projection(vectors).of(vectors))
    groups = np.repeat(np.arange(clusters), each)
    assert np.mean(groups[nearest_among(layout, layout, 8)] == groups[:, None]) > 0.98


def test_the_same_points_have_the_same_layout_and_a_start_is_resembled() -> None:
    points = build_projection(clustered(3, 20)).of(clustered(3, 20))
    first = lay_out(points)
    assert np.array_equal(first, lay_out(points))
    turned = first @ np.array([[0, 1], [-1, 0]], dtype=np.float32)
    again = lay_out(points, start=turned)
    assert np.corrcoef(again.ravel(), turned.ravel())[0, 1] > 0.8


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_few_points_and_equal_points_have_places(count: int) -> None:
    layout = lay_out(np.ones((count, 16), dtype=np.float32))
    assert layout.shape == (count, 2)
    assert np.isfinite(layout).all()
