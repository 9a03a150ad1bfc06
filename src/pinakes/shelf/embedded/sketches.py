"""Sketches: one bit or a few a dimension, so that a query picks the few rows worth a closer look out of very many.

A vector is centred, turned by a random rotation (so that no dimension weighs more than another) and reduced to its
signs. The fewer signs two vectors differ in, the smaller the angle between them, roughly: a sketch only preselects.
"""

from dataclasses import dataclass

import numpy as np
import simsimd
from numpy.typing import NDArray

from pinakes.model.vectors import Vector

Bits = NDArray[np.uint8]
Rows = NDArray[np.int64]
Differences = NDArray[np.uint16]

BITS_AT_LEAST = 384
"""Short vectors are turned several times, since so many signs are needed to tell angles apart."""

SAMPLE_ROWS = 50_000
BLOCK_ROWS = 65_536

THREADS = 2
THREADS_ABOVE = 200_000
"""A second thread halves the time of a large scan, and would only cost in a small one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketches:
    """One row of `bits` a vector: where the rotated vector lies above `thresholds`, the rotated centre."""

    rotation: Vector
    thresholds: Vector
    bits: Bits

    def preselect(self, query: Vector, *, among: Rows | None, count: int) -> Rows:
        """Return at least `count` of the rows (ties make it more), those that differ least from the query, in order."""
        sketch = _sketch(query[None, :], self.rotation, self.thresholds)[0]
        bits = self.bits if among is None else self.bits.take(among, axis=0)
        differences = _differences(sketch, bits)
        if len(differences) <= count:
            return np.arange(len(bits)) if among is None else among
        most = np.partition(differences, count - 1)[count - 1]
        near = np.flatnonzero(differences <= most)
        return near if among is None else among[near]


def build_sketches(vectors: Vector, *, seed: int = 0) -> Sketches:
    """Sketch every row."""
    dimension = vectors.shape[1]
    turns = -(-BITS_AT_LEAST // dimension)
    noise = np.random.default_rng(seed).standard_normal((turns, dimension, dimension))
    rotation = np.concatenate(np.linalg.qr(noise)[0], axis=1).astype(np.float32)
    centre = vectors[:: max(1, len(vectors) // SAMPLE_ROWS)].mean(axis=0, dtype=np.float64).astype(np.float32)
    thresholds = centre @ rotation
    bits = np.empty((len(vectors), -(-rotation.shape[1] // 8)), dtype=np.uint8)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        bits[block] = _sketch(vectors[block], rotation, thresholds)
    return Sketches(rotation=rotation, thresholds=thresholds, bits=bits)


def _sketch(vectors: Vector, rotation: Vector, thresholds: Vector) -> Bits:
    return np.packbits(vectors @ rotation > thresholds, axis=1)


def _differences(sketch: Bits, bits: Bits) -> Differences:
    """Return in how many bits one sketch differs from each of many."""
    if not len(bits):
        return np.empty(0, np.uint16)
    threads = THREADS if len(bits) > THREADS_ABOVE else 1
    found = simsimd.cdist(sketch[None, :], bits, metric="hamming", dtype="bin8", threads=threads)
    distances: Differences = np.asarray(found)[0]
    return distances.astype(np.uint16)
