"""The layout of points in the plane: t-SNE over the nearest neighbours of each, in numpy alone.

Vectors are reduced to their principal components, in which neighbours are found, exactly, and the
layout begins. Each point is attracted by its neighbours, all of the same weight, and repelled by
every point. Steps begin with stronger attraction, which forms the clusters, and go on without it,
which spreads them. The same points and the same start give the same layout.

The repulsion is a convolution on a grid (Linderman et al., "Fast interpolation-based t-SNE", 2019):
points are spread over the corners of their cells, the kernels are multiplied in Fourier space, and
the forces are read back at the points. A cell is about as wide as the kernel, which is near enough
for a map. Between few points it is summed up, which is sooner done than one transform.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.frozen import frozen
from stackroom.model.vectors import Vector

Points = NDArray[np.float32]
Rows = NDArray[np.int64]

BLOCK_VALUES = 1 << 23  # how many distances are in memory at a time
# distances are compared by groups: the nearest rows are all in the groups with the least minima
GROUP = 32
Numbers = NDArray[np.float32]
WIDEST_CELL = 1.0
LEAST_CELLS = 64
MOST_CELLS = 512
ROOM = 1.2  # how much wider than the points a new grid is, so that it serves for several steps
NEIGHBOURS = 15
EARLY_STEPS = 50
LATE_STEPS = 200
MOST_PAIRED = 500  # the most points of which every pair is looked at
FEW = 100
FEW_STEPS_SHARE = 0.5  # up to `FEW` points find their places in half the steps
EXAGGERATION = 12.0
EARLY_MOMENTUM = 0.5
LATE_MOMENTUM = 0.8
LONGEST_STEP = 5.0
START_SPREAD = 0.01
JITTER = 0.0001  # points that are the same begin a little apart
LEAST_RATE = 50.0
SEED = 20260131
# enough that most neighbours stay neighbours, at a sixth of the cost of all dimensions
COMPONENTS = 64


def nearest_among(points: Points, among: Points, count: int) -> Rows:
    """Return for each point the nearest rows of another table, or the nearest others of the same,
    in no order.

    Of the same, `count` is less than the number of rows.
    """
    count = min(count, len(among))
    squares, columns = np.einsum("ij,ij->i", among, among), np.ascontiguousarray(among.T)
    found = np.empty((len(points), count), dtype=np.int64)
    rows = max(64, BLOCK_VALUES // max(len(among), 1))
    for start in range(0, len(points), rows):
        block = points[start : start + rows]
        distances = np.full(
            (len(block), len(among) + -len(among) % GROUP), np.inf, dtype=np.float32
        )
        there = distances[:, : len(among)]
        np.matmul(block * -2, columns, out=there)
        there += squares
        if among is points:
            there[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        grouped = distances.reshape(len(block), -1, GROUP)
        groups = _least(grouped.min(axis=2), count)
        candidates = np.take_along_axis(grouped, groups[:, :, None], axis=1).reshape(len(block), -1)
        chosen = _least(candidates, count)
        found[start : start + len(block)] = (
            np.take_along_axis(groups, chosen // GROUP, axis=1) * GROUP + chosen % GROUP
        )
    return found


def _least(values: Points, count: int) -> Rows:
    """Return the columns of the least values of each row."""
    if values.shape[1] <= count:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, count - 1, axis=1)[:, :count]


# the repulsion at each point in both directions, as shares of that between all pairs
Forces = tuple[Numbers, Numbers]


class _Kernels:
    """The kernels of a grid of some width in Fourier space: nearness, and the force by both
    coordinates.
    """

    def __init__(self, width: float) -> None:
        self.cells = LEAST_CELLS
        while self.cells < MOST_CELLS and width / (self.cells - 2) > WIDEST_CELL:
            self.cells *= 2
        self.cell = width / (self.cells - 2)
        steps = (np.fft.fftfreq(2 * self.cells, 1 / (2 * self.cells)) * self.cell).astype(
            np.float32
        )
        dx, dy = steps[:, None], steps[None, :]
        nearness = 1 / (1 + dx * dx + dy * dy)
        squares = nearness * nearness
        self.nearness, self.x, self.y = map(np.fft.rfft2, (nearness, squares * dx, squares * dy))

    def fits(self, extent: float) -> bool:
        """Tell whether points of this extent are within the grid, and not in a corner of it."""
        width = (self.cells - 2) * self.cell
        return width / 2 <= extent <= width


class Repulsion:
    """The repulsion between points, by convolution."""

    def __init__(self) -> None:
        self._kernels: _Kernels | None = None

    def at(self, x: Numbers, y: Numbers) -> Forces:
        """Return the repulsion at each of these points."""
        if len(x) <= MOST_PAIRED:
            dx, dy = x[:, None] - x, y[:, None] - y
            nearness = 1 / (1 + dx * dx + dy * dy)
            total = max(float(nearness.sum()) - len(x), 1e-9)
            squares = nearness * nearness
            return (squares * dx).sum(axis=1) / total, (squares * dy).sum(axis=1) / total
        extent = float(max(np.ptp(x), np.ptp(y)))
        if self._kernels is None or not self._kernels.fits(extent):
            self._kernels = _Kernels(max(extent * ROOM, 1e-3))
        kernels = self._kernels
        spread = _Spread(x, y, kernels)
        total = max(float(spread.read(kernels.nearness).sum()) - len(x), 1e-9)
        return spread.read(kernels.x) / total, spread.read(kernels.y) / total


class _Spread:
    """Points spread over the corners of their cells, as a grid in Fourier space; half of it is
    empty, against wrap.
    """

    def __init__(self, x: Numbers, y: Numbers, kernels: _Kernels) -> None:
        self._side = side = 2 * kernels.cells
        across, down = (x - x.min()) / kernels.cell, (y - y.min()) / kernels.cell
        column, row = across.astype(np.int64), down.astype(np.int64)
        right, below = across - column, down - row
        first = column * side + row
        self._corners = (first, first + 1, first + side, first + side + 1)
        self._weights = (
            (1 - right) * (1 - below),
            (1 - right) * below,
            right * (1 - below),
            right * below,
        )
        grid = np.bincount(
            np.concatenate(self._corners), np.concatenate(self._weights), side * side
        )
        self._spectrum = np.fft.rfft2(grid.astype(np.float32).reshape(side, side))

    def read(self, kernel: NDArray[Any]) -> Numbers:
        """Return the convolution with a kernel at each point."""
        convolved = np.fft.irfft2(self._spectrum * kernel, s=(self._side, self._side)).ravel()
        read: Numbers = sum(
            (
                weight * convolved[corner]
                for corner, weight in zip(self._corners, self._weights, strict=True)
            ),
            start=np.zeros(len(self._corners[0]), dtype=np.float32),
        )
        return read


def lay_out(points: Points, *, start: Points | None = None) -> Points:
    """Return a place in the plane for each point; `start` has former places, which a new layout
    resembles.
    """
    count = len(points)
    if count <= 2:
        return np.array([[0, 0], [1, 0]], dtype=np.float32)[:count]
    neighbours = nearest_among(points, points, min(NEIGHBOURS, max(1, (count - 1) // 3)))
    places = points[:, :2] if start is None else start
    spread = float(places.std()) or 1.0
    jitter = np.random.default_rng(SEED).normal(scale=JITTER, size=(count, 2))
    begun = np.zeros((count, 2))
    begun[:, : places.shape[1]] = (places - places.mean(axis=0)) / spread * START_SPREAD
    return _moved((begun + jitter).astype(np.float32), neighbours)


def _moved(places: Points, neighbours: Rows) -> Points:
    count = len(places)
    x, y = places[:, 0].copy(), places[:, 1].copy()
    speed_x, speed_y = np.zeros_like(x), np.zeros_like(y)
    repulsion = Repulsion()
    share = FEW_STEPS_SHARE if count <= FEW else 1.0
    early = round(EARLY_STEPS * share)
    for step in range(early + round(LATE_STEPS * share)):
        is_early = step < early
        attraction = EXAGGERATION if is_early else 1.0
        rate = max(count, LEAST_RATE) / attraction
        momentum = EARLY_MOMENTUM if is_early else LATE_MOMENTUM
        pulled_x, pulled_y = _attraction(x, y, neighbours)
        pushed_x, pushed_y = repulsion.at(x, y)
        speed_x = momentum * speed_x - 4 * rate * (attraction * pulled_x - pushed_x)
        speed_y = momentum * speed_y - 4 * rate * (attraction * pulled_y - pushed_y)
        too_fast = np.maximum(np.hypot(speed_x, speed_y) / LONGEST_STEP, 1)
        speed_x = (speed_x / too_fast).astype(np.float32)
        speed_y = (speed_y / too_fast).astype(np.float32)
        x, y = _centred(x + speed_x), _centred(y + speed_y)
    return np.stack([x, y], axis=1)


def _attraction(x: Numbers, y: Numbers, neighbours: Rows) -> tuple[Numbers, Numbers]:
    """Return the attraction at each point, by its neighbours and by those whose neighbour it is."""
    count, each = neighbours.shape
    others = neighbours.ravel()
    dx, dy = np.repeat(x, each) - x[others], np.repeat(y, each) - y[others]
    nearness = 1 / (1 + dx * dx + dy * dy)
    share = 1 / (2 * count * each)
    pulled = []
    for one in (dx * nearness, dy * nearness):
        own = one.reshape(count, each).sum(axis=1)
        pulled.append(((own - np.bincount(others, one, count)) * share).astype(np.float32))
    return pulled[0], pulled[1]


def _centred(values: Numbers) -> Numbers:
    moved: Numbers = (values - values.mean()).astype(np.float32)
    return moved


@frozen
class Projection:
    """A mean, and the axes of the largest variance."""

    mean: Vector
    axes: Vector

    def of(self, vectors: Vector) -> Points:
        """Return vectors by their principal components, the largest first."""
        points: Points = ((vectors - self.mean) @ self.axes).astype(np.float32)
        return points


def build_projection(vectors: Vector) -> Projection:
    """Measure the principal components of vectors; the direction of each axis depends on nothing
    but them.
    """
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    chosen = axes[:, ::-1][:, :COMPONENTS]
    largest = np.take_along_axis(chosen, np.abs(chosen).argmax(axis=0)[None, :], axis=0)
    return Projection(
        mean=mean,
        axes=np.ascontiguousarray(chosen * np.where(largest < 0, -1, 1)).astype(np.float32),
    )
