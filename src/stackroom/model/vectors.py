"""Vectors, and the identity of the model that made them."""

import numpy as np
from numpy.typing import NDArray

from stackroom.frozen import frozen

Vector = NDArray[np.float32]

# with this many vectors, half of their mean is subtracted: the mean of a few is mostly what they
# are about
FEW = 30


@frozen
class ModelId:
    """The embedding model of some vectors; vectors of different models are never compared."""

    name: str
    dimension: int
    is_centred: bool = False
    """Whether an index subtracts the mean of its vectors: for models whose cosines are high and
    nearly alike.
    """

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension} dimensions)"


def measure_mean(vectors: Vector) -> Vector:
    """Return the mean of unit vectors, drawn towards zero where they are few; rows of zeros are
    missing vectors.
    """
    present = np.count_nonzero(np.any(vectors, axis=1))
    mean: Vector = (vectors.sum(axis=0, dtype=np.float64) / (present + FEW)).astype(np.float32)
    return mean


def centre(vectors: Vector, mean: Vector) -> Vector:
    """Return unit vectors with a mean subtracted, scaled to unit length again; zeros stay zeros."""
    moved = vectors - mean
    lengths = np.linalg.norm(moved, axis=-1, keepdims=True)
    is_present = np.any(vectors, axis=-1, keepdims=True) & (lengths > 0)
    centred: Vector = np.where(is_present, moved / np.where(lengths > 0, lengths, 1), 0).astype(
        np.float32
    )
    return centred
