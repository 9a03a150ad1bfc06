"""Sketches: a bit for each of many directions, so that a query picks the few rows worth a closer look out of very many.

A vector is centred and reduced to the side of the centre on which it lies, in each of many directions. The fewer sides
two vectors differ in, the smaller the angle between them, roughly: a sketch only preselects. The first bits are of the
directions in which the vectors differ most, so that they alone tell which tenth of a large table is worth the rest.
"""

from dataclasses import dataclass

import numpy as np
import simsimd
from numpy.typing import NDArray

from pinakes.model.vectors import Vector

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]
Rows = NDArray[np.int64]
Differences = NDArray[np.uint16]

FIRST_BITS = 128
REST_AT_LEAST = 384
"""Short vectors are turned several times, since so many signs are needed to tell angles apart."""

SAMPLE_ROWS = 50_000
BLOCK_ROWS = 65_536

FIRST_ABOVE = 250_000
FIRST_SHARE = 0.1
"""Of more rows than this, the first bits alone choose a share: the ten nearest are in it 99 times of 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketches:
    """One row of `bits` a vector: its sides of `thresholds`, the centre, along `directions` (a column each).

    `first` has the first bits again, as whole words, one row a word, which are compared several times as fast.
    """

    directions: Vector
    thresholds: Vector
    bits: Bits
    first: Words

    def preselect(self, query: Vector, *, among: Rows | None, count: int) -> Rows:
        """Return about `count` of the rows (ties make it more), those that differ least from the query, in order."""
        sketch = _sketch(query[None, :], self.directions, self.thresholds)[0]
        if among is None and len(self.bits) > FIRST_ABOVE:
            first = _first_differences(sketch[: FIRST_BITS // 8].view(np.uint64), self.first)
            among = np.flatnonzero(first <= _cut(first, max(count, round(FIRST_SHARE * len(first)))))
        bits = self.bits if among is None else self.bits.take(among, axis=0)
        if len(bits) <= count:
            return np.arange(len(bits)) if among is None else among
        differences = _differences(sketch, bits)
        near = np.flatnonzero(differences <= _cut(differences, count))
        return near if among is None else among[near]


def build_sketches(vectors: Vector, *, seed: int = 0) -> Sketches:
    """Sketch every row."""
    sample = vectors[:: max(1, len(vectors) // SAMPLE_ROWS)]
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    directions = _directions(sample - centre, np.random.default_rng(seed))
    thresholds = centre @ directions
    bits = np.empty((len(vectors), -(-directions.shape[1] // 8)), dtype=np.uint8)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        bits[block] = _sketch(vectors[block], directions, thresholds)
    first = np.ascontiguousarray(np.ascontiguousarray(bits[:, : FIRST_BITS // 8]).view(np.uint64).T)
    return Sketches(directions=directions, thresholds=thresholds, bits=bits, first=first)


def _directions(centred: Vector, generator: np.random.Generator) -> Vector:
    """Return directions, first among those in which the vectors differ most, then among all.

    Both lots are turned at random: a sign says little along one direction that matters most, more along a mixture.
    """
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    first = _turned(axes[:, :FIRST_BITS], FIRST_BITS, generator)
    rest = _turned(axes, max(REST_AT_LEAST, axes.shape[1]), generator)
    return np.concatenate((first, rest), axis=1).astype(np.float32)


def _turned(axes: Vector, count: int, generator: np.random.Generator) -> Vector:
    """Return so many directions in the space of the axes, at right angles as far as it has room for."""
    dimension = axes.shape[1]
    noise = generator.standard_normal((-(-count // dimension), dimension, dimension))
    turns = np.concatenate(np.linalg.qr(noise)[0], axis=1)
    turned: Vector = axes @ turns[:, :count]
    return turned


def _sketch(vectors: Vector, directions: Vector, thresholds: Vector) -> Bits:
    return np.packbits(vectors @ directions > thresholds, axis=1)


def _first_differences(sketch: Words, words: Words) -> Bits:
    """Return in how many of its first bits each row differs from one sketch."""
    differences = np.zeros(words.shape[1], np.uint8)

    for start in range(0, words.shape[1], BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        for mine, theirs in zip(sketch, words, strict=True):
            differences[rows] += np.bitwise_count(theirs[rows] ^ mine)
    return differences


def _cut(differences: Bits | Differences, count: int) -> int:
    """Return the difference that about `count` of many rows do not exceed, judged by a sample of them."""
    step = max(1, len(differences) // SAMPLE_ROWS)
    up_to_each = np.cumsum(np.bincount(differences[::step]))
    return int(np.searchsorted(up_to_each, max(count // step, 1)))


def _differences(sketch: Bits, bits: Bits) -> Differences:
    """Return in how many bits one sketch differs from each of many."""
    found = simsimd.cdist(sketch[None, :], bits, metric="hamming", dtype="bin8", threads=1)
    differences: Differences = np.asarray(found)[0].astype(np.uint16)
    return differences
