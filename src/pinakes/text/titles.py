"""Titles by likeness: a misspelt or partial title finds the right one.

A trigram index over folded titles picks a few dozen candidates, which are then compared letter by letter. The index is
six arrays, so that a shelf can keep it in files and map it into memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from pinakes.text.normalise import fold_name

RAREST_GRAMS = 12
CANDIDATES = 50
MAX_NAME_CHARS = 200

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleArrays:
    """The index as arrays: `rows[i]` owns name `i`; name `i` is `letters[ends[i-1]:ends[i]]`, folded, as UTF-8."""

    rows: NDArray[np.int32]
    letters: NDArray[np.uint8]
    ends: Ints
    grams: NDArray[np.uint64]
    gram_ends: Ints
    postings: NDArray[np.int32]


class TitleIndex:
    """Finds the rows whose names are most like a given one."""

    def __init__(self, arrays: TitleArrays) -> None:
        self.arrays = arrays

    def find_like(self, text: str, *, limit: int, allowed: NDArray[np.bool_] | None = None) -> list[tuple[int, float]]:
        """Return up to `limit` rows with the likeness (0–1) of their best name, best first, ties by row."""
        wanted = fold_name(text)[:MAX_NAME_CHARS]
        if not wanted or not len(self.arrays.grams):
            return []
        best: dict[int, float] = {}
        for name in self._candidates(wanted, allowed):
            row = int(self.arrays.rows[name])
            likeness = fuzz.ratio(wanted, self._name(name)) / 100
            best[row] = max(likeness, best.get(row, 0.0))
        return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def _candidates(self, wanted: str, allowed: NDArray[np.bool_] | None) -> list[int]:
        """Return the names that share most of the query's rarest grams, in proportion to their own length."""
        slices = sorted(self._postings_of(wanted), key=len)[:RAREST_GRAMS]
        if not slices:
            return []
        names, counts = np.unique(np.concatenate(slices), return_counts=True)
        if allowed is not None:
            keep = allowed[self.arrays.rows[names]]
            names, counts = names[keep], counts[keep]
        lengths = self.arrays.ends[names] - np.where(names > 0, self.arrays.ends[names - 1], 0)
        order = np.lexsort((names, np.abs(lengths - len(wanted.encode())), -counts))
        return [int(name) for name in names[order[:CANDIDATES]]]

    def _postings_of(self, wanted: str) -> Iterable[NDArray[np.int32]]:
        arrays = self.arrays
        grams = np.unique(_grams_of([wanted])[0])
        places = np.searchsorted(arrays.grams, grams)
        for gram, place in zip(grams, places, strict=True):
            if place < len(arrays.grams) and arrays.grams[place] == gram:
                start = arrays.gram_ends[place - 1] if place else 0
                yield arrays.postings[start : arrays.gram_ends[place]]

    def _name(self, name: int) -> str:
        start = self.arrays.ends[name - 1] if name else 0
        return bytes(self.arrays.letters[start : self.arrays.ends[name]]).decode()


def build_title_arrays(names_by_row: Iterable[Sequence[str]]) -> TitleArrays:
    """Index the names of each row."""
    rows: list[int] = []
    names: list[str] = []
    for row, row_names in enumerate(names_by_row):
        folded = dict.fromkeys(fold_name(name)[:MAX_NAME_CHARS] for name in row_names)
        distinct = [name for name in folded if name]
        names += distinct
        rows += [row] * len(distinct)
    encoded = [name.encode() for name in names]
    grams, owners = _grams_of(names)
    unique_grams, gram_ends, postings = _inverted(grams, owners)
    return TitleArrays(
        rows=np.array(rows, dtype=np.int32),
        letters=np.frombuffer(b"".join(encoded), dtype=np.uint8),
        ends=np.cumsum([len(name) for name in encoded], dtype=np.int64),
        grams=unique_grams,
        gram_ends=gram_ends,
        postings=postings,
    )


def _grams_of(names: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return every three-letter window of the names (each padded by a space on both sides), and the name it is of."""
    padded = [f" {name} " for name in names]
    letters = np.frombuffer("".join(padded).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(name) for name in padded], dtype=np.int64)
    owners = np.repeat(np.arange(len(padded), dtype=np.int32), lengths)
    if len(letters) < 3:
        return np.empty(0, np.uint64), np.empty(0, np.int32)
    grams = (letters[:-2] << np.uint64(42)) | (letters[1:-1] << np.uint64(21)) | letters[2:]
    within = owners[:-2] == owners[2:]
    return grams[within], owners[:-2][within]


def _inverted(
    grams: NDArray[np.uint64], owners: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], Ints, NDArray[np.int32]]:
    """Return the distinct grams, where each one's postings end, and the postings: names in order, once each."""
    order = np.lexsort((owners, grams))
    grams, owners = grams[order], owners[order]
    first = np.ones(len(grams), dtype=bool)
    first[1:] = (grams[1:] != grams[:-1]) | (owners[1:] != owners[:-1])
    grams, owners = grams[first], owners[first]
    unique_grams, counts = np.unique(grams, return_counts=True)
    return unique_grams, np.cumsum(counts, dtype=np.int64), owners


def array_fields() -> tuple[str, ...]:
    """Return the names of the index's arrays, for whoever keeps them in files."""
    return tuple(TitleArrays.__dataclass_fields__)
