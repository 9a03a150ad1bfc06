"""Labels and colours of a map: the values that are typical of a part of it.

The map is cut into squares, coarse ones first. A value is typical of a square where it is much more
frequent than on the whole map. Coarse labels are for the map as a whole, fine ones for those who
look closer. Of a field with many values those have colours that lie together on the map: a value
that is everywhere alike tells nothing by its place.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stackroom.frozen import frozen
from stackroom.maps.map_file import REACH, Places

Rows = NDArray[np.int64]

SIDES = (6, 12, 24, 48)  # how many squares there are in each direction, by level
MOST_LABELS = (20, 60, 180, 400)
LEAST_RECORDS = 3
# how many records have a typical value at least, as a share of those that a square usually has
LEAST_OF_USUAL = 0.12
LEAST_SHARE = 0.04  # the share of a square's records that have a typical value
LEAST_LIFT = 2.0  # how much more frequent it is there than on the whole map
# how far apart two labels of a level are at least, in squares, and twice that far if they say the
# same
APART = 0.75
LONGEST_LABEL = 40
CANDIDATES = 4  # how many values of a field are looked at for the label of a square
# a second value is part of a label if it is at least so typical, in comparison with the first
SECOND = 0.4
MOST_COLOURS = 8
NO_COLOUR = 0
# how many squares there are in each direction, by which it is measured where a value lies
SIDE = 12
SMOOTHING = 1.0
Codes = NDArray[np.uint8]


class MappedValues(NamedTuple):
    """The values of a field on the map: the record at `rows[i]` has `values[indexes[i]]`."""

    values: Sequence[str]
    indexes: Rows
    rows: Rows
    known: Rows | None = None  # the records whose values were read; None: all


@frozen
class MapLabel:
    """One or two typical values at a place of the map; the first is that of the records."""

    text: str
    value: str  # the more typical of the values
    x: int
    y: int
    level: int


class TypicalValue(NamedTuple):
    """A value that is typical of a square, how clearly it is, and the middle of the records there
    that have it.
    """

    score: float
    square: int
    text: str
    x: float
    y: float


def find_labels(places: Places, fields: Sequence[MappedValues]) -> list[MapLabel]:
    """Return the labels of a map, coarse ones first, and of each level the clearest first."""
    kept: list[MapLabel] = []
    for level, side in enumerate(SIDES):
        if side > SIDES[0] and side * side > 2 * len(places):
            break
        saying_the_same: dict[str, list[MapLabel]] = {}
        for label in kept:
            saying_the_same.setdefault(label.value.casefold(), []).append(label)
        found: list[MapLabel] = []
        for label in _by_clarity(places, fields, level):
            same = saying_the_same.setdefault(label.value.casefold(), [])
            is_clear = _are_apart(label, found, APART, level)
            if is_clear and all(_are_apart(label, [one], 2 * APART, one.level) for one in same):
                found.append(label)
                same.append(label)
        kept += found[: MOST_LABELS[level]]
    return kept


def _are_apart(label: MapLabel, others: Sequence[MapLabel], squares: float, level: int) -> bool:
    """Tell whether a label is further from all others than so many squares of a level."""
    places = np.array([(one.x - label.x, one.y - label.y) for one in others]).reshape(-1, 2)
    return bool((np.abs(places).max(axis=1) > squares * 2 * REACH / SIDES[level]).all())


def _by_clarity(places: Places, fields: Sequence[MappedValues], level: int) -> Iterator[MapLabel]:
    """Yield the most typical values of each square, of squares that lie side by side and of those
    between them.
    """
    best: list[list[TypicalValue]] = []
    for squares in (squares_of(places, SIDES[level], shift) for shift in (0.0, 0.5)):
        best += _best_of_squares([find_typical(some, places, squares) for some in fields])
    for first, *others in sorted(
        best, key=lambda some: (-some[0].score, some[0].square, some[0].text)
    ):
        yield MapLabel(
            text=" · ".join([first.text, *(one.text for one in others)]),
            value=first.text,
            x=round(first.x),
            y=round(first.y),
            level=level,
        )


def squares_of(places: Places, side: int, shift: float = 0.0) -> Rows:
    """Return the square of each record, numbered by rows."""
    columns = np.floor((places.astype(np.float64) + REACH) / (2 * REACH + 1) * side + shift).astype(
        np.int64
    )
    squares: Rows = columns[:, 1] * (side + 1) + columns[:, 0]
    return squares


def find_typical(values: MappedValues, places: Places, squares: Rows) -> list[TypicalValue]:
    """Return the few values of a field that are most typical of each square."""
    if not len(values.rows):
        return []
    known = squares if values.known is None else squares[values.known]
    total, sizes, kinds = len(known), np.bincount(known), len(values.values)
    pairs = squares[values.rows] * kinds + values.indexes
    distinct, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    square, value = np.divmod(distinct, kinds)
    share = counts / sizes[square]
    lift = share / (np.bincount(values.indexes, minlength=kinds)[value] / total)
    least = max(
        min(LEAST_RECORDS, max(1, total // 50)), LEAST_OF_USUAL * total / (int(squares.max()) + 1)
    )
    is_typical = (counts >= least) & (share >= LEAST_SHARE) & (lift >= LEAST_LIFT)
    is_typical &= np.array([len(text) <= LONGEST_LABEL for text in values.values])[value]
    score = counts * np.log(lift) * np.sqrt(share)
    order = np.lexsort((-score, square))
    order = order[is_typical[order] & (score[order] > 0)]
    starts = np.searchsorted(square[order], square[order])
    chosen = order[np.arange(len(order)) - starts < CANDIDATES]
    x, y = (np.bincount(inverse, axis[values.rows])[chosen] / counts[chosen] for axis in places.T)
    texts = [values.values[one] for one in value[chosen].tolist()]
    return list(
        map(
            TypicalValue,
            score[chosen].tolist(),
            square[chosen].tolist(),
            texts,
            x.tolist(),
            y.tolist(),
        )
    )


def _best_of_squares(by_field: Sequence[Sequence[TypicalValue]]) -> list[list[TypicalValue]]:
    """Return the most typical value of each square, with a second one where it says something else
    as clearly.
    """
    best: dict[int, list[TypicalValue]] = {}
    for candidate in sorted((one for some in by_field for one in some), key=lambda one: -one.score):
        chosen = best.setdefault(candidate.square, [candidate])
        if len(chosen) == 1 and candidate.score >= SECOND * chosen[0].score:
            first, second = chosen[0].text.casefold(), candidate.text.casefold()
            chosen += [] if first in second or second in first else [candidate]
    return list(best.values())


@frozen
class MapColours:
    """The values that have a colour, how many records have each, and the colour of each record (0:
    none).
    """

    values: Sequence[str]
    counts: Sequence[int]
    codes: Codes
    is_ordered: bool = False  # whether the values are steps of a scale


def colour_by_values(places: Places, values: MappedValues) -> MapColours:
    """Return colours for the values of a field that lie together most."""
    count, total = len(places), len(values.values)
    if not len(values.indexes):
        return MapColours(values=(), counts=(), codes=np.zeros(count, dtype=np.uint8))
    columns = np.minimum((places.astype(np.int64) + REACH) * SIDE // (2 * REACH + 1), SIDE - 1)
    squares = columns[:, 1] * SIDE + columns[:, 0]
    there = np.bincount(
        squares[values.rows] * total + values.indexes, minlength=SIDE * SIDE * total
    )
    table = there.reshape(SIDE * SIDE, total).astype(np.float64)
    everywhere, sizes = table.sum(axis=0), np.bincount(squares, minlength=SIDE * SIDE)
    usual = everywhere / sizes.sum()
    lifts = (table + SMOOTHING * usual) / (sizes[:, None] + SMOOTHING) / np.maximum(usual, 1e-12)
    # how much more frequent each value is in a square than on the whole map
    lifts = np.maximum(lifts, 1e-12)
    gathered = everywhere if total <= MOST_COLOURS else (table * np.log(lifts)).sum(axis=0)
    chosen = np.argsort(-gathered, kind="stable")[:MOST_COLOURS]
    chosen = chosen[everywhere[chosen] > 0]
    chosen = chosen[np.argsort(-everywhere[chosen], kind="stable")]
    codes, best = np.zeros(count, dtype=np.uint8), np.zeros(count)
    for place, value in enumerate(chosen.tolist(), start=1):
        rows = values.rows[values.indexes == value]
        clearer = rows[lifts[squares[rows], value] > best[rows]]
        codes[clearer], best[clearer] = place, lifts[squares[clearer], value]
    return MapColours(
        values=[values.values[one] for one in chosen.tolist()],
        counts=[int(everywhere[one]) for one in chosen.tolist()],
        codes=codes,
    )


def colour_by_numbers(
    numbers: NDArray[np.float64], shown: Sequence[str], steps: Sequence[float]
) -> MapColours:
    """Return colours for steps of a scale: `shown` has a text for each, `steps` where each but the
    first begins.
    """
    is_known = ~np.isnan(numbers)
    codes = np.where(
        is_known, np.searchsorted(np.asarray(steps), numbers, side="right") + 1, NO_COLOUR
    )
    counts = np.bincount(codes, minlength=len(shown) + 1)[1:]
    return MapColours(
        values=list(shown), counts=counts.tolist(), codes=codes.astype(np.uint8), is_ordered=True
    )


def find_steps(numbers: NDArray[np.float64], most: int = 6) -> list[float]:
    """Return where the steps of a scale begin, but for the first, so that each has about as many
    records.
    """
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return []
    shares = np.linspace(0, 1, most + 1)[1:-1]
    steps = np.unique(np.quantile(known, shares, method="nearest"))
    return [float(step) for step in steps if step > known.min()]
