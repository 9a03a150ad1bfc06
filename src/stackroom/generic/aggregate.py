"""Counts and figures of a catalogue's records by fields as callers name them: `country`,
`year/decade`, `price/10`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError, did_you_mean, list_some
from stackroom.frozen import frozen
from stackroom.generic.buckets import (
    Bucketing,
    Integers,
    ScopedNumbers,
    bucket_numbers,
    parse_bucketing,
)
from stackroom.generic.shapes import BrowseParams
from stackroom.model.record import Key, Record
from stackroom.model.scope import KIND_FIELD, AnyOf, Range, Scope
from stackroom.search.values import asks_for_adult
from stackroom.shelf.terms import term_of
from stackroom.text.cells.values import bounds_of
from stackroom.text.instructions import quoted
from stackroom.text.normalise import meant
from stackroom.text.safe import safe_json
from stackroom.tools.budget import json_text, value_text
from stackroom.tools.catalogue import CatalogueView, address_of
from stackroom.tools.filters import (
    ADULT,
    KIND,
    filters_of,
    plain_number,
    shown_number,
    written_range,
)
from stackroom.tools.reading import EVERY, words_of_list
from stackroom.tools.spec import GenericResult, is_empty, when_any, when_known

NAMES_SHOWN = 15
COUNT, VALUE = "count", "value"
DIRECTIONS = ("asc", "desc")
Figure = float | int | str | None
FIGURES = ("min", "max", "mean", "median", "sum")


class GroupedRecord(GenericResult):
    """A record that has the least or the greatest number of a group."""

    id: str
    title: str


class BrowsedGroup(GenericResult):
    """A group: the values that its records share, how many they are, and the figures of a
    number.
    """

    values: dict[str, str | int | float] = when_any(dict)
    count: int
    known: int | None = when_known()
    """How many of the records have the number, where that is not all of them."""
    min: Figure = when_known()
    max: Figure = when_known()
    mean: Figure = when_known()
    median: Figure = when_known()
    sum: Figure = when_known()
    min_record: GroupedRecord | None = when_known()
    max_record: GroupedRecord | None = when_known()
    """The first record that has the least number, and the first that has the greatest."""
    filters: dict[str, Any] | None = when_known()
    """The filters that list its records, with the other arguments of `list_with`."""


class RecordByNumber(GenericResult):
    """A record with the number by which it is ranked."""

    value: float | int | str
    id: str
    title: str


class ListWith(GenericResult):
    """The arguments of `search` that list the records of a group, beside its filters."""

    catalogue: str
    query: str
    exclude: dict[str, Any] | None = when_known()


class AggregateParts(GenericResult):
    """The part of a browsed catalogue that has figures; left out where none are asked for."""

    of: str | None = when_known()
    unit: str | None = when_known()
    groups: list[BrowsedGroup] | None = when_known()
    group_count: int | None = when_known()
    """The number of groups, or of ranked records, where not all are listed."""
    ranked: list[RecordByNumber] | None = Field(default=None, exclude_if=is_empty)
    """The records by their number, the highest first, where they are not grouped."""
    overall: BrowsedGroup | None = when_known()
    """The figures of all records that are counted; on the first page only."""
    without: dict[str, int] = when_any(dict)
    """How many records have no value of a field that is grouped by, and are in no group."""
    list_with: ListWith | None = when_known()

    @property
    def number_in_words(self) -> str:
        """The number that is described, with its unit."""
        return f"{self.of or ''} in {self.unit}" if self.unit else self.of or ""

    @property
    def listed(self) -> int:
        """The number of groups, or of ranked records, that are listed."""
        return len(self.groups or ()) + len(self.ranked or ())


def groupable_fields(spec: CatalogueSpec) -> dict[str, FieldSpec]:
    """Return the fields that records can be grouped by, by the names that callers use."""
    found = {field.name: field for field in spec.column_fields}
    if len(spec.kinds) > 1:
        found.setdefault(
            KIND, FieldSpec(name=KIND_FIELD, type=FieldType.ENUM, filter=FilterKind.ANY_OF)
        )
    return found


def _find_dimension(stated: str, spec: CatalogueSpec) -> tuple[str, FieldSpec, Bucketing]:
    """Return the name and the field that are meant, and the buckets of a number; InputError says
    what is right.
    """
    fields = groupable_fields(spec)
    name, _, bucket = (stated, "", "") if meant(stated, fields) in fields else stated.partition("/")
    name = meant(name.strip(), fields)
    if name not in fields:
        raise InputError(f"'by': {_no_field(name, spec, list(fields))}")
    return name, fields[name], parse_bucketing(bucket, fields[name]) if bucket.strip() else None


def _find_number(name: str, spec: CatalogueSpec) -> FieldSpec:
    """Return the number that is to be described; raise InputError naming those that there are."""
    numbers = {field.name: field for field in spec.column_fields if field.is_numeric}
    chosen = meant(name.strip(), numbers)
    if chosen in numbers:
        return numbers[chosen]
    field = spec.fields.get(meant(name.strip(), spec.fields))
    if field is None:
        raise InputError(f"'of': {_no_field(name, spec, list(numbers))}")
    known = f"numbers: {_listed(list(numbers))}" if numbers else f"'{spec.name}' has no number"
    reason = "has no column" if field.is_numeric else f"is {field.type}, not a number"
    raise InputError(f"'of': '{field.name}' {reason}; {known}")


def _no_field(name: str, spec: CatalogueSpec, known: list[str]) -> str:
    listed = f"; right are {_listed(known)}" if known else ""
    reason = "cannot be counted by" if name in spec.fields else "has no field"
    return f"'{spec.name}' {reason} '{quoted(name[:60])}'{did_you_mean(name, known)}{listed}"


def _listed(names: Sequence[str]) -> str:
    return list_some(names, NAMES_SHOWN, more="more, which browse lists")


@frozen
class Partition:
    """The parts of the records in scope by one field, under its name for callers: row `rows[i]` is
    in `indexes[i]`.
    """

    name: str
    field: FieldSpec
    rows: Integers
    indexes: Integers
    labels: Sequence[str | int | float]
    bounds: Sequence[tuple[float, float]] = ()
    """The bounds of each part of a number, both included; none where parts are values."""


class Group(NamedTuple):
    """A group: the part of each partition that it is of, and its rows."""

    parts: tuple[int, ...]
    rows: Integers


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """Figures of a number by some fields, in an order, of the records in scope of one view.

    The records are in key order: a row is the place of a record among them.
    """

    view: CatalogueView
    scope: Scope
    params: BrowseParams

    def parts(self) -> AggregateParts:
        """Return the page of groups, or of ranked records, that is asked for, with the figures of
        all records.
        """
        start, number = self.params.start, self._number
        page = slice(start, start + self.params.page_size)
        groups, rows = self._groups[page], self._ranked[page]
        everything = Group((), self._column.order)
        records = self._records([everything, *groups], rows)
        total, shown = len(self._groups) + len(self._ranked), len(groups) + len(rows)
        # that lists the records with all of these words
        query = f"{EVERY} {words_of_list(self.params.query or '')}".strip()
        exclude = self.params.exclude or None
        return AggregateParts(
            of=number.name if number else None,
            unit=(number.unit or None) if number else None,
            groups=[self._shape(group, records) for group in groups],
            group_count=total if shown < total else None,
            ranked=[self._ranked_record(row, records) for row in rows.tolist()],
            overall=None if start else self._shape(everything, records),
            without=self._without(),
            list_with=ListWith(catalogue=self.view.name, query=query, exclude=exclude),
        )

    @cached_property
    def _keys(self) -> Integers:
        limit = max(self.view.reader.count(self.scope), 1)
        return np.array(self.view.reader.scan(scope=self.scope, limit=limit), dtype=np.int64)

    @cached_property
    def _number(self) -> FieldSpec | None:
        return _find_number(self.params.of, self.view.spec) if self.params.of else None

    @cached_property
    def _column(self) -> ScopedNumbers:
        if self._number is None:
            return ScopedNumbers(np.full(len(self._keys), np.nan))
        numbers = self.view.reader.numbers(self._number.name, self._keys.tolist())
        return ScopedNumbers(np.where(np.isfinite(numbers), numbers, np.nan))

    @cached_property
    def _partitions(self) -> list[Partition]:
        stated = self.params.dimensions
        dimensions = [_find_dimension(one, self.view.spec) for one in stated]
        if len({name for name, _, _ in dimensions}) < len(dimensions):
            raise InputError(f"'by' names '{dimensions[0][0]}' twice; give two different fields")
        return [self._partition(*dimension) for dimension in dimensions]

    def _partition(self, name: str, field: FieldSpec, bucketing: Bucketing) -> Partition:
        """Divide the records in scope by one field."""
        divided = partial(Partition, name=name, field=field)
        if field.is_numeric:
            numbers = self.view.reader.numbers(field.name, self._keys.tolist())
            rows = np.flatnonzero(np.isfinite(numbers))
            if not len(rows):
                return divided(rows=rows, indexes=rows, labels=())
            return divided(rows=rows, **bucket_numbers(numbers[rows], field, bucketing)._asdict())
        found = self.view.reader.occurrences(field.name, scope=self.scope)
        rows, indexes, labels = np.searchsorted(self._keys, found.keys), found.indexes, found.values
        for condition in self.scope.conditions:
            # only values of the filters are groups: a filter for one is then a narrower one, and
            # finds its records
            if isinstance(condition, AnyOf) and condition.field == field.name:
                asked = set(map(term_of, condition.values))
                kept = np.array([term_of(value) in asked for value in labels], dtype=bool)[indexes]
                rows, indexes = rows[kept], indexes[kept]
        if field.brackets:
            order = sorted(range(len(labels)), key=lambda place: bounds_of(found.values[place]))
            indexes, labels = np.argsort(order)[indexes], [labels[place] for place in order]
        return divided(rows=rows, indexes=indexes, labels=labels)

    @cached_property
    def _groups(self) -> list[Group]:
        """All groups in order, ties by count and then by value; those without a figure come
        last.
        """
        if not self._partitions:
            return []
        by, is_descending = self._order()
        sign = -1 if is_descending else 1

        def place(group: Group) -> tuple[float, ...]:
            if by == COUNT:
                return (sign * len(group.rows),)
            if by == VALUE:
                return (sign * group.parts[0],)
            found = self._column.figures(group.rows)
            return (0, sign * found[by]) if found else (1, 0.0)

        groups = group_rows(self._partitions, self._column)
        return sorted(groups, key=lambda group: (*place(group), -len(group.rows), *group.parts))

    def _order(self) -> tuple[str, bool]:
        """Return what groups or records are sorted by, and if it falls; by default ranges and times
        rise by value, and others fall by count, records from the highest number to the lowest.
        """
        stated, number, is_grouped = self.params.sort, self._number, bool(self._partitions)
        if stated is None and is_grouped:
            first = self._partitions[0].field
            return (VALUE, False) if first.is_numeric or first.brackets else (COUNT, True)
        words = (stated or "").casefold().split()
        direction = words.pop() if words and words[-1] in DIRECTIONS else ""
        name = " ".join(words)
        if is_grouped:
            choices = [COUNT, VALUE, *(FIGURES if number else ())]
            needs = "; a figure needs 'of'" if name in FIGURES and not number else ""
            right = f"{needs}; right are {', '.join(choices)}, and 'asc' or 'desc' after it"
        else:
            choices = ["", VALUE, "min", "max", number.name.casefold() if number else ""]
            right = "; without 'by' right are 'desc', the highest first, and 'asc'"
        if name not in choices:
            raise InputError(f"'sort' is '{(stated or '')[:40]}'{right}")
        return name, direction == "desc" if direction else name != (VALUE if is_grouped else "min")

    @cached_property
    def _ranked(self) -> Integers:
        """The rows by their number; none where records are grouped, or only counted."""
        if self._number is None or self._partitions:
            return np.empty(0, dtype=np.int64)
        return self._column.ranked(is_descending=self._order()[1])

    def _without(self) -> dict[str, int]:
        """Return how many records have no value of each field that is grouped by."""
        counts = {one.name: len(self._keys) - len(np.unique(one.rows)) for one in self._partitions}
        return {name: count for name, count in counts.items() if count}

    def _extremes(self, group: Group) -> list[Key]:
        """Return the first record with the least number of a group and the first with the greatest,
        if any has one.
        """
        numbers = self._column.values[group.rows]
        known = numbers[~np.isnan(numbers)]
        if not known.size:
            return []
        greatest = int(np.searchsorted(known, known[-1], side="left"))
        return [Key(int(self._keys[group.rows[place]])) for place in (0, greatest)]

    def _records(self, groups: Sequence[Group], rows: Integers) -> Mapping[Key, Record]:
        """Return the records at the ends of these groups, and those of these rows."""
        ends = [key for group in groups for key in self._extremes(group)]
        keys = list(dict.fromkeys([*ends, *map(Key, self._keys[rows].tolist())]))
        return self.view.reader.fetch(keys, scope=self.scope) if keys else {}

    def _ranked_record(self, row: int, records: Mapping[Key, Record]) -> RecordByNumber:
        record = records[Key(int(self._keys[row]))]
        value = self._known_number(record, float(self._column.values[row]))
        return RecordByNumber(value=value, **self._named(record))

    def _known_number(self, record: Record, number: float) -> float | int | str:
        """Return the number of a record; a date as it is known: a day, a month or a year."""
        field = self._number
        is_date = field is not None and field.type is FieldType.DATE
        return str(record.get(field.name)) if field and is_date else plain_number(number)

    def _named(self, record: Record) -> dict[str, str]:
        return {
            "id": address_of(self.view.name, record.id),
            "title": self.view.spec.title_of(record),
        }

    def _shape(self, group: Group, records: Mapping[Key, Record]) -> BrowsedGroup:
        parts = list(zip(group.parts, self._partitions if group.parts else (), strict=True))
        values = {partition.name: partition.labels[part] for part, partition in parts}
        figures = self._figures(group, records)
        filters = self._filters_of(parts)
        return BrowsedGroup(values=values, count=len(group.rows), filters=filters, **figures)

    @cached_property
    def _filters(self) -> dict[str, Any]:
        """The filters of the call under the names of fields; with adult records where they are
        asked for by a value.
        """
        spec, known = self.view.spec, filters_of(self.view.spec)
        named = {meant(name, known): one for name, one in (self.params.filters or {}).items()}
        if spec.adult and asks_for_adult(self.scope.conditions, spec) and ADULT not in known:
            named[ADULT] = True
        return named

    def _filters_of(self, parts: Sequence[tuple[int, Partition]]) -> dict[str, Any] | None:
        """Return the filters of a group; None where it is by a field that cannot be filtered by."""
        filters = dict(self._filters)
        for part, partition in parts:
            if partition.field.filter is None:
                return None
            value = str(partition.labels[part])
            stated = self._filters.get(partition.name) or []
            if partition.bounds:
                filters[partition.name] = self._range(partition.field, *partition.bounds[part])
            elif partition.field.filter is FilterKind.ALL_OF:
                every = [*([stated] if isinstance(stated, str) else stated), value]
                filters[partition.name] = list(dict.fromkeys(every))
            else:
                filters[partition.name] = [value]
        return filters

    def _range(self, field: FieldSpec, low: float, high: float) -> dict[str, Any]:
        """Return the range of a part within that of the call."""
        for condition in self.scope.conditions:
            if isinstance(condition, Range) and condition.field == field.name:
                low = low if condition.at_least is None else max(low, condition.at_least)
                high = high if condition.at_most is None else min(high, condition.at_most)
        return written_range(Range(field.name, low, high), field)

    def _figures(self, group: Group, records: Mapping[Key, Record]) -> dict[str, Any]:
        """Return the figures of a group by name; none where no number is asked for, or none is
        known.
        """
        if self._number is None:
            return {}
        known = int(np.count_nonzero(~np.isnan(self._column.values[group.rows])))
        shown: dict[str, Any] = {"known": known} if known < len(group.rows) else {}
        found = self._column.figures(group.rows)
        if found and self._number.type is FieldType.DATE:
            shown["median"] = shown_number(found["median"], self._number)
        elif found:
            shown |= {name: plain_number(figure) for name, figure in found.items()}
        for name, key in zip(("min", "max"), self._extremes(group), strict=False):
            shown[name] = self._known_number(records[key], found[name])
            shown[f"{name}_record"] = GroupedRecord(**self._named(records[key]))
        return shown


def group_rows(partitions: Sequence[Partition], column: ScopedNumbers) -> list[Group]:
    """Group the rows by one or two partitions; those of a group are in the order of their numbers.

    A code and the rank of a row by its number are sorted as one integer, which is the quickest way
    to have both the groups together and the numbers of each in order.
    """
    size, seconds = max(len(column.values), 1), max(len(partitions[-1].labels), 1)
    rows, codes = _crossed(partitions, size)
    packed = np.sort(codes * size + column.ranks[rows])
    sorted_codes, ranks = np.divmod(packed, size)
    starts = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
    each = np.split(column.order[ranks], starts[1:])
    found = zip(sorted_codes[starts].tolist(), each, strict=False)  # without a row there is no code
    return [
        Group((code,) if len(partitions) == 1 else divmod(code, seconds), some)
        for code, some in found
    ]


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
    codes = (
        np.repeat(first.indexes, counts) * max(len(second.labels), 1)
        + parts[np.repeat(begins, counts) + within]
    )
    return np.repeat(first.rows, counts), codes


def aggregate_lines(parts: AggregateParts) -> Iterator[str]:
    """Yield the groups of a catalogue as lines, those of all records first."""
    overall, groups = parts.overall, parts.groups or []
    about = ""
    if overall is not None and (parts.of or overall.filters):
        figures = [f"{name} {_figure(overall, name)}" for name in _known_figures([overall])]
        filters = [f"filters {_json(overall.filters)}"] if overall.filters else []
        about = "; ".join([f"count {overall.count}", *figures, *filters])
    if parts.of or about:
        yield f"  {': '.join(filter(None, [parts.number_in_words or 'all', about]))}"
    if groups:
        columns = _known_figures(groups)
        yield f"  {' | '.join([*groups[0].values, 'count', *columns, 'filters'])}"
        yield from (f"  {' | '.join(_cells(group, columns))}" for group in groups)
    yield from (
        f"  {ranked.value} | {value_text(ranked.title)} [{ranked.id}]"
        for ranked in parts.ranked or ()
    )
    if parts.group_count is not None:
        yield f"  {parts.listed} of {parts.group_count} {'groups' if groups else 'records'}"
    yield from (lacking_text(name, count) for name, count in parts.without.items())
    if parts.list_with is not None:
        yield f"  records: search with {_json(parts.list_with.model_dump(mode='json'))} and filters"


def _known_figures(groups: Sequence[BrowsedGroup]) -> list[str]:
    """Return the figures that any of some groups has."""
    figures = ("known", *FIGURES)
    return [name for name in figures if any(getattr(one, name) is not None for one in groups)]


def lacking_text(name: str, count: int) -> str:
    """Return how many records have no value of a field."""
    return f"  {count} {'record has' if count == 1 else 'records have'} no {name}"


def _cells(group: BrowsedGroup, columns: list[str]) -> list[str]:
    values = [value_text(value) for value in group.values.values()]
    filters = "" if group.filters is None else _json(group.filters)
    return [*values, str(group.count), *(_figure(group, name) for name in columns), filters]


def _figure(group: BrowsedGroup, name: str) -> str:
    """Return a figure with its record, if it has one; all are known where it is not said how
    many.
    """
    value = group.count if name == "known" and group.known is None else getattr(group, name)
    record: GroupedRecord | None = getattr(group, f"{name}_record", None)
    if value is None:
        return ""
    return f"{value} ({value_text(record.title)} [{record.id}])" if record else str(value)


def _json(value: object) -> str:
    """Return a value as JSON that is safe to show, also where JSON escapes a character."""
    return safe_json(json_text(value))
