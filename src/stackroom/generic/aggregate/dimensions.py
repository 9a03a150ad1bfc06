"""Groups of records, by fields as a caller names them: `country`, `year/decade`, `price/10`.

A record is in a group for each of its values; one without a value is in none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.generic.aggregate.buckets import (
    Bucketing,
    Integers,
    ScopedNumbers,
    bucket_numbers,
    parse_bucketing,
)
from stackroom.generic.aggregate.shapes import FIGURES
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import term_of
from stackroom.text.cells.values import bounds_of
from stackroom.text.instructions import quoted
from stackroom.text.normalise import meant
from stackroom.tools.filters import KIND

MOST_DIMENSIONS = 2
NAMES_SHOWN = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A field to group by, under the name that callers use, and the buckets of a number."""

    name: str
    field: FieldSpec
    bucketing: Bucketing = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """The parts of the records in scope by one dimension: row `rows[i]` is in part `indexes[i]`."""

    dimension: Dimension
    rows: Integers
    indexes: Integers
    labels: Sequence[str | int | float]
    bounds: Sequence[tuple[float, float]] = ()
    """The bounds of each part of a number, both included; none where parts are values."""

    @property
    def is_ordered(self) -> bool:
        """Whether the parts have an order of their own."""
        return self.dimension.field.is_numeric or self.dimension.field.brackets


def parse_dimensions(by: Sequence[str], spec: CatalogueSpec) -> list[Dimension]:
    """Return the dimensions that are asked for; raise InputError naming what would be right."""
    found = [_dimension(stated, spec) for stated in by]
    if len({dimension.name for dimension in found}) < len(found):
        raise InputError(f"'by' names '{found[0].name}' twice; give two different fields")
    return found


def _dimension(stated: str, spec: CatalogueSpec) -> Dimension:
    fields = groupable_fields(spec)
    if meant(stated, fields) in fields:
        name, _slash, bucket = stated, "", ""
    else:
        name, _slash, bucket = stated.partition("/")
    name = meant(name.strip(), fields)
    if name not in fields:
        raise InputError(f"'by': {_no_field(name, spec, list(fields))}")
    field = fields[name]
    return Dimension(name=name, field=field, bucketing=parse_bucketing(bucket, field) if bucket.strip() else None)


def groupable_fields(spec: CatalogueSpec) -> dict[str, FieldSpec]:
    """Return the fields that records can be grouped by, by the names that callers use."""
    found = {field.name: field for field in spec.column_fields}
    if len(spec.kinds) > 1:
        found.setdefault(KIND, FieldSpec(name=KIND_FIELD, type=FieldType.ENUM, filter=FilterKind.ANY_OF))
    return found


def find_number(name: str, spec: CatalogueSpec) -> FieldSpec:
    """Return the number that is to be described; raise InputError naming those that there are."""
    numbers = {field.name: field for field in spec.column_fields if field.is_numeric}
    chosen = meant(name.strip(), numbers)
    if chosen in numbers:
        return numbers[chosen]
    known = f"; numbers: {_listed(list(numbers))}" if numbers else f"; '{spec.name}' has no number"
    of_text = meant(name.strip(), spec.fields)
    if of_text in spec.fields:
        field = spec.fields[of_text]
        reason = "has no column" if field.is_numeric else f"is {field.type}, not a number"
        raise InputError(f"'of': '{field.name}' {reason}{known}")
    raise InputError(f"'of': {_no_field(name, spec, list(numbers))}")


def _no_field(name: str, spec: CatalogueSpec, known: list[str]) -> str:
    listed = f"; right are {_listed(known)}" if known else ""
    reason = "cannot be counted by" if name in spec.fields else "has no field"
    return f"'{spec.name}' {reason} '{quoted(name[:60])}'{did_you_mean(name, known)}{listed}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:NAMES_SHOWN])} and {more} more, which browse lists"


def partition_rows(reader: ShelfReader, dimension: Dimension, keys: Integers, scope: Scope) -> Partition:
    """Divide the records of these keys, all that are in scope in key order, by one dimension."""
    if dimension.field.is_numeric:
        return _by_number(reader, dimension, keys)
    found = reader.occurrences(dimension.field.name, scope=scope)
    rows, indexes = np.searchsorted(keys, found.keys), found.indexes
    asked = _asked_terms(dimension, scope)
    if asked is not None:
        kept = np.array([term_of(value) in asked for value in found.values], dtype=bool)[indexes]
        rows, indexes = rows[kept], indexes[kept]
    if not dimension.field.brackets:
        return Partition(dimension=dimension, rows=rows, indexes=indexes, labels=found.values)
    order = sorted(range(len(found.values)), key=lambda place: bounds_of(found.values[place]))
    labels = [found.values[place] for place in order]
    return Partition(dimension=dimension, rows=rows, indexes=np.argsort(order)[indexes], labels=labels)


def _asked_terms(dimension: Dimension, scope: Scope) -> set[str] | None:
    """Return the values of which a record has any by the filters; only these are groups. None where there are none.

    A filter for one value of them is then a narrower one, and finds the records of its group.
    """
    asked = [
        condition.values
        for condition in scope.conditions
        if isinstance(condition, AnyOf) and condition.field == dimension.field.name
    ]
    terms = [{term_of(value) for value in values} for values in asked]
    return set.intersection(*terms) if terms else None


def _by_number(reader: ShelfReader, dimension: Dimension, keys: Integers) -> Partition:
    numbers = reader.numbers(dimension.field.name, keys.tolist())
    rows = np.flatnonzero(np.isfinite(numbers))
    if not len(rows):
        return Partition(dimension=dimension, rows=rows, indexes=rows, labels=())
    buckets = bucket_numbers(numbers[rows], dimension.field, dimension.bucketing)
    return Partition(
        dimension=dimension, rows=rows, indexes=buckets.indexes, labels=buckets.labels, bounds=buckets.bounds
    )


COUNT, VALUE = "count", "value"
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


def group_rows(partitions: Sequence[Partition], column: ScopedNumbers) -> list[Group]:
    """Group the rows by one or two partitions; those of a group are in the order of their numbers.

    A code and the rank of a row by its number are sorted as one integer, which is the quickest way to have both the
    groups together and the numbers of each in order.
    """
    size = max(len(column.values), 1)
    rows, codes = _crossed(partitions, size)
    packed = np.sort(codes * size + column.ranks[rows])
    sorted_codes, ranks = np.divmod(packed, size)
    starts = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
    each = np.split(column.order[ranks], starts[1:])
    found = zip(sorted_codes[starts].tolist(), each, strict=False)  # without a row there is no code
    return [Group(parts=_parts(code, partitions), rows=some) for code, some in found]


def _parts(code: int, partitions: Sequence[Partition]) -> tuple[int, ...]:
    """Return the parts that a code stands for."""
    return (code,) if len(partitions) == 1 else divmod(code, max(len(partitions[1].labels), 1))


def order_groups(groups: Iterable[Group], order: Order, column: ScopedNumbers) -> list[Group]:
    """Return the groups in an order, ties by count and then by value; those without a figure come last."""
    sign = -1 if order.is_descending else 1

    def place(group: Group) -> tuple[float, ...]:
        if order.by == COUNT:
            return (sign * len(group.rows),)
        if order.by == VALUE:
            return (sign * group.parts[0],)
        found = column.figures(group.rows)
        return (0, sign * found[order.by]) if found else (1, 0.0)

    return sorted(groups, key=lambda group: (*place(group), -len(group.rows), *group.parts))


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
