"""The nearest rows of a table of points, found exactly, in blocks of a matrix product."""

import numpy as np
from numpy.typing import NDArray

from stackroom.shelf.port import Checkpoint, never_stop

Points = NDArray[np.float32]
Rows = NDArray[np.int64]

BLOCK_VALUES = 1 << 23
"""How many distances are in memory at a time."""
GROUP = 32
"""Distances are compared by groups: the nearest rows are all in the groups with the least minima."""


def nearest_others(points: Points, count: int, *, checkpoint: Checkpoint = never_stop) -> Rows:
    """Return for each row the nearest other rows, in no order; `count` is less than the number of rows."""
    return _nearest(points, points, count, is_same=True, checkpoint=checkpoint)


def nearest_among(points: Points, among: Points, count: int, *, checkpoint: Checkpoint = never_stop) -> Rows:
    """Return for each point the nearest rows of another table, in no order."""
    return _nearest(points, among, min(count, len(among)), is_same=False, checkpoint=checkpoint)


def _nearest(points: Points, among: Points, count: int, *, is_same: bool, checkpoint: Checkpoint) -> Rows:
    squares, columns = np.einsum("ij,ij->i", among, among), np.ascontiguousarray(among.T)
    found = np.empty((len(points), count), dtype=np.int64)
    rows = max(64, BLOCK_VALUES // max(len(among), 1))
    for start in range(0, len(points), rows):
        block = points[start : start + rows]
        distances = np.full((len(block), len(among) + -len(among) % GROUP), np.inf, dtype=np.float32)
        there = distances[:, : len(among)]
        np.matmul(block * -2, columns, out=there)
        there += squares
        if is_same:
            there[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        found[start : start + len(block)] = _least(distances, count)
        checkpoint()
    return found


def _least(distances: Points, count: int) -> Rows:
    """Return the columns of the least distances of each row."""
    grouped = distances.reshape(len(distances), -1, GROUP)
    groups = _partition(grouped.min(axis=2), count)
    candidates = np.take_along_axis(grouped, groups[:, :, None], axis=1).reshape(len(distances), -1)
    chosen = _partition(candidates, count)
    columns: Rows = np.take_along_axis(groups, chosen // GROUP, axis=1) * GROUP + chosen % GROUP
    return columns


def _partition(values: Points, count: int) -> Rows:
    if values.shape[1] <= count:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, count - 1, axis=1)[:, :count]
