"""The repulsion of t-SNE: of every point from every other.

Of few points it is summed up as it is defined. Of many it is a convolution on a grid (Linderman et al., "Fast
interpolation-based t-SNE", 2019): points are spread over the corners of their cells, the kernels are multiplied in
Fourier space, and the forces are read back at the points. A cell is about as wide as the kernel, which is near enough
for a map.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]

FEW_POINTS = 256
WIDEST_CELL = 1.0
LEAST_CELLS = 64
MOST_CELLS = 512
ROOM = 1.2
"""How much wider than the points a new grid is, so that it serves for several steps."""


class Forces(NamedTuple):
    """The repulsion at each point, as shares of that between all pairs."""

    x: Numbers
    y: Numbers


class Repulsion(Protocol):
    """A way to compute the repulsion."""

    def at(self, x: Numbers, y: Numbers) -> Forces:
        """Return the repulsion at each of these points."""


def repulsion_for(count: int) -> Repulsion:
    """Return the way that suits so many points."""
    return ExactRepulsion() if count <= FEW_POINTS else GridRepulsion()


class ExactRepulsion:
    """Implements `Repulsion` by all pairs."""

    def at(self, x: Numbers, y: Numbers) -> Forces:
        """Return the repulsion at each of these points."""
        dx, dy = x[:, None] - x, y[:, None] - y
        nearness = 1 / (1 + dx * dx + dy * dy)
        total = max(float(nearness.sum()) - len(x), 1e-9)
        squares = nearness * nearness
        return Forces((squares * dx).sum(axis=1) / total, (squares * dy).sum(axis=1) / total)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kernels:
    """The kernels of a grid in Fourier space: nearness, and the force by both coordinates."""

    cells: int
    cell: float
    nearness: NDArray[Any]
    x: NDArray[Any]
    y: NDArray[Any]

    def fits(self, extent: float) -> bool:
        """Tell whether points of this extent are within the grid, and not in a corner of it."""
        width = (self.cells - 2) * self.cell
        return width / 2 <= extent <= width


class GridRepulsion:
    """Implements `Repulsion` by convolution."""

    def __init__(self) -> None:
        self._kernels: _Kernels | None = None

    def at(self, x: Numbers, y: Numbers) -> Forces:
        """Return the repulsion at each of these points."""
        kernels = self._kernels_for(float(max(np.ptp(x), np.ptp(y))))
        spread = _Spread(x, y, kernels)
        total = max(float(spread.read(kernels.nearness).sum()) - len(x), 1e-9)
        return Forces(spread.read(kernels.x) / total, spread.read(kernels.y) / total)

    def _kernels_for(self, extent: float) -> _Kernels:
        if self._kernels is None or not self._kernels.fits(extent):
            self._kernels = _build_kernels(max(extent * ROOM, 1e-3))
        return self._kernels


def _build_kernels(width: float) -> _Kernels:
    cells = LEAST_CELLS
    while cells < MOST_CELLS and width / (cells - 2) > WIDEST_CELL:
        cells *= 2
    cell = width / (cells - 2)
    steps = (np.fft.fftfreq(2 * cells, 1 / (2 * cells)) * cell).astype(np.float32)
    dx, dy = steps[:, None], steps[None, :]
    nearness = 1 / (1 + dx * dx + dy * dy)
    squares = nearness * nearness
    return _Kernels(
        cells=cells,
        cell=cell,
        nearness=np.fft.rfft2(nearness),
        x=np.fft.rfft2(squares * dx),
        y=np.fft.rfft2(squares * dy),
    )


class _Spread:
    """Points spread over the corners of their cells, as a grid in Fourier space; half of it is empty, against wrap."""

    def __init__(self, x: Numbers, y: Numbers, kernels: _Kernels) -> None:
        self._side = side = 2 * kernels.cells
        across, down = (x - x.min()) / kernels.cell, (y - y.min()) / kernels.cell
        column, row = across.astype(np.int64), down.astype(np.int64)
        right, below = across - column, down - row
        first = column * side + row
        self._corners = (first, first + 1, first + side, first + side + 1)
        self._weights = ((1 - right) * (1 - below), (1 - right) * below, right * (1 - below), right * below)
        grid = np.bincount(np.concatenate(self._corners), np.concatenate(self._weights), side * side)
        self._spectrum = np.fft.rfft2(grid.astype(np.float32).reshape(side, side))

    def read(self, kernel: NDArray[Any]) -> Numbers:
        """Return the convolution with a kernel at each point."""
        convolved = np.fft.irfft2(self._spectrum * kernel, s=(self._side, self._side)).ravel()
        read: Numbers = sum(
            (weight * convolved[corner] for corner, weight in zip(self._corners, self._weights, strict=True)),
            start=np.zeros(len(self._corners[0]), dtype=np.float32),
        )
        return read
