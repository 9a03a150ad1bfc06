"""Drift: whether a catalogue is still what it was when it was graded.

Three signs: new records are unlike the old ones, searches find nothing, or the grade has fallen. The first compares how
near each new record is to its nearest old one with how near the old ones are to each other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinakes.grading.figures import has_fallen
from pinakes.grading.grade import Grade
from pinakes.model.record import Key
from pinakes.model.scope import WHOLE
from pinakes.shelf.port import ShelfReader

LAST_KEY = "last_key"
LOW_NEARNESS = "low_nearness"
"""The cosine to their nearest that a tenth of the records were below."""
LOW_SHARE = 0.1

SAMPLED = 300
LEAST_NEW = 20
UNLIKE_SHARE = 0.3
"""New records are unlike the old ones where so many are below `low_nearness`; of the old ones, a tenth are."""
NEIGHBOURS = 20

LEAST_SEARCHES = 30
EMPTY_SHARE = 0.25
"""The share of searches without a result from which that is drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCounts:
    """The recorded searches of a catalogue since it was graded, and how many of them found nothing."""

    searches: int = 0
    without_result: int = 0


NO_SEARCHES = SearchCounts()


def measure_state(reader: ShelfReader) -> dict[str, float]:
    """Return the measures of a catalogue that its later state is compared with."""
    keys = reader.scan(scope=WHOLE, limit=reader.count(WHOLE))
    state = {LAST_KEY: float(keys[-1])} if keys else {}
    nearness = _nearness(reader, _spread(keys), last=keys[-1]) if keys else np.zeros(0)
    return state | ({LOW_NEARNESS: float(np.quantile(nearness, LOW_SHARE))} if len(nearness) >= LEAST_NEW else {})


def find_drift(
    reader: ShelfReader, *, before: Grade, now: Grade, searches: SearchCounts = NO_SEARCHES
) -> Iterator[str]:
    """Yield a sentence for each sign that a catalogue drifted since it was graded before."""
    yield from _unlike(reader, before)
    share = searches.without_result / searches.searches if searches.searches else 0.0
    if searches.searches >= LEAST_SEARCHES and share >= EMPTY_SHARE:
        yield f"{share:.0%} of {searches.searches} searches found nothing"
    yield from find_falls_of(before, now)


def find_falls_of(before: Grade, now: Grade) -> Iterator[str]:
    """Yield a sentence for each kind of question whose nDCG@10 has fallen beyond noise."""
    for name, kind in before.kinds.items():
        if name in now.kinds and has_fallen(kind.ndcg_10, now.kinds[name].ndcg_10):
            yield f"nDCG@10 of {name} fell from {kind.ndcg_10.mean:.3f} to {now.kinds[name].ndcg_10.mean:.3f}"


def _unlike(reader: ShelfReader, before: Grade) -> Iterator[str]:
    """Yield whether the records that were added since are unlike those that were there."""
    state: Mapping[str, float] = before.state
    if LOW_NEARNESS not in state or reader.model is None or str(reader.model) != before.model:
        return
    last = Key(int(state[LAST_KEY]))
    new = reader.scan(scope=WHOLE, after=last, limit=reader.count(WHOLE))
    if len(new) < LEAST_NEW:
        return
    nearness = _nearness(reader, _spread(new), last=last)
    share = float(np.mean(nearness < state[LOW_NEARNESS])) if len(nearness) else 0.0
    if share >= UNLIKE_SHARE:
        yield f"{share:.0%} of {len(new)} new records are unlike those that were there; of those, 10% are"


def _nearness(reader: ShelfReader, keys: list[Key], *, last: Key) -> NDArray[np.float64]:
    """Return the cosine of each record with a vector to its nearest other record, of those up to the last key."""
    vectors = reader.vectors(keys)
    present = np.flatnonzero(vectors.any(axis=1)) if vectors.size else np.zeros(0, np.int64)
    found = []
    for place, ranking in zip(
        present.tolist(), reader.nearest(vectors[present], scope=WHOLE, limit=NEIGHBOURS), strict=True
    ):
        is_other = (ranking.keys <= last) & (ranking.keys != keys[place])
        found.append(float(ranking.scores[is_other].max(initial=0.0)))
    return np.array(found)


def _spread(keys: list[Key]) -> list[Key]:
    return keys[:: -(-len(keys) // SAMPLED)] if keys else []
