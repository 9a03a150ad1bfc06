"""Vectors reduced to their principal components, in which neighbours are found and a layout begins."""

from dataclasses import dataclass

import numpy as np

from stackroom.maps.neighbours import Points
from stackroom.model.vectors import Vector

COMPONENTS = 64
"""Enough that most neighbours stay neighbours, at a sixth of the cost of all dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """A mean, and the axes of the largest variance."""

    mean: Vector
    axes: Vector

    def of(self, vectors: Vector) -> Points:
        """Return vectors by their principal components, the largest first."""
        points: Points = ((vectors - self.mean) @ self.axes).astype(np.float32)
        return points


def build_projection(vectors: Vector) -> Projection:
    """Measure the principal components of vectors; the direction of each axis depends on nothing but them."""
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    chosen = axes[:, ::-1][:, :COMPONENTS]
    largest = np.take_along_axis(chosen, np.abs(chosen).argmax(axis=0)[None, :], axis=0)
    return Projection(mean=mean, axes=np.ascontiguousarray(chosen * np.where(largest < 0, -1, 1)).astype(np.float32))
