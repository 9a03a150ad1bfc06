"""The groups of records by one or two dimensions, each with its rows, ascending by the number that is described."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stackroom.errors import InputError
from stackroom.tools.aggregate.buckets import Integers
from stackroom.tools.aggregate.dimensions import Partition
from stackroom.tools.aggregate.figures import Figures, NumberColumn

COUNT, VALUE = "count", "value"
FIGURES: dict[str, Callable[[Figures], float]] = {
    "min": lambda one: one.least,
    "max": lambda one: one.greatest,
    "mean": lambda one: one.mean,
    "median": lambda one: one.median,
    "sum": lambda one: one.total,
}
DIRECTIONS = ("asc", "desc")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """A group: the part of each dimension that it is of, and its rows."""

    parts: tuple[int, ...]
    rows: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order of groups: by the count, the values grouped by, or a figure."""

    by: str
    is_descending: bool

    @classmethod
    def parse(cls, stated: str | None, partitions: Sequence[Partition], *, has_number: bool) -> "Order":
        """Return the order that is asked for; by default ranges and times by value, others by count."""
        if stated is None:
            is_natural = bool(partitions) and partitions[0].is_ordered
            return cls(by=VALUE if is_natural else COUNT, is_descending=not is_natural)
        name, _, direction = stated.strip().casefold().partition(" ")
        choices = [COUNT, VALUE, *(FIGURES if has_number else ())]
        if name not in choices or direction.strip() not in ("", *DIRECTIONS):
            needs = "; a figure needs 'of'" if name in FIGURES and not has_number else ""
            raise InputError(
                f"'sort' is '{stated[:40]}'{needs}; right are {', '.join(choices)}, and 'asc' or 'desc' after it"
            )
        return cls(by=name, is_descending=direction.strip() == "desc" if direction else name != VALUE)


def is_highest_first(stated: str | None, number: str) -> bool:
    """Tell whether records are ranked from the highest number to the lowest, which is the default."""
    *head, last = (stated or "desc").casefold().split() or ["desc"]
    name, direction = (head, last) if last in DIRECTIONS else ([*head, last], "")
    if name not in ([], [VALUE], ["min"], ["max"], [number.casefold()]):
        raise InputError(
            f"'sort' is '{(stated or '')[:40]}'; without 'by' right are 'desc', the highest first, and 'asc'"
        )
    return direction == "desc" if direction else name != ["min"]


@dataclass(frozen=True, eq=False)
class Grouping:
    """All groups, unordered."""

    partitions: Sequence[Partition]
    column: NumberColumn
    codes: Integers
    """The number of each group, which stands for its parts."""
    starts: Integers
    """The place in `rows` where each group begins."""
    rows: Integers

    def ordered(self, order: Order) -> list[Group]:
        """Return the groups in an order, ties by count and then by value."""
        groups = [self._group(place) for place in range(len(self.codes))]
        key = self._sort_key(order)
        return sorted(groups, key=lambda group: (*key(group), -len(group.rows), *group.parts))

    def _sort_key(self, order: Order) -> Callable[[Group], tuple[float, ...]]:
        sign = -1 if order.is_descending else 1
        if order.by == COUNT:
            return lambda group: (sign * len(group.rows),)
        if order.by == VALUE:
            return lambda group: (sign * group.parts[0],)
        figure = FIGURES[order.by]

        def by_figure(group: Group) -> tuple[float, ...]:
            found = self.column.figures(group.rows)
            return (1, 0.0) if found is None else (0, sign * figure(found))

        return by_figure

    def _group(self, place: int) -> Group:
        return Group(parts=self._parts(int(self.codes[place])), rows=self.rows[self._slices[place]])

    @cached_property
    def _slices(self) -> list[slice]:
        ends = [*self.starts[1:].tolist(), len(self.rows)]
        return [slice(start, end) for start, end in zip(self.starts.tolist(), ends, strict=True)]

    def _parts(self, code: int) -> tuple[int, ...]:
        if len(self.partitions) < 2:
            return (code,)
        return divmod(code, max(len(self.partitions[1].labels), 1))


def group_rows(partitions: Sequence[Partition], column: NumberColumn) -> Grouping:
    """Group the rows by one or two partitions.

    A code and the rank of a row by its number are sorted as one integer, which is the quickest way to have both the
    groups together and the numbers of each in order.
    """
    size = max(len(column.values), 1)
    rows, codes = _crossed(partitions, size)
    packed = np.sort(codes * size + column.ranks[rows])
    sorted_codes, ranks = np.divmod(packed, size)
    starts = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
    return Grouping(partitions, column, codes=sorted_codes[starts], starts=starts, rows=column.order[ranks])


def _crossed(partitions: Sequence[Partition], size: int) -> tuple[Integers, Integers]:
    """Return the rows of every combination of parts, and its code; there are `size` rows."""
    first = partitions[0]
    if len(partitions) == 1:
        return first.rows, first.indexes
    second = partitions[1]
    parts = second.indexes[np.argsort(second.rows, kind="stable")]
    each = np.bincount(second.rows, minlength=size)
    begins, counts = (np.cumsum(each) - each)[first.rows], each[first.rows]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    codes = np.repeat(first.indexes, counts) * max(len(second.labels), 1) + parts[np.repeat(begins, counts) + within]
    return np.repeat(first.rows, counts), codes
