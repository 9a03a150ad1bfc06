"""Colours of a map: a few values of one field, and which of them each record has.

Of a field with many values those are chosen that lie together on the map: a value that is everywhere alike tells
nothing by its place. A record with several of them has the colour of the one that is most typical of its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stackroom.maps.labels import FieldValues
from stackroom.maps.map_file import REACH, Places

MOST_COLOURS = 8
NO_COLOUR = 0
SIDE = 12
"""How many squares there are in each direction, by which it is measured where a value lies."""
SMOOTHING = 1.0

Codes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MapColours:
    """The values that have a colour, how many records have each, and the colour of each record (0: none)."""

    values: Sequence[str]
    counts: Sequence[int]
    codes: Codes
    is_ordered: bool = False
    """Whether the values are steps of a scale."""


def colour_by_values(places: Places, values: FieldValues) -> MapColours:
    """Return colours for the values of a field that lie together most."""
    count, total = len(places), len(values.values)
    if not len(values.indexes):
        return MapColours(values=(), counts=(), codes=np.zeros(count, dtype=np.uint8))
    columns = np.minimum((places.astype(np.int64) + REACH) * SIDE // (2 * REACH + 1), SIDE - 1)
    squares = columns[:, 1] * SIDE + columns[:, 0]
    there = np.bincount(squares[values.rows] * total + values.indexes, minlength=SIDE * SIDE * total)
    table = there.reshape(SIDE * SIDE, total).astype(np.float64)
    lifts = _lifts(table, np.bincount(squares, minlength=SIDE * SIDE))
    gathered = (table * np.log(lifts)).sum(axis=0)
    everywhere = table.sum(axis=0)
    if total <= MOST_COLOURS:
        gathered = everywhere
    chosen = np.argsort(-gathered, kind="stable")[:MOST_COLOURS]
    chosen = chosen[everywhere[chosen] > 0]
    chosen = chosen[np.argsort(-everywhere[chosen], kind="stable")]
    return MapColours(
        values=[values.values[one] for one in chosen.tolist()],
        counts=[int(everywhere[one]) for one in chosen.tolist()],
        codes=_codes(values, chosen, lifts, squares),
    )


def _lifts(table: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much more frequent each value is in each square than on the whole map."""
    usual = table.sum(axis=0) / sizes.sum()
    lifts: NDArray[np.float64] = (table + SMOOTHING * usual) / (sizes[:, None] + SMOOTHING) / np.maximum(usual, 1e-12)
    return np.maximum(lifts, 1e-12)


def _codes(
    values: FieldValues, chosen: NDArray[np.int64], lifts: NDArray[np.float64], squares: NDArray[np.int64]
) -> Codes:
    codes, best = np.zeros(len(squares), dtype=np.uint8), np.zeros(len(squares))
    for place, value in enumerate(chosen.tolist(), start=1):
        rows = values.rows[values.indexes == value]
        clearer = rows[lifts[squares[rows], value] > best[rows]]
        codes[clearer], best[clearer] = place, lifts[squares[clearer], value]
    return codes


def colour_by_numbers(numbers: NDArray[np.float64], shown: Sequence[str], steps: Sequence[float]) -> MapColours:
    """Return colours for steps of a scale: `shown` has a text for each, `steps` where each but the first begins."""
    is_known = ~np.isnan(numbers)
    codes = np.where(is_known, np.searchsorted(np.asarray(steps), numbers, side="right") + 1, NO_COLOUR)
    counts = np.bincount(codes, minlength=len(shown) + 1)[1:]
    return MapColours(values=list(shown), counts=counts.tolist(), codes=codes.astype(np.uint8), is_ordered=True)


def find_steps(numbers: NDArray[np.float64], most: int = 6) -> list[float]:
    """Return where the steps of a scale begin, but for the first, so that each has about as many records."""
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return []
    shares = np.linspace(0, 1, most + 1)[1:-1]
    steps = np.unique(np.quantile(known, shares, method="nearest"))
    return [float(step) for step in steps if step > known.min()]
