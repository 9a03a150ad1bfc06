"""The distribution of a number or a date as bars, about two dozen, with round edges; far values are put together."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import FieldSpec, FieldType
from stackroom.tools.aggregate.buckets import SKEWED, USUAL, plain_number
from stackroom.tools.generic.shapes import Bar

MOST_BARS = 24
MOST_SINGLE = 60
"""Whole numbers that reach no further than this have a bar for each."""
STEPS = (1, 2, 5, 10)
DAYS_OF_A_YEAR = 366

Numbers = NDArray[np.float64]


def draw_histogram(numbers: Numbers, field: FieldSpec) -> dict[str, Any] | None:
    """Return the least and the greatest number, and the bars between; None where no record has a number."""
    known = np.sort(numbers[np.isfinite(numbers)])
    if not known.size:
        return None
    least, greatest = float(known[0]), float(known[-1])
    starts = _day_starts(least, greatest) if field.type is FieldType.DATE else _starts(known, field)
    counts = np.diff(np.searchsorted(known, [*starts, np.inf], side="left")).tolist()
    ends = [*starts[1:], None]
    bars = [
        Bar(first=_written(start, field), last=_written(_end(end, greatest, field), field), count=count)
        for start, end, count in zip(starts, ends, counts, strict=True)
    ]
    return {"min": _written(least, field), "max": _written(greatest, field), "bars": bars}


def _starts(known: Numbers, field: FieldSpec) -> list[float]:
    """Return where each bar begins; the first begins at the least number, and the last has all that is beyond."""
    low, high = float(known[0]), float(known[-1])
    usual_low, usual_high = (float(end) for end in np.quantile(known, USUAL))
    if usual_high > usual_low and SKEWED * (usual_high - usual_low) < high - low:
        low, high = usual_low, usual_high
    is_whole = field.type is FieldType.INT
    width = 1.0 if is_whole and high - low < MOST_SINGLE else _round_width(high - low, is_whole=is_whole)
    first, last = np.floor(low / width), np.floor(high / width)
    inner = [float(f"{step * width:.15g}") for step in np.arange(first + 1, last + 1)]
    return [float(known[0]), *(start for start in inner if start > known[0])]


def _round_width(reach: float, *, is_whole: bool) -> float:
    raw = reach / MOST_BARS
    if raw <= 0:
        return 1.0
    step = 10.0 ** np.floor(np.log10(raw))
    width = next(float(step * one) for one in STEPS if step * one >= raw * 0.999)
    return max(1.0, width) if is_whole else width


def _day_starts(least: float, greatest: float) -> list[float]:
    """Return the first day of each year or month, or of several."""
    first, last = date.fromordinal(int(least)), date.fromordinal(int(greatest))
    if greatest - least < 2 * DAYS_OF_A_YEAR:
        months = range(first.year * 12 + first.month, last.year * 12 + last.month)
        starts = [date(month // 12, month % 12 + 1, 1) for month in months]
    else:
        width = max(1, int(_round_width(last.year - first.year, is_whole=True)))
        starts = [date(year, 1, 1) for year in _multiples(first.year + 1, last.year, width)]
    return [least, *(float(start.toordinal()) for start in starts if start.toordinal() > least)]


def _multiples(first: int, last: int, width: int) -> Sequence[int]:
    return range(-(-first // width) * width, last + 1, width)


def _end(end: float | None, greatest: float, field: FieldSpec) -> float:
    """Return the greatest number of a bar: of whole numbers and days the one before the next bar."""
    if end is None:
        return greatest
    return end if field.type is FieldType.FLOAT else end - 1


def _written(number: float, field: FieldSpec) -> int | float | str:
    if field.type is FieldType.DATE:
        return date.fromordinal(int(number)).isoformat()
    return plain_number(number)
