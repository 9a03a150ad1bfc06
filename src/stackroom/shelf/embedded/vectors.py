"""Vectors of a segment: a quick scan over 8-bit codes, then exact cosines of the best rows.

Small tables are scanned whole; in large ones `sketches` preselect the rows whose codes are compared. Filters apply
before the scan, so that a narrow filter makes it faster and loses nothing.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import simsimd
from numpy.typing import NDArray

from stackroom.model.vectors import Vector
from stackroom.shelf.columns import Mask
from stackroom.shelf.embedded.sketches import Sketches, build_sketches

Rows = NDArray[np.int64]
Codes = NDArray[np.int8]
Scores = NDArray[np.float32]

THREADS = 2
CPU_FEATURES = Path("/proc/cpuinfo")
DOT_PRODUCTS = "asimddp"
"""The feature of an ARM processor that multiplies and adds four 8-bit numbers at once, as Linux names it."""
BLOCK_ROWS = 65_536

SPARE = 100
"""How many more rows than asked for are scored exactly, to make up for the error of 8-bit codes."""

FEW = 2
"""All rows are scored exactly in a scope of at most this many times the rows that would be: choosing takes longer."""

GATHER_BELOW = 0.25
"""Below this share of rows in scope, their codes are gathered; above, all codes are scanned and masked."""

SKETCHES_ABOVE = 40_000
"""Up to this many rows in scope, all their codes are scanned, which loses nothing."""

PRESELECTED_SHARE = 0.007
PRESELECTED_AT_LEAST = 5_000
"""How much of the scope sketches preselect: recall@10 .989 at a million rows, .986 at 88,000 (`make bench-large`)."""


@dataclass(frozen=True, kw_only=True)
class VectorTable:
    """One unit vector per row in three forms: `exact`, `codes` with `scales`, `sketches`. A missing vector is zeros."""

    exact: Vector
    codes: Codes
    scales: Scores
    sketches: Sketches | None = None

    def nearest(self, query: Vector, *, mask: Mask | None, limit: int) -> tuple[Rows, Scores]:
        """Return the rows of the mask nearest to the query, best first, with their cosines; ties by row."""
        return self.nearest_each(query[None, :], mask=mask, limit=limit)[0]

    def nearest_each(self, queries: Vector, *, mask: Mask | None, limit: int) -> list[tuple[Rows, Scores]]:
        """Return for each of several queries the rows nearest to it."""
        rows = self._in_scope(mask)
        in_scope = len(self.codes) if rows is None else len(rows)
        if in_scope <= FEW * (limit + SPARE):
            every = np.arange(in_scope) if rows is None else rows
            return [self._nearest_of(every, query, limit) for query in queries]
        if self.sketches is None or in_scope <= SKETCHES_ABOVE:
            return [
                self._best(query, rows, one, limit)
                for query, one in zip(queries, self._approximate(queries, rows), strict=True)
            ]
        count = max(PRESELECTED_AT_LEAST, round(in_scope * PRESELECTED_SHARE))
        found = []
        for query in queries:
            near = self.sketches.preselect(query, among=rows, count=count)
            found.append(self._best(query, near, self._approximate(query[None, :], near)[0], limit))
        return found

    def _in_scope(self, mask: Mask | None) -> Rows | None:
        """Return the rows of the mask that have a vector; None means all."""
        if self._has_vector is not None:
            mask = self._has_vector if mask is None else mask & self._has_vector
        return None if mask is None else np.flatnonzero(mask)

    @cached_property
    def _has_vector(self) -> Mask | None:
        """The rows that have a vector; None means all."""
        has_vector: Mask = self.scales > 0
        return None if has_vector.all() else has_vector

    def _approximate(self, queries: Vector, rows: Rows | None) -> Scores:
        """Return for each query the approximate cosines by codes, up to a constant factor."""
        codes = quantise(queries)[0]
        if rows is None:
            return code_dots(codes, self.codes) * self.scales
        if len(rows) < GATHER_BELOW * len(self.codes):
            return code_dots(codes, self.codes.take(rows, axis=0)) * self.scales[rows]
        return (code_dots(codes, self.codes) * self.scales)[:, rows]

    def _best(self, query: Vector, rows: Rows | None, approximate: Scores, limit: int) -> tuple[Rows, Scores]:
        """Score the rows with the best approximate cosines exactly."""
        best = _top(approximate, limit + SPARE)
        return self._nearest_of(best if rows is None else rows[best], query, limit)

    def _nearest_of(self, rows: Rows, query: Vector, limit: int) -> tuple[Rows, Scores]:
        cosines = row_dots(self.exact[rows], query)
        order = np.lexsort((rows, -cosines))[:limit]
        return rows[order], cosines[order]


def build_vector_table(exact: Vector) -> VectorTable:
    """Quantise the vectors, and sketch those of a large table."""
    codes, scales = quantise(exact)
    sketches = build_sketches(exact) if len(exact) > SKETCHES_ABOVE else None
    return VectorTable(exact=exact, codes=codes, scales=scales, sketches=sketches)


def row_dots(rows: Vector, query: Vector) -> Scores:
    """Return the dot product of each row; unlike a matrix product, equal rows give equal results."""
    dots: Scores = np.einsum("ij,j->i", rows, query)
    return dots


def _top(scores: Scores, limit: int) -> Rows:
    """Return the indexes of the best scores, of equal ones the first."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    above = np.flatnonzero(scores > least)
    equal = np.flatnonzero(scores == least)[: limit - len(above)]
    return np.concatenate((above, equal))


def quantise(vectors: Vector) -> tuple[Codes, Scores]:
    """Return 8-bit codes and a scale for each row, so that `codes * scales` is nearly the vectors."""
    codes = np.empty(vectors.shape, dtype=np.int8)
    scales = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        codes[block], scales[block] = _quantised_block(vectors[block])
    return codes, scales


def code_dots(some: Codes, codes: Codes) -> Scores:
    """Return the dot products of some codes (a row each) with many (a column each)."""
    if not len(codes):
        return np.empty((len(some), 0), np.float32)
    _use_dot_products()
    threads = 1 if len(some) == 1 else THREADS
    return np.asarray(simsimd.cdist(some, codes, metric="dot", threads=threads), dtype=np.float32)


@cache
def _use_dot_products() -> None:
    """Let simsimd use the processor's dot products, five times as fast; on Linux it does not look for them itself."""
    try:
        features = CPU_FEATURES.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return
    if DOT_PRODUCTS in features:
        simsimd.enable_capability("neon_i8")


def _quantised_block(vectors: Vector) -> tuple[Codes, Scores]:
    scales = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)
    return np.rint(vectors / divisors[:, None]).astype(np.int8), scales
