"""Buckets of numbers and dates: each value apart, equal ranges with round edges, or decades, years
and months.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import FieldRole, FieldSpec, FieldType
from stackroom.errors import InputError
from stackroom.tools.filters import FINEST, plain_number

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_VALUES = 30  # a number with no more different values than this has a bucket for each of them
WANTED_BUCKETS = 10
ROUND = (1, 2, 5, 10)
USUAL = (0.025, 0.975)  # the quantiles between which most numbers lie
# where all numbers reach so many times as far as most of them, the few that are far away are put
# together
SKEWED = 3
EPOCH = date(1970, 1, 1).toordinal()
ORDINALS = date.min.toordinal(), date.max.toordinal()


class Period(StrEnum):
    """A bucket of time."""

    DECADE = "decade"
    YEAR = "year"
    MONTH = "month"


MONTHS = {Period.DECADE: 120, Period.YEAR: 12, Period.MONTH: 1}


class Buckets(NamedTuple):
    """Numbers in buckets: number `i` is in bucket `indexes[i]`; buckets are in ascending order."""

    indexes: Integers
    labels: Sequence[str | int | float]
    # the least and the greatest number of each bucket, both included
    bounds: Sequence[tuple[float, float]]


# a period, the width of a range, or None for the usual buckets of the field
Bucketing = Period | float | None


def parse_bucketing(stated: str, field: FieldSpec) -> Bucketing:
    """Return the buckets that are meant by what follows the slash in `year/decade` or
    `price/10`.
    """
    name, text = field.name, stated.strip().casefold()
    place = f"'by': '{name}/{stated[:40]}'"
    if not field.is_numeric:
        raise InputError(f"{place}: the values of '{name}' are no numbers; group by '{name}'")
    if text in list(Period):
        if field.type is FieldType.FLOAT or (field.type is FieldType.INT and text == Period.MONTH):
            raise InputError(
                f"{place}: '{name}' is no date; right is the width of a range, as in '{name}/10'"
            )
        return Period(text)
    if field.type is FieldType.DATE:
        raise InputError(
            f"{place} is no period; right are {', '.join(f'{name}/{period}' for period in Period)}"
        )
    with suppress(ValueError):
        if math.isfinite(width := float(text)) and width > 0:
            return width
    raise InputError(f"{place}: the width of a range must be a number above 0, as in '{name}/10'")


def bucket_numbers(numbers: Numbers, field: FieldSpec, bucketing: Bucketing) -> Buckets:
    """Put the numbers of a field, all of them known, in buckets."""
    if field.type is FieldType.DATE:
        return _by_calendar(numbers, bucketing if isinstance(bucketing, Period) else Period.YEAR)
    if bucketing is Period.DECADE:
        found = _by_width(numbers, field, Decimal(10))
        return found._replace(labels=[f"{year:.0f}s" for year, _ in found.bounds])
    if bucketing is Period.YEAR:
        return _each(numbers)
    if isinstance(bucketing, float):
        return _by_width(numbers, field, Decimal(repr(bucketing)))
    if field.role is FieldRole.TIME or len(np.unique(numbers)) <= MOST_VALUES:
        return _each(numbers)
    return _by_usual_width(numbers, field)


def round_width(reach: float, *, is_whole: bool, parts: int = WANTED_BUCKETS) -> Decimal:
    """Return a round number by which a range of this length is cut in about so many parts."""
    raw = Decimal(repr(reach)) / parts
    step = Decimal(1).scaleb(raw.adjusted())
    width = next(step * factor for factor in ROUND if step * factor >= raw)
    return max(width, Decimal(1)) if is_whole else width


def _each(numbers: Numbers) -> Buckets:
    values, indexes = np.unique(numbers, return_inverse=True)
    each = values.tolist()
    labels = [plain_number(value) for value in each]
    return Buckets(indexes=indexes, labels=labels, bounds=[(value, value) for value in each])


def usual_range(numbers: Numbers) -> tuple[float, float]:
    """Return the least and the greatest number; of most of them where a few are far away."""
    low, high = (float(end) for end in np.quantile(numbers, USUAL))
    if low < high and SKEWED * (high - low) < float(np.ptp(numbers)):
        return low, high
    return float(numbers.min()), float(numbers.max())


def _by_usual_width(numbers: Numbers, field: FieldSpec) -> Buckets:
    """Cut the range of the numbers in about ten; that of most of them where a few are far away, and
    these apart.
    """
    low, high = usual_range(numbers)
    width = round_width(high - low, is_whole=field.type is FieldType.INT)
    if high - low == float(np.ptp(numbers)):
        return _by_width(numbers, field, width)
    first, end = _steps(np.array([low, high]), field, width).tolist()
    begin, after = width * first, width * (end + 1)
    # What is beyond goes to the bucket before the first one, or to that after the last one.
    buckets = _by_width(np.clip(numbers, float(begin - width / 2), float(after)), field, width)
    labels, bounds = list(buckets.labels), list(buckets.bounds)
    observed = _observed(numbers, buckets.indexes, len(labels))
    if observed[0][0] < begin:
        labels[0], bounds[0] = f"under {_written(begin)}", observed[0]
    if observed[-1][1] >= after:
        labels[-1], bounds[-1] = f"{_written(after)} or more", observed[-1]
    return buckets._replace(labels=labels, bounds=bounds)


def _by_width(numbers: Numbers, field: FieldSpec, width: Decimal) -> Buckets:
    steps, indexes = np.unique(_steps(numbers, field, width), return_inverse=True)
    lows = [width * step for step in steps.tolist()]
    if field.type is FieldType.INT and width == int(width):
        bounds = [(float(low), float(low + width - 1)) for low in lows]
        labels = [_range_label(low, low + width - 1, "to") for low in lows]
    else:
        bounds = _observed(numbers, indexes, len(lows))
        labels = [_range_label(low, low + width, "to under") for low in lows]
    return Buckets(indexes=indexes, labels=labels, bounds=bounds)


def _steps(numbers: Numbers, field: FieldSpec, width: Decimal) -> Integers:
    """Return which multiple of the width begins the range of each number, exact at the edges as
    they are written.
    """
    wide = float(width)
    if float(np.abs(numbers).max(initial=0.0)) / wide > FINEST:
        advice = "the ranges are too narrow for numbers of this size; give a greater width"
        raise InputError(f"'by': '{field.name}/{width}': {advice}")
    digits = max(0, -int(width.normalize().as_tuple().exponent))
    steps = np.floor(numbers / wide)
    steps += numbers >= np.round((steps + 1) * wide, digits)
    steps -= numbers < np.round(steps * wide, digits)
    return steps.astype(np.int64)


def _observed(numbers: Numbers, indexes: Integers, count: int) -> list[tuple[float, float]]:
    """Return the least and the greatest number that each bucket really has: no other number in it
    lies beyond.
    """
    least, greatest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, indexes, numbers)
    np.maximum.at(greatest, indexes, numbers)
    return list(zip(least.tolist(), greatest.tolist(), strict=True))


def _range_label(low: Decimal, high: Decimal, joint: str) -> str:
    return _written(low) if low == high else f"{_written(low)} {joint} {_written(high)}"


def _written(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _by_calendar(numbers: Numbers, period: Period) -> Buckets:
    days = (numbers.astype(np.int64) - EPOCH).astype("datetime64[D]")
    starts, indexes = np.unique(days.astype(f"datetime64[{MONTHS[period]}M]"), return_inverse=True)
    firsts, after = (
        some.astype("datetime64[D]").astype(np.float64) + EPOCH for some in (starts, starts + 1)
    )
    bounds = zip(firsts.clip(*ORDINALS).tolist(), (after - 1).clip(*ORDINALS).tolist(), strict=True)
    labels = [
        str(start)
        for start in starts.astype("datetime64[M]" if period is Period.MONTH else "datetime64[Y]")
    ]
    decades = [f"{int(year)}s" for year in labels] if period is Period.DECADE else labels
    return Buckets(indexes=indexes, labels=decades, bounds=list(bounds))


DIGITS, MEAN_DIGITS = 14, 6  # the digits of sums and medians, and the decimal places of means


@dataclass(frozen=True, eq=False)
class ScopedNumbers:
    """The numbers of the records in scope, NaN where one is missing."""

    values: Numbers

    @cached_property
    def order(self) -> Integers:
        """The rows by number, missing ones last, ties in row order."""
        return np.argsort(self.values, kind="stable")

    @cached_property
    def ranks(self) -> Integers:
        """The place of each row in that order."""
        ranks = np.empty(len(self.values), dtype=np.int64)
        ranks[self.order] = np.arange(len(self.values))
        return ranks

    def ranked(self, *, is_descending: bool) -> Integers:
        """Return the rows that have a number, the highest first or the lowest, ties in row
        order.
        """
        order = np.argsort(-self.values, kind="stable") if is_descending else self.order
        return order[: len(order) - int(np.count_nonzero(np.isnan(self.values)))]

    def figures(self, rows: Integers) -> dict[str, float]:
        """Return the figures of these rows, ascending by number; none where none has a number."""
        values = self.values[rows]
        known = len(values) - int(np.count_nonzero(np.isnan(values)))
        if not known:
            return {}
        total = math.fsum(values[:known].tolist())
        mean = total / known
        return {
            "min": float(values[0]),
            "max": float(values[known - 1]),
            "mean": round(mean, MEAN_DIGITS)
            if abs(mean) >= 1
            else float(f"{mean:.{MEAN_DIGITS}g}"),
            "median": _rounded(float(np.median(values[:known]))),
            "sum": _rounded(total),
        }


def _rounded(figure: float) -> float:
    """Return a figure without the last digits, in which sums of decimal fractions differ from what
    people add up.
    """
    return figure if figure.is_integer() else float(f"{figure:.{DIGITS}g}")
