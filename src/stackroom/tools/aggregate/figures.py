"""Figures of a number: minimum, maximum, mean, median and sum, exact for numbers as they are written.

Decimal fractions are added as whole numbers of their last digit, so that 0.1 three times is 0.3. Numbers with more
digits than that are added without loss before the one rounding of the result.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stackroom.tools.aggregate.buckets import Integers, Numbers

MOST_DIGITS = 6
"""Numbers with at most so many decimal places are added as whole numbers."""
EXACT = 2**53
LARGEST_SUM = 2**62
MEAN_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of some numbers, at least one."""

    least: float
    greatest: float
    mean: float
    median: float
    total: float


@dataclass(frozen=True, eq=False)
class NumberColumn:
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
        """Return the rows that have a number, the highest first or the lowest, ties in row order."""
        order = np.argsort(-self.values, kind="stable") if is_descending else self.order
        return order[: len(order) - int(np.count_nonzero(np.isnan(self.values)))]

    def figures(self, rows: Integers) -> Figures | None:
        """Return the figures of these rows, ascending by number; None where none has a number."""
        values = self.values[rows]
        known = len(values) - int(np.count_nonzero(np.isnan(values)))
        if not known:
            return None
        total = self._sum(rows[:known])
        middle = rows[(known - 1) // 2 : known // 2 + 1]
        return Figures(
            least=float(values[0]),
            greatest=float(values[known - 1]),
            mean=_rounded(_quotient(*total, known)),
            median=_quotient(*self._sum(middle), len(middle)),
            total=_quotient(*total, 1),
        )

    def _sum(self, rows: Integers) -> tuple[int | float, int]:
        """Return a numerator and a denominator of the sum of these rows, all of them known."""
        if self._scaled is None:
            return math.fsum(self.values[rows].tolist()), 1
        units, scale = self._scaled
        some = units[rows]
        is_safe = len(some) * self._greatest_unit < LARGEST_SUM
        return (int(some.sum()) if is_safe else sum(some.tolist())), scale

    @cached_property
    def _scaled(self) -> tuple[Integers, int] | None:
        """The numbers as whole numbers of a decimal place, and how many make one; None where they are not decimal."""
        known = np.nan_to_num(self.values)
        for digits in range(MOST_DIGITS + 1):
            scale = 10**digits
            units = np.round(known * scale)
            if np.abs(units).max(initial=0.0) >= EXACT:
                return None
            if np.array_equal(units / scale, known):
                return units.astype(np.int64), scale
        return None

    @cached_property
    def _greatest_unit(self) -> int:
        return int(np.abs(self._scaled[0]).max(initial=0)) if self._scaled else 0


def _quotient(numerator: int | float, denominator: int, count: int) -> float:
    return numerator / (denominator * count)


def _rounded(mean: float) -> float:
    """Return a mean with as many digits as say something."""
    return round(mean, MEAN_DIGITS) if abs(mean) >= 1 else float(f"{mean:.{MEAN_DIGITS}g}")
