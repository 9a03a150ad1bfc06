"""Postings: the records that have a term, in blocks of neighbouring keys, and their scores by BM25.

A block is one row of PostgreSQL with four bytes for each record: its place in the block, how often
it has the term, and the length of its text in one byte, as tantivy codes it, so that scores are
those of the embedded shelf.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stackroom.frozen import frozen
from stackroom.model.record import Key

K1, B = 1.2, 0.75
BLOCK_BITS = 12
BLOCK_KEYS = 1 << BLOCK_BITS
MOST_IN_A_BYTE = 255
DIRECT_LENGTHS = 24  # up to this length, and a few more, the code of a length is the length itself

POSTING = np.dtype([("place", "<u2"), ("often", "u1"), ("size", "u1")])
TERM_POSTING = np.dtype([("entry", "<i4"), ("posting", POSTING)])
Postings = NDArray[np.void]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def _length_of_code(code: int) -> int:
    if code < DIRECT_LENGTHS:
        return code
    bits, shift = (code - DIRECT_LENGTHS) & 7, ((code - DIRECT_LENGTHS) >> 3) - 1
    return DIRECT_LENGTHS + (bits if shift < 0 else (bits | 8) << shift)


_LENGTHS = [_length_of_code(code) for code in range(MOST_IN_A_BYTE + 1)]
LENGTHS = np.array(_LENGTHS, dtype=np.float64)  # the length that each code stands for


def length_code(length: int) -> int:
    """Return the code of the greatest length that is not above this one."""
    return bisect_right(_LENGTHS, length) - 1


def block_of(key: Key) -> int:
    """Return the block of a key."""
    return key >> BLOCK_BITS


def places_of(keys: Sequence[Key]) -> Integers:
    """Return the places of keys in their block."""
    return np.array(keys, dtype=np.int64) & ((1 << BLOCK_BITS) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PostingList:
    """The records that have a term, in key order."""

    keys: Integers
    often: NDArray[np.uint8]
    sizes: NDArray[np.uint8]

    def only(self, keys: Integers) -> "PostingList":
        """Return the part with these keys, which are in order."""
        kept = np.isin(self.keys, keys, assume_unique=True)
        return PostingList(keys=self.keys[kept], often=self.often[kept], sizes=self.sizes[kept])


def join_blocks(blocks: Iterable[tuple[int, bytes]]) -> PostingList:
    """Return the records of some blocks of one term, which come in order."""
    parts = [(number, np.frombuffer(data, dtype=POSTING)) for number, data in blocks]
    if not parts:
        return PostingList(
            keys=np.empty(0, np.int64), often=np.empty(0, np.uint8), sizes=np.empty(0, np.uint8)
        )
    keys = [part["place"].astype(np.int64) + (number << BLOCK_BITS) for number, part in parts]
    return PostingList(
        keys=np.concatenate(keys),
        often=np.concatenate([part["often"] for _, part in parts]),
        sizes=np.concatenate([part["size"] for _, part in parts]),
    )


def merge_blocks(before: Mapping[int, bytes], gone: Postings, added: Postings) -> dict[int, bytes]:
    """Return the data of terms in one block, without the postings at some terms and places, and
    with others.
    """
    stored = np.frombuffer(b"".join(before.values()), dtype=POSTING)
    kept = np.empty(len(stored), dtype=TERM_POSTING)
    kept["entry"] = np.repeat(
        list(before), [len(data) // POSTING.itemsize for data in before.values()]
    )
    kept["posting"] = stored
    merged = np.concatenate((kept[~np.isin(_codes(kept), _codes(gone))], added))
    merged = merged[np.argsort(_codes(merged), kind="stable")]
    starts = np.flatnonzero(np.diff(merged["entry"], prepend=-1))
    data = merged["posting"].tobytes()
    bounds = (POSTING.itemsize * np.append(starts, len(merged))).tolist()
    entries = merged["entry"][starts].tolist()
    return {
        entry: data[start:end]
        for entry, (start, end) in zip(entries, pairwise(bounds), strict=True)
    }


def _codes(postings: Postings) -> Integers:
    """Return the term and the place of each posting in one number."""
    codes: Integers = (
        postings["entry"].astype(np.int64) << BLOCK_BITS | postings["posting"]["place"]
    )
    return codes


@frozen
class WeighedTerm:
    """A term of a query in one field: its number in the index, and what it can add to a score."""

    entry: int
    column: int  # the place of the term in the query
    records: int  # how many records have it
    weight: float
    average: float  # the average length of the field
    total: int  # the number of records

    @property
    def most(self) -> float:
        """The bound of what it adds to a score."""
        rarity = math.log(1 + max(self.total - self.records + 0.5, 0.5) / (self.records + 0.5))
        return self.weight * rarity * (K1 + 1)

    def scores(self, postings: PostingList) -> Floats:
        """Return what it adds to the score of each record that has it."""
        often = postings.often.astype(np.float64)
        lengths = K1 * (1 - B + B * LENGTHS / self.average)
        scores: Floats = self.most * often / (often + lengths[postings.sizes])
        return scores


def add_up(parts: Sequence[tuple[Integers, Floats]]) -> tuple[Integers, Floats]:
    """Return the keys of all parts in order, with the sums of their scores, added in the order of
    the parts.
    """
    if not parts:
        return np.empty(0, np.int64), np.empty(0)
    keys, places = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    weights = np.concatenate([scores for _, scores in parts])
    return keys, np.bincount(places, weights, len(keys)).astype(np.float64)


def count_keys(lists: Iterable[PostingList]) -> int:
    """Return how many records are in any of the lists."""
    return len(np.unique(np.concatenate([one.keys for one in lists])))


def count_shared(
    lists: Mapping[int, PostingList], *, size: int
) -> tuple[Integers, Integers, Integers]:
    """Return the keys of grams' postings, how many grams each has, and how far the sizes of its
    names are off.
    """
    each = list(lists.values())
    keys, places = np.unique(np.concatenate([one.keys for one in each]), return_inverse=True)
    shared = np.bincount(places, minlength=len(keys))
    off = np.full(len(keys), MOST_IN_A_BYTE, dtype=np.int64)
    shortest = np.concatenate([one.often for one in each]).astype(np.int64)
    longest = np.concatenate([one.sizes for one in each]).astype(np.int64)
    np.minimum.at(off, places, np.maximum(np.maximum(shortest - size, size - longest), 0))
    return keys, shared, off
