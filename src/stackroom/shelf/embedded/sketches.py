"""Binary sketches of vectors (sign bits of projections), by which a query preselects candidates among very many rows.

A vector is centred and projected on many directions; the sign of each projection is a bit. The Hamming distance of two
sketches approximates the angle between their vectors, so that a sketch only preselects. The first bits are of the
principal directions, so that they alone select the tenth of a large table that is worth comparing in full.
"""

from dataclasses import dataclass

import numpy as np
import simsimd
from numpy.typing import NDArray

from stackroom.model.vectors import Vector
from stackroom.shelf.spool import iter_blocks

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]
Rows = NDArray[np.int64]
Differences = NDArray[np.uint16]

FIRST_BITS = 128
REST_AT_LEAST = 384
"""Short vectors are projected several times over: fewer signs would not tell angles apart."""

SAMPLE_ROWS = 50_000
BLOCK_ROWS = 65_536

FIRST_ABOVE = 250_000
FIRST_SHARE = 0.1
"""Above this many rows, the first bits alone select a share, which has the ten nearest in 99 of 100 queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketches:
    """One row of `bits` per vector: whether its projections on `directions` (columns) exceed `thresholds`.

    `first` repeats the first bits as whole words, one row per word, which are compared several times as fast.
    """

    directions: Vector
    thresholds: Vector
    bits: Bits
    first: Words

    def preselect(self, query: Vector, *, among: Rows | None, count: int) -> Rows:
        """Return about `count` rows (more on ties), those at the smallest Hamming distance, in row order."""
        sketch = _sketch(query[None, :], self.directions, self.thresholds)[0]
        if among is None and len(self.bits) > FIRST_ABOVE:
            first = _first_differences(sketch[: FIRST_BITS // 8].view(np.uint64), self.first)
            among = np.flatnonzero(first <= _distance_limit(first, max(count, round(FIRST_SHARE * len(first)))))
        bits = self.bits if among is None else self.bits.take(among, axis=0)
        if len(bits) <= count:
            return np.arange(len(bits)) if among is None else among
        differences = _differences(sketch, bits)
        near = np.flatnonzero(differences <= _distance_limit(differences, count))
        return near if among is None else among[near]


def build_sketches(vectors: Vector) -> Sketches:
    """Sketch every row."""
    step = max(1, len(vectors) // SAMPLE_ROWS)
    sample = np.concatenate([vectors[block][-block.start % step :: step].copy() for block in iter_blocks(vectors)])
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    directions = _directions(sample - centre, np.random.default_rng(0))
    thresholds = centre @ directions
    bits = np.empty((len(vectors), -(-directions.shape[1] // 8)), dtype=np.uint8)
    for block in iter_blocks(vectors):
        bits[block] = _sketch(vectors[block], directions, thresholds)
    first = np.ascontiguousarray(np.ascontiguousarray(bits[:, : FIRST_BITS // 8]).view(np.uint64).T)
    return Sketches(directions=directions, thresholds=thresholds, bits=bits, first=first)


def _directions(centred: Vector, generator: np.random.Generator) -> Vector:
    """Return directions within the principal components first, then within the whole space.

    Both groups are rotated at random: the sign of a mixture of components says more than that of a single one.
    """
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    first = _rotated(axes[:, :FIRST_BITS], FIRST_BITS, generator)
    rest = _rotated(axes, max(REST_AT_LEAST, axes.shape[1]), generator)
    return np.concatenate((first, rest), axis=1).astype(np.float32)


def _rotated(axes: Vector, count: int, generator: np.random.Generator) -> Vector:
    """Return `count` random directions in the span of the axes, orthogonal within each block of its dimension."""
    dimension = axes.shape[1]
    noise = generator.standard_normal((-(-count // dimension), dimension, dimension))
    rotations = np.concatenate(np.linalg.qr(noise)[0], axis=1)
    rotated: Vector = axes @ rotations[:, :count]
    return rotated


def _sketch(vectors: Vector, directions: Vector, thresholds: Vector) -> Bits:
    return np.packbits(vectors @ directions > thresholds, axis=1)


def _first_differences(sketch: Words, words: Words) -> Bits:
    """Return the Hamming distance of each row's first bits to a sketch."""
    differences = np.zeros(words.shape[1], np.uint8)

    for start in range(0, words.shape[1], BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        for mine, theirs in zip(sketch, words, strict=True):
            differences[rows] += np.bitwise_count(theirs[rows] ^ mine)
    return differences


def _distance_limit(differences: Bits | Differences, count: int) -> int:
    """Return the distance that about `count` rows do not exceed, estimated from a sample."""
    step = max(1, len(differences) // SAMPLE_ROWS)
    up_to_each = np.cumsum(np.bincount(differences[::step]))
    return int(np.searchsorted(up_to_each, max(count // step, 1)))


def _differences(sketch: Bits, bits: Bits) -> Differences:
    """Return the Hamming distance of a sketch to each of many."""
    found = simsimd.cdist(sketch[None, :], bits, metric="hamming", dtype="bin8", threads=1)
    differences: Differences = np.asarray(found)[0].astype(np.uint16)
    return differences
