"""Labels of a map: the values that are typical of a part of it.

The map is cut into squares, coarse ones first. A value is typical of a square where it is much more frequent than on
the whole map. Coarse labels are for the map as a whole, fine ones for those who look closer.
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


class FieldValues(NamedTuple):
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


def find_labels(places: Places, fields: Sequence[FieldValues]) -> list[MapLabel]:
    """Return the labels of a map, coarse ones first, and of each level the clearest first."""
    kept: list[MapLabel] = []
    for level, side in enumerate(SIDES):
        if side > SIDES[0] and side * side > 2 * len(places):
            break
        kept += _labels_of_level(places, fields, level, kept)
    return kept


def _labels_of_level(
    places: Places, fields: Sequence[FieldValues], level: int, coarser: Sequence[MapLabel]
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


def _by_clarity(places: Places, fields: Sequence[FieldValues], level: int) -> Iterator[MapLabel]:
    """Yield the most typical value of each square, of squares that lie side by side and of those between them."""
    squarings = [_squares_of(places, SIDES[level], shift) for shift in (0.0, 0.5)]
    candidates = [
        one for squares in squarings for one in _best_of_squares([_candidates(values, squares) for values in fields])
    ]
    for one in sorted(candidates, key=lambda one: (-one.score, one.square, one.text)):
        x, y = np.median(places[one.rows], axis=0)
        yield MapLabel(
            text=one.text, field=one.field, x=round(x), y=round(y), level=level, count=len(one.rows), rows=one.rows
        )


def _squares_of(places: Places, side: int, shift: float) -> Rows:
    """Return the square of each record, numbered by rows."""
    columns = np.floor((places.astype(np.float64) + REACH) / (2 * REACH + 1) * side + shift).astype(np.int64)
    squares: Rows = columns[:, 1] * (side + 1) + columns[:, 0]
    return squares


def _candidates(values: FieldValues, squares: Rows) -> list[_Candidate]:
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
        for one in candidates:
            if one.square not in best or one.score > best[one.square].score:
                best[one.square] = one
    return list(best.values())
