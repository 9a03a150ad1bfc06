"""Groups of records with their figures, as callers get them, and as a table in text."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from stackroom.text.safe import safe_json
from stackroom.tools.budget import json_text, value_text
from stackroom.tools.schema import is_empty, is_none
from stackroom.tools.spec import GenericResult

Figure = float | int | str | None
FIGURES = ("min", "max", "mean", "median", "sum")


class GroupedRecord(GenericResult):
    """A record that has the least or the greatest number of a group."""

    id: str
    title: str


class BrowsedGroup(GenericResult):
    """A group: the values that its records share, how many they are, and the figures of a number."""

    values: dict[str, str | int | float] = Field(default_factory=dict, exclude_if=is_empty)
    count: int
    known: int | None = Field(default=None, exclude_if=is_none)
    """How many of the records have the number, where that is not all of them."""
    min: Figure = Field(default=None, exclude_if=is_none)
    max: Figure = Field(default=None, exclude_if=is_none)
    mean: Figure = Field(default=None, exclude_if=is_none)
    median: Figure = Field(default=None, exclude_if=is_none)
    sum: Figure = Field(default=None, exclude_if=is_none)
    min_record: GroupedRecord | None = Field(default=None, exclude_if=is_none)
    max_record: GroupedRecord | None = Field(default=None, exclude_if=is_none)
    """The first record that has the least number, and the first that has the greatest."""
    filters: dict[str, Any] | None = Field(default=None, exclude_if=is_none)
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
    exclude: dict[str, Any] | None = Field(default=None, exclude_if=is_none)


class AggregateParts(GenericResult):
    """The part of a browsed catalogue that has figures; left out where none are asked for."""

    of: str | None = Field(default=None, exclude_if=is_none)
    unit: str | None = Field(default=None, exclude_if=is_none)
    groups: list[BrowsedGroup] | None = Field(default=None, exclude_if=is_none)
    group_count: int | None = Field(default=None, exclude_if=is_none)
    """The number of groups, or of ranked records, where not all are listed."""
    ranked: list[RecordByNumber] | None = Field(default=None, exclude_if=is_empty)
    """The records by their number, the highest first, where they are not grouped."""
    overall: BrowsedGroup | None = Field(default=None, exclude_if=is_none)
    """The figures of all records that are counted; on the first page only."""
    without: dict[str, int] = Field(default_factory=dict, exclude_if=is_empty)
    """How many records have no value of a field that is grouped by, and are in no group."""
    list_with: ListWith | None = Field(default=None, exclude_if=is_none)

    @property
    def number_in_words(self) -> str:
        """The number that is described, with its unit."""
        return f"{self.of or ''} in {self.unit}" if self.unit else self.of or ""

    @property
    def listed(self) -> int:
        """The number of groups, or of ranked records, that are listed."""
        return len(self.groups or ()) + len(self.ranked or ())


def aggregate_lines(parts: AggregateParts) -> Iterator[str]:
    """Yield the groups of a catalogue as lines, those of all records first."""
    overall, groups = parts.overall, parts.groups or []
    about = ""
    if overall is not None and (parts.of or overall.filters):
        known = [f"known {overall.known}"] if overall.known is not None else []
        figures = [f"{name} {_figure(overall, name)}" for name in FIGURES if getattr(overall, name) is not None]
        filters = [f"filters {_json(overall.filters)}"] if overall.filters else []
        about = "; ".join([f"count {overall.count}", *known, *figures, *filters])
    if parts.of or about:
        yield f"  {': '.join(filter(None, [parts.number_in_words or 'all', about]))}"
    if groups:
        figures = [name for name in FIGURES if any(getattr(group, name) is not None for group in groups)]
        columns = ["known", *figures] if any(group.known is not None for group in groups) else figures
        yield f"  {' | '.join([*groups[0].values, 'count', *columns, 'filters'])}"
        yield from (f"  {' | '.join(_cells(group, columns))}" for group in groups)
    yield from (f"  {ranked.value} | {value_text(ranked.title)} [{ranked.id}]" for ranked in parts.ranked or ())
    if parts.group_count is not None:
        yield f"  {parts.listed} of {parts.group_count} {'groups' if groups else 'records'}"
    yield from (lacking_text(name, count) for name, count in parts.without.items())
    if parts.list_with is not None:
        yield f"  records: search with {_json(parts.list_with.model_dump(mode='json'))} and filters"


def lacking_text(name: str, count: int) -> str:
    """Return how many records have no value of a field."""
    return f"  {count} {'record has' if count == 1 else 'records have'} no {name}"


def _cells(group: BrowsedGroup, columns: list[str]) -> list[str]:
    values = [value_text(value) for value in group.values.values()]
    filters = "" if group.filters is None else _json(group.filters)
    return [*values, str(group.count), *(_figure(group, name) for name in columns), filters]


def _figure(group: BrowsedGroup, name: str) -> str:
    """Return a figure with its record, if it has one; all are known where it is not said how many."""
    value = group.count if name == "known" and group.known is None else getattr(group, name)
    record: GroupedRecord | None = getattr(group, f"{name}_record", None)
    if value is None:
        return ""
    return f"{value} ({value_text(record.title)} [{record.id}])" if record else str(value)


def _json(value: object) -> str:
    """Return a value as JSON that is safe to show, also where JSON escapes a character."""
    return safe_json(json_text(value))
