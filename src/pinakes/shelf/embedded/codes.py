"""8-bit codes of vectors: a quarter of the size, and dot products that are quick and nearly right."""

import numpy as np
import simsimd
from numpy.typing import NDArray

from pinakes.model.vectors import Vector

Codes = NDArray[np.int8]
Scores = NDArray[np.float32]

THREADS = 2
BLOCK_ROWS = 65_536


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
    threads = 1 if len(some) == 1 else THREADS
    return np.asarray(simsimd.cdist(some, codes, metric="dot", threads=threads), dtype=np.float32)


def _quantised_block(vectors: Vector) -> tuple[Codes, Scores]:
    scales = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)
    return np.rint(vectors / divisors[:, None]).astype(np.int8), scales
