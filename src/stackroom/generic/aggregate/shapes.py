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
"""The names of the figures, as answers have them."""


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
    """The number that is described."""
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


def aggregate_lines(parts: AggregateParts) -> Iterator[str]:
    """Yield the groups of a catalogue as lines, those of all records first."""
    overall, groups = parts.overall, parts.groups or []
    figures = [name for name in FIGURES if any(getattr(group, name) is not None for group in groups)]
    about = [*_overall(overall)] if overall is not None and (parts.of or overall.filters) else []
    if parts.of or about:
        yield f"  {': '.join([parts.number_in_words or 'all', *(['; '.join(about)] if about else [])])}"
    if groups:
        known = ["known"] if _has_known(groups) else []
        yield f"  {' | '.join([*groups[0].values, 'count', *known, *figures, 'filters'])}"
        yield from (f"  {' | '.join(_cells(group, groups, figures))}" for group in groups)
    yield from (f"  {ranked.value} | {value_text(ranked.title)} [{ranked.id}]" for ranked in parts.ranked or ())
    if parts.group_count is not None:
        yield f"  {len(groups) + len(parts.ranked or ())} of {parts.group_count} {'groups' if groups else 'records'}"
    yield from (lacking_text(name, count) for name, count in parts.without.items())
    if parts.list_with is not None:
        yield f"  records: search with {_json(parts.list_with.model_dump(mode='json'))} and filters"


def lacking_text(name: str, count: int) -> str:
    """Return how many records have no value of a field."""
    return f"  {count} {'record has' if count == 1 else 'records have'} no {name}"


def _overall(group: BrowsedGroup) -> Iterator[str]:
    yield f"count {group.count}"
    if group.known is not None:
        yield f"known {group.known}"
    yield from (f"{name} {_figure(group, name)}" for name in FIGURES if getattr(group, name) is not None)
    if group.filters:
        yield f"filters {_json(group.filters)}"


def _cells(group: BrowsedGroup, groups: list[BrowsedGroup], figures: list[str]) -> list[str]:
    known = [str(group.count if group.known is None else group.known)] if _has_known(groups) else []
    filters = "" if group.filters is None else _json(group.filters)
    values = [value_text(value) for value in group.values.values()]
    return [*values, str(group.count), *known, *(_figure(group, name) for name in figures), filters]


def _has_known(groups: list[BrowsedGroup]) -> bool:
    return any(group.known is not None for group in groups)


def _figure(group: BrowsedGroup, name: str) -> str:
    value = getattr(group, name)
    record: GroupedRecord | None = getattr(group, f"{name}_record", None)
    if value is None:
        return ""
    return f"{value} ({value_text(record.title)} [{record.id}])" if record else str(value)


def _json(value: object) -> str:
    """Return a value as JSON that is safe to show, also where JSON escapes a character."""
    return safe_json(json_text(value))
