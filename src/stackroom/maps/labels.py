"""Labels and colours of a map: the values that are typical of a part of it.

The map is cut into squares, coarse ones first. A value is typical of a square where it is much more frequent than on
the whole map. Coarse labels are for the map as a whole, fine ones for those who look closer. Of a field with many
values those have colours that lie together on the map: a value that is everywhere alike tells nothing by its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stackroom.maps.map_file import REACH, Places

Rows = NDArray[np.int64]

SIDES = (4, 8, 16, 32)
"""How many squares there are in each direction, by level."""
MOST_LABELS = (14, 40, 120, 300)
LEAST_RECORDS = 3
LEAST_SHARE = 0.3
"""The share of a square's records that have a typical value."""
LEAST_LIFT = 1.5
"""How much more frequent it is there than on the whole map."""
APART = 0.75
"""How far apart two labels of a level are at least, in squares, and twice that far if they say the same."""
LONGEST_LABEL = 40
MOST_COLOURS = 8
NO_COLOUR = 0
SIDE = 12
"""How many squares there are in each direction, by which it is measured where a value lies."""
SMOOTHING = 1.0
Codes = NDArray[np.uint8]


class MappedValues(NamedTuple):
    """The values of a field on the map: the record at `rows[i]` has `values[indexes[i]]`."""

    field: str
    values: Sequence[str]
    indexes: Rows
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MapLabel:
    """A typical value at a place of the map."""

    text: str
    field: str
    x: int
    y: int
    level: int
    count: int
    """How many records of its square have the value."""
    rows: Rows
    """Those records."""


class _Candidate(NamedTuple):
    """A value that is typical of a square, how clearly it is, and the records there that have it."""

    score: float
    square: int
    text: str
    field: str
    rows: Rows


def find_labels(places: Places, fields: Sequence[MappedValues]) -> list[MapLabel]:
    """Return the labels of a map, coarse ones first, and of each level the clearest first."""
    kept: list[MapLabel] = []
    for level, side in enumerate(SIDES):
        if side > SIDES[0] and side * side > 2 * len(places):
            break
        kept += _labels_of_level(places, fields, level, kept)
    return kept


def _labels_of_level(
    places: Places, fields: Sequence[MappedValues], level: int, coarser: Sequence[MapLabel]
) -> list[MapLabel]:
    width = 2 * REACH / SIDES[level]
    found: list[MapLabel] = []
    for label in _by_clarity(places, fields, level):
        if all(_is_apart(label, other, width) for other in (*coarser, *found)):
            found.append(label)
        if len(found) == MOST_LABELS[level]:
            break
    return found


def _is_apart(label: MapLabel, other: MapLabel, width: float) -> bool:
    distance = max(abs(label.x - other.x), abs(label.y - other.y)) / width
    if label.text.casefold() == other.text.casefold():
        return distance > 2 * APART * SIDES[label.level] / SIDES[other.level]
    return label.level > other.level or distance > APART


def _by_clarity(places: Places, fields: Sequence[MappedValues], level: int) -> Iterator[MapLabel]:
    """Yield the most typical value of each square, of squares that lie side by side and of those between them."""
    squarings = [_squares_of(places, SIDES[level], shift) for shift in (0.0, 0.5)]
    candidates = [
        one for squares in squarings for one in _best_of_squares([_candidates(values, squares) for values in fields])
    ]
    for candidate in sorted(candidates, key=lambda one: (-one.score, one.square, one.text)):
        x, y = np.median(places[candidate.rows], axis=0)
        yield MapLabel(
            text=candidate.text,
            field=candidate.field,
            x=round(x),
            y=round(y),
            level=level,
            count=len(candidate.rows),
            rows=candidate.rows,
        )


def _squares_of(places: Places, side: int, shift: float) -> Rows:
    """Return the square of each record, numbered by rows."""
    columns = np.floor((places.astype(np.float64) + REACH) / (2 * REACH + 1) * side + shift).astype(np.int64)
    squares: Rows = columns[:, 1] * (side + 1) + columns[:, 0]
    return squares


def _candidates(values: MappedValues, squares: Rows) -> list[_Candidate]:
    """Return the values of a field that are typical of a square."""
    if not len(values.rows):
        return []
    total, sizes, kinds = len(squares), np.bincount(squares), len(values.values)
    pairs = squares[values.rows] * kinds + values.indexes
    order = np.argsort(pairs, kind="stable")
    distinct, starts, counts = np.unique(pairs[order], return_index=True, return_counts=True)
    square, value = np.divmod(distinct, kinds)
    share = counts / sizes[square]
    lift = share / (np.bincount(values.indexes, minlength=kinds)[value] / total)
    least = min(LEAST_RECORDS, max(1, total // 50))
    is_typical = (counts >= least) & (share >= LEAST_SHARE) & (lift >= LEAST_LIFT)
    score = counts * np.log(lift) * np.sqrt(share)
    return [
        _Candidate(
            score=float(score[one]),
            square=int(square[one]),
            text=values.values[int(value[one])],
            field=values.field,
            rows=values.rows[order[starts[one] : starts[one] + counts[one]]],
        )
        for one in np.flatnonzero(is_typical).tolist()
        if len(values.values[int(value[one])]) <= LONGEST_LABEL
    ]


def _best_of_squares(by_field: Sequence[Sequence[_Candidate]]) -> list[_Candidate]:
    best: dict[int, _Candidate] = {}
    for candidates in by_field:
        for candidate in candidates:
            if candidate.square not in best or candidate.score > best[candidate.square].score:
                best[candidate.square] = candidate
    return list(best.values())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MapColours:
    """The values that have a colour, how many records have each, and the colour of each record (0: none)."""

    values: Sequence[str]
    counts: Sequence[int]
    codes: Codes
    is_ordered: bool = False
    """Whether the values are steps of a scale."""


def colour_by_values(places: Places, values: MappedValues) -> MapColours:
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
    values: MappedValues, chosen: NDArray[np.int64], lifts: NDArray[np.float64], squares: NDArray[np.int64]
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
