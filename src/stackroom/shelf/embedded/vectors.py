"""Vectors of a segment: a quick scan over 8-bit codes, then exact cosines of the best rows.

Small tables are scanned whole; in large ones binary sketches preselect the rows whose codes are
compared. Filters apply before the scan, so that a narrow filter makes it faster and loses nothing.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import simsimd
from numpy.typing import NDArray

from stackroom.frozen import frozen
from stackroom.model.vectors import Vector
from stackroom.shelf.columns import Mask
from stackroom.shelf.spool import iter_blocks

Rows = NDArray[np.int64]
Codes = NDArray[np.int8]
Scores = NDArray[np.float32]
Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]
Differences = NDArray[np.uint16]

THREADS = 2
CPU_FEATURES = Path("/proc/cpuinfo")
DOT_PRODUCTS = "asimddp"
"""The feature of an ARM processor that multiplies and adds four 8-bit numbers at once, as Linux
names it.
"""
# how many more rows than asked for are scored exactly, to make up for the error of 8-bit codes
SPARE = 100
FEW = 2
"""If a scope has at most this many times the rows that would be rescored, all are scored exactly,
which is faster than choosing.
"""
MANY = 4  # the number of rows for each of the maxima from which these are looked at first
GATHER_BELOW = 0.25
"""Below this share of rows in scope, their codes are gathered; above, all codes are scanned and
masked.
"""
# up to this many rows in scope, all their codes are scanned, which loses nothing
SKETCHES_ABOVE = 40_000
PRESELECTED_SHARE = 0.007
PRESELECTED_AT_LEAST = 5_000
"""The part of the scope that sketches preselect: recall@10 .989 at a million rows, .986 at 88,000
(`make bench-scale`).
"""
FIRST_BITS = 128
# short vectors are projected several times over: fewer signs would not tell angles apart
REST_AT_LEAST = 384
SAMPLE_ROWS = 50_000
BLOCK_ROWS = 65_536
FIRST_ABOVE = 250_000
FIRST_SHARE = 0.1
"""Above this many rows, the first bits alone select a share, which has the ten nearest in 99 of 100
queries.
"""


@frozen
class Sketches:
    """One row of `bits` per vector: whether its projections on `directions` (columns) exceed
    `thresholds`.

    The Hamming distance of two approximates the angle between their vectors, so that a sketch only
    preselects. `first` repeats the first bits as whole words, one row per word, which are compared
    several times as fast.
    """

    directions: Vector
    thresholds: Vector
    bits: Bits
    first: Words

    def preselect(self, query: Vector, *, among: Rows | None, count: int) -> Rows:
        """Return about `count` rows (more on ties), those at the smallest Hamming distance, in row
        order.
        """
        sketch = _sketch(query[None, :], self.directions, self.thresholds)[0]
        if among is None and len(self.bits) > FIRST_ABOVE:
            first = _first_differences(sketch[: FIRST_BITS // 8].view(np.uint64), self.first)
            among = np.flatnonzero(
                first <= _distance_limit(first, max(count, round(FIRST_SHARE * len(first))))
            )
        bits = self.bits if among is None else self.bits.take(among, axis=0)
        if len(bits) <= count:
            return np.arange(len(bits)) if among is None else among
        found = simsimd.cdist(sketch[None, :], bits, metric="hamming", dtype="bin8", threads=1)
        differences: Differences = np.asarray(found)[0].astype(np.uint16)
        near = np.flatnonzero(differences <= _distance_limit(differences, count))
        return near if among is None else among[near]


def build_sketches(vectors: Vector) -> Sketches:
    """Sketch every row."""
    step = max(1, len(vectors) // SAMPLE_ROWS)
    sample = np.concatenate(
        [vectors[block][-block.start % step :: step].copy() for block in iter_blocks(vectors)]
    )
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

    Both groups are rotated at random: the sign of a mixture of components says more than that of a
    single one.
    """
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    first = _rotated(axes[:, :FIRST_BITS], FIRST_BITS, generator)
    rest = _rotated(axes, max(REST_AT_LEAST, axes.shape[1]), generator)
    return np.concatenate((first, rest), axis=1).astype(np.float32)


def _rotated(axes: Vector, count: int, generator: np.random.Generator) -> Vector:
    """Return `count` random directions in the span of the axes, orthogonal within each block of its
    dimension.
    """
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


