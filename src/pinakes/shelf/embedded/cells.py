"""Cells: a large table of vectors cut into neighbourhoods, so that a query scans only those around it.

Spherical k-means on a sample gives the centroids; every row belongs to the nearest. Codes are kept in cell order, so a
cell is one contiguous read. A filtered query probes more cells, in proportion to what the filter takes away.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinakes.model.vectors import Vector

Order = NDArray[np.int32]

CELLS_ABOVE = 100_000
"""Below this many rows a whole scan is quick enough: `docs/performance.md` has the measurement."""

ROWS_PROBED = 40_000
"""How many rows in scope a query looks at, at the least; recall and time grow with it."""

SAMPLE_PER_CELL = 100
ROUNDS = 8
BLOCK_ROWS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Scan position `p` holds row `order[p]`; row `r` is at `positions[r]`; cell `c` ends at `ends[c]`."""

    centroids: Vector
    ends: NDArray[np.int64]
    order: Order
    positions: Order

    def probe(self, query: Vector, *, share: float) -> Iterator[slice]:
        """Yield scan ranges, nearest cell first, until enough rows have been seen of which `share` is in scope."""
        wanted = ROWS_PROBED / max(share, 1e-6) ** 0.5
        for cell in np.argsort(-(self.centroids @ query), kind="stable"):
            start = int(self.ends[cell - 1]) if cell else 0
            end = int(self.ends[cell])
            yield slice(start, end)
            wanted -= end - start
            if wanted <= 0:
                return


def build_cells(vectors: Vector, *, seed: int = 0) -> Cells:
    """Cut the table into about √n cells."""
    count = round(len(vectors) ** 0.5)
    generator = np.random.default_rng(seed)
    sample_size = min(len(vectors), count * SAMPLE_PER_CELL)
    sample = vectors[np.sort(generator.choice(len(vectors), sample_size, replace=False))]
    centroids = sample[generator.choice(sample_size, count, replace=False)].copy()
    for _ in range(ROUNDS):
        centroids = _moved(centroids, sample, _assign(sample, centroids))
    owner = _assign(vectors, centroids)
    order = np.argsort(owner, kind="stable").astype(np.int32)
    positions = np.empty_like(order)
    positions[order] = np.arange(len(order), dtype=np.int32)
    ends = np.cumsum(np.bincount(owner, minlength=count)).astype(np.int64)
    return Cells(centroids=centroids, ends=ends, order=order, positions=positions)


def _assign(vectors: Vector, centroids: Vector) -> Order:
    """Return the nearest centroid of each row."""
    owner = np.empty(len(vectors), dtype=np.int32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[start : start + BLOCK_ROWS]
        owner[start : start + BLOCK_ROWS] = np.argmax(block @ centroids.T, axis=1)
    return owner


def _moved(centroids: Vector, sample: Vector, owner: Order) -> Vector:
    """Return each centroid moved to the mean direction of its rows; an empty one stays."""
    sums = np.zeros_like(centroids)
    np.add.at(sums, owner, sample)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centroids).astype(np.float32)
