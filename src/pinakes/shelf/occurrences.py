"""The occurrences of a field's values over several segments, joined: one value for all spellings that compare as equal.

Entries differ by category and spelling, values do not: a record that has a value in two spellings has it once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinakes.model.hits import Occurrences
from pinakes.shelf.terms import Entry

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EntryOccurrences:
    """The occurrences in one segment: record `keys[i]` has the entry `names[entries[i]]`."""

    names: Sequence[Entry]
    entries: Integers
    keys: Integers


def join_occurrences(parts: Sequence[EntryOccurrences]) -> Occurrences:
    """Join the occurrences of several segments, which have different records."""
    spellings: dict[str, Counter[str]] = {}
    for part in parts:
        for (term, _, value), count in _counted(part):
            spellings.setdefault(term, Counter())[value] += count
    places = {term: place for place, term in enumerate(sorted(spellings))}
    joined = [_of_terms(part, places) for part in parts]
    return Occurrences(
        values=[_usual(spellings[term]) for term in places],
        indexes=np.concatenate([indexes for indexes, _ in joined] or [np.empty(0, np.int64)]),
        keys=np.concatenate([keys for _, keys in joined] or [np.empty(0, np.int64)]),
    )


def _counted(part: EntryOccurrences) -> Iterable[tuple[Entry, int]]:
    counts = np.bincount(part.entries, minlength=len(part.names)).tolist()
    return ((name, count) for name, count in zip(part.names, counts, strict=True) if count)


def _usual(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda value: (-spellings[value], value))


def _of_terms(part: EntryOccurrences, places: Mapping[str, int]) -> tuple[Integers, Integers]:
    """Return the occurrences by the places of terms, each once."""
    of_entry = np.array([places.get(term, -1) for term, _, _ in part.names], dtype=np.int64)
    indexes, keys = of_entry[part.entries], part.keys
    shared = np.bincount(of_entry[of_entry >= 0], minlength=len(places)) > 1
    doubtful = shared[indexes] if len(indexes) else np.zeros(0, dtype=bool)
    if not doubtful.any():
        return indexes, keys
    once = np.unique(np.stack([indexes[doubtful], keys[doubtful]]), axis=1)
    return np.concatenate([indexes[~doubtful], once[0]]), np.concatenate([keys[~doubtful], once[1]])