@dataclass(frozen=True, kw_only=True)
class VectorTable:
    """One unit vector per row in three forms: `exact`, `codes` with `scales`, `sketches`. A missing
    vector is zeros.
    """

    exact: Vector
    codes: Codes
    scales: Scores
    sketches: Sketches | None = None

    def nearest_each(
        self, queries: Vector, *, mask: Mask | None, limit: int
    ) -> list[tuple[Rows, Scores]]:
        """Return for each query the rows of the mask nearest to it, best first, with their cosines;
        ties by row.
        """
        if self._has_vector is not None:
            mask = self._has_vector if mask is None else mask & self._has_vector
        in_scope = len(self.codes) if mask is None else int(np.count_nonzero(mask))
        if in_scope <= FEW * (limit + SPARE):
            every = np.arange(in_scope) if mask is None else np.flatnonzero(mask)
            return [self._nearest_of(every, query, limit) for query in queries]
        if self.sketches is None or in_scope <= SKETCHES_ABOVE:
            best = self._best_by_codes(queries, mask, in_scope, limit + SPARE)
            return [
                self._nearest_of(rows, query, limit)
                for query, rows in zip(queries, best, strict=True)
            ]
        count = max(PRESELECTED_AT_LEAST, round(in_scope * PRESELECTED_SHARE))
        among = None if mask is None else np.flatnonzero(mask)
        found = []
        for query in queries:
            near = self.sketches.preselect(query, among=among, count=count)
            rows = near[_top(self._approximate(query[None, :], near)[0], limit + SPARE)]
            found.append(self._nearest_of(rows, query, limit))
        return found

    @cached_property
    def _has_vector(self) -> Mask | None:
        """The rows with a vector; None means all."""
        has_vector: Mask = self.scales > 0
        return None if has_vector.all() else has_vector

    def _best_by_codes(
        self, queries: Vector, mask: Mask | None, in_scope: int, count: int
    ) -> list[Rows]:
        """Return for each query the rows of the mask with the best approximate cosines."""
        if mask is not None and in_scope < GATHER_BELOW * len(self.codes):
            rows = np.flatnonzero(mask)
            return [rows[_top(cosines, count)] for cosines in self._approximate(queries, rows)]
        approximate = code_dots(_quantised_block(queries)[0], self.codes) * self.scales
        if mask is not None:
            np.copyto(approximate, -np.inf, where=~mask)
        return [_top(cosines, count) for cosines in approximate]

    def _approximate(self, queries: Vector, rows: Rows) -> Scores:
        """Return for each query the approximate cosines of these rows by codes, up to a constant
        factor.
        """
        return (
            code_dots(_quantised_block(queries)[0], self.codes.take(rows, axis=0))
            * self.scales[rows]
        )

    def _nearest_of(self, rows: Rows, query: Vector, limit: int) -> tuple[Rows, Scores]:
        cosines = row_dots(self.exact[rows], query)
        order = np.lexsort((rows, -cosines))[:limit]
        return rows[order], cosines[order]


def build_vector_table(exact: Vector) -> VectorTable:
    """Quantise the vectors, and sketch those of a large table."""
    codes, scales = np.empty(exact.shape, dtype=np.int8), np.empty(len(exact), dtype=np.float32)
    for block in iter_blocks(exact):
        codes[block], scales[block] = _quantised_block(exact[block])
    sketches = build_sketches(exact) if len(exact) > SKETCHES_ABOVE else None
    return VectorTable(exact=exact, codes=codes, scales=scales, sketches=sketches)


def row_dots(rows: Vector, query: Vector) -> Scores:
    """Return the dot product of each row; unlike a matrix product, equal rows give equal
    results.
    """
    dots: Scores = np.einsum("ij,j->i", rows, query)
    return dots


def _top(scores: Scores, limit: int) -> Rows:
    """Return the indexes of the best scores, of equal ones the first."""
    size, columns = len(scores), 2 * limit
    if size <= MANY * columns:
        return _best_of(scores, limit)
    maxima = scores[: size - size % columns].reshape(-1, columns).max(axis=0)
    # half of the maxima are: as many as wanted
    near = np.flatnonzero(scores >= np.partition(maxima, limit)[limit])
    return near[_best_of(scores[near], limit)]


def _best_of(scores: Scores, limit: int) -> Rows:
    if len(scores) <= limit:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    above = np.flatnonzero(scores > least)
    equal = np.flatnonzero(scores == least)[: limit - len(above)]
    return np.concatenate((above, equal))


def code_dots(some: Codes, codes: Codes) -> Scores:
    """Return the dot products of some codes (a row each) with many (a column each)."""
    if not len(codes):
        return np.empty((len(some), 0), np.float32)
    _use_dot_products()
    threads = 1 if len(some) == 1 else THREADS
    return np.asarray(simsimd.cdist(some, codes, metric="dot", threads=threads, out_dtype="f32"))


@cache
def _use_dot_products() -> None:
    """Let simsimd use the processor's dot products, which are five times as fast; on Linux it does
    not detect them.
    """
    try:
        features = CPU_FEATURES.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return
    if DOT_PRODUCTS in features:
        simsimd.enable_capability("neon_i8")


def _quantised_block(vectors: Vector) -> tuple[Codes, Scores]:
    """Return 8-bit codes and a scale for each row, so that `codes * scales` is nearly the
    vectors.
    """
    scales = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)
    return np.rint(vectors / divisors[:, None]).astype(np.int8), scales
