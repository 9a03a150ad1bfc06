"""Counts and figures of a catalogue's records by the dimensions of a call, with the filters that list the records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.generic.aggregate.buckets import Integers, ScopedNumbers
from stackroom.generic.aggregate.dimensions import (
    Dimension,
    Group,
    Order,
    Partition,
    find_number,
    group_rows,
    is_highest_first,
    order_groups,
    parse_dimensions,
    partition_rows,
)
from stackroom.generic.aggregate.shapes import AggregateParts, BrowsedGroup, GroupedRecord, RecordByNumber
from stackroom.model.record import Key, Record
from stackroom.model.scope import Range, Scope
from stackroom.search.values import asks_for_adult
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import CatalogueView, address_of
from stackroom.tools.filters import ADULT, filters_of, plain_number, shown_number, written_range


@dataclass(frozen=True, kw_only=True)
class GroupFilters:
    """The filters of a call, and the scope that they make in one catalogue."""

    spec: CatalogueSpec
    scope: Scope
    stated: Mapping[str, Any]

    @property
    def base(self) -> dict[str, Any]:
        """The filters of the call under the names of fields; with adult records where they are asked for by a value."""
        known = filters_of(self.spec)
        named = {meant(name, known): value for name, value in self.stated.items()}
        has_adult = bool(self.spec.adult) and asks_for_adult(self.scope.conditions, self.spec) and ADULT not in known
        return {**named, ADULT: True} if has_adult else named

    def of(self, group: Group, partitions: Sequence[Partition]) -> dict[str, Any] | None:
        """Return the filters of a group; None where it is by a field that cannot be filtered by."""
        filters = self.base
        for part, partition in zip(group.parts, partitions, strict=True):
            dimension = partition.dimension
            if dimension.field.filter is None:
                return None
            if partition.bounds:
                filters[dimension.name] = self._range(dimension, partition.bounds[part])
            else:
                filters[dimension.name] = self._values(dimension, str(partition.labels[part]))
        return filters

    def _values(self, dimension: Dimension, value: str) -> list[str]:
        stated = self.base.get(dimension.name) or []
        if dimension.field.filter is not FilterKind.ALL_OF:
            return [value]
        return list(dict.fromkeys([*([stated] if isinstance(stated, str) else stated), value]))

    def _range(self, dimension: Dimension, bounds: tuple[float, float]) -> dict[str, Any]:
        """Return the range of a part within that of the call."""
        low, high = bounds
        for condition in self.scope.conditions:
            if isinstance(condition, Range) and condition.field == dimension.field.name:
                low = low if condition.at_least is None else max(low, condition.at_least)
                high = high if condition.at_most is None else min(high, condition.at_most)
        return written_range(Range(dimension.field.name, low, high), dimension.field)


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """Figures of a number by some fields, in an order, of the records in scope of one view.

    The records are in key order: a row is the place of a record among them.
    """

    view: CatalogueView
    scope: Scope
    by: Sequence[str]
    of: str | None
    sort: str | None
    filters: Mapping[str, Any]
    """The filters of the call as they are written; the scope has their meaning."""
    start: int
    limit: int

    def parts(self) -> AggregateParts:
        """Return the page of groups, or of ranked records, that is asked for, with the figures of all records."""
        page = slice(self.start, self.start + self.limit)
        groups, rows = self._groups[page], self._ranked[page]
        everything = Group(parts=(), rows=self._column.order)
        records = self._records([everything, *groups], rows)
        total, shown = len(self._groups) + len(self._ranked), len(groups) + len(rows)
        return AggregateParts(
            of=self._number.name if self._number else None,
            unit=(self._number.unit or None) if self._number else None,
            groups=[self._shape(group, records) for group in groups],
            group_count=total if shown < total else None,
            ranked=[self._ranked_record(row, records) for row in rows.tolist()],
            overall=None if self.start else self._shape(everything, records),
            without=self._without(),
        )

    @cached_property
    def _keys(self) -> Integers:
        reader = self.view.reader
        return np.array(reader.scan(scope=self.scope, limit=max(reader.count(self.scope), 1)), dtype=np.int64)

    @cached_property
    def _number(self) -> FieldSpec | None:
        return find_number(self.of, self.view.spec) if self.of else None

    @cached_property
    def _column(self) -> ScopedNumbers:
        if self._number is None:
            return ScopedNumbers(np.full(len(self._keys), np.nan))
        numbers = self.view.reader.numbers(self._number.name, self._keys.tolist())
        return ScopedNumbers(np.where(np.isfinite(numbers), numbers, np.nan))

    @cached_property
    def _partitions(self) -> list[Partition]:
        dimensions = parse_dimensions(self.by, self.view.spec)
        return [partition_rows(self.view.reader, dimension, self._keys, self.scope) for dimension in dimensions]

    @cached_property
    def _groups(self) -> list[Group]:
        if not self._partitions:
            return []
        order = Order.parse(self.sort, self._partitions, has_number=self._number is not None)
        return order_groups(group_rows(self._partitions, self._column), order, self._column)

    @cached_property
    def _ranked(self) -> Integers:
        """The rows by their number; none where records are grouped, or only counted."""
        if self._number is None or self._partitions:
            return np.empty(0, dtype=np.int64)
        return self._column.ranked(is_descending=is_highest_first(self.sort, self._number.name))

    @cached_property
    def _filters(self) -> GroupFilters:
        return GroupFilters(spec=self.view.spec, scope=self.scope, stated=self.filters)

    def _without(self) -> dict[str, int]:
        """Return how many records have no value of each field that is grouped by."""
        counts = {}
        for partition in self._partitions:
            lacks = np.ones(len(self._keys), dtype=bool)
            lacks[partition.rows] = False
            counts[partition.dimension.name] = int(np.count_nonzero(lacks))
        return {name: count for name, count in counts.items() if count}

    def _extremes(self, group: Group) -> list[Key]:
        """Return the first record with the least number of a group and the first with the greatest, if any has one."""
        numbers = self._column.values[group.rows]
        known = numbers[~np.isnan(numbers)]
        if not known.size:
            return []
        greatest = int(np.searchsorted(known, known[-1], side="left"))
        return [Key(int(self._keys[group.rows[place]])) for place in (0, greatest)]

    def _records(self, groups: Sequence[Group], rows: Integers) -> Mapping[Key, Record]:
        """Return the records at the ends of these groups, and those of these rows."""
        keys = {key: None for group in groups for key in self._extremes(group)}
        keys |= {Key(key): None for key in self._keys[rows].tolist()}
        return self.view.reader.fetch(list(keys), scope=self.scope) if keys else {}

    def _ranked_record(self, row: int, records: Mapping[Key, Record]) -> RecordByNumber:
        record, number = records[Key(int(self._keys[row]))], float(self._column.values[row])
        is_date = self._number is not None and self._number.type is FieldType.DATE
        value = str(record.get(self._number.name)) if self._number and is_date else plain_number(number)
        title = self.view.spec.title_of(record)
        return RecordByNumber(value=value, id=address_of(self.view.name, record.id), title=title)

    def _shape(self, group: Group, records: Mapping[Key, Record]) -> BrowsedGroup:
        values = {
            partition.dimension.name: partition.labels[part]
            for part, partition in zip(group.parts, self._partitions if group.parts else (), strict=True)
        }
        filters = self._filters.of(group, self._partitions) if group.parts else self._filters.base
        counted = BrowsedGroup(values=values, count=len(group.rows), filters=filters)
        return counted.model_copy(update=self._figures(group, records))

    def _figures(self, group: Group, records: Mapping[Key, Record]) -> dict[str, Any]:
        """Return the figures of a group by name; none where no number is asked for, or none is known."""
        known = len(group.rows) - int(np.count_nonzero(np.isnan(self._column.values[group.rows])))
        partly = {"known": known} if self._number is not None and known < len(group.rows) else {}
        found = self._column.figures(group.rows)
        if not found or self._number is None:
            return partly
        least, greatest = (records[key] for key in self._extremes(group))
        shown = {"min_record": self._grouped_record(least), "max_record": self._grouped_record(greatest)}
        if self._number.type is not FieldType.DATE:
            return {**partly, **{name: plain_number(figure) for name, figure in found.items()}, **shown}
        # the ends as they are known: a day, a month or a year
        ends = {"min": str(least.get(self._number.name)), "max": str(greatest.get(self._number.name))}
        return {**partly, **ends, "median": shown_number(found["median"], self._number), **shown}

    def _grouped_record(self, record: Record) -> GroupedRecord:
        return GroupedRecord(id=address_of(self.view.name, record.id), title=self.view.spec.title_of(record))
