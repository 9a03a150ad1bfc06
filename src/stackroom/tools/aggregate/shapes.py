"""Groups of records with their figures, as callers get them."""

from typing import Any

from pydantic import Field

from stackroom.tools.spec import GenericResult

Figure = float | int | str | None
FIGURES = ("min", "max", "mean", "median", "sum")
"""The names of the figures, as answers have them."""


def _is_none(value: object) -> bool:
    return value is None


class GroupedRecord(GenericResult):
    """A record that has the least or the greatest number of a group."""

    id: str
    title: str


class BrowsedGroup(GenericResult):
    """A group: the values that its records share, how many they are, and the figures of a number."""

    values: dict[str, str | int | float] = Field(default_factory=dict, exclude_if=lambda values: not values)
    count: int
    known: int | None = Field(default=None, exclude_if=_is_none)
    """How many of the records have the number, where that is not all of them."""
    min: Figure = Field(default=None, exclude_if=_is_none)
    max: Figure = Field(default=None, exclude_if=_is_none)
    mean: Figure = Field(default=None, exclude_if=_is_none)
    median: Figure = Field(default=None, exclude_if=_is_none)
    sum: Figure = Field(default=None, exclude_if=_is_none)
    min_record: GroupedRecord | None = Field(default=None, exclude_if=_is_none)
    max_record: GroupedRecord | None = Field(default=None, exclude_if=_is_none)
    """The first record that has the least number, and the first that has the greatest."""
    filters: dict[str, Any] | None = Field(default=None, exclude_if=_is_none)
    """The filters that list its records, with the other arguments of `list_with`."""


class RankedRecord(GenericResult):
    """A record with the number by which it is ranked."""

    value: float | int | str
    id: str
    title: str


class ListWith(GenericResult):
    """The arguments of `search` that list the records of a group, beside its filters."""

    catalogue: str
    query: str
    exclude: dict[str, Any] | None = Field(default=None, exclude_if=_is_none)


class AggregateParts(GenericResult):
    """The part of a browsed catalogue that has figures; left out where none are asked for."""

    of: str | None = Field(default=None, exclude_if=_is_none)
    """The number that is described."""
    unit: str | None = Field(default=None, exclude_if=_is_none)
    groups: list[BrowsedGroup] | None = Field(default=None, exclude_if=_is_none)
    group_count: int | None = Field(default=None, exclude_if=_is_none)
    """The number of groups, or of ranked records, where not all are listed."""
    ranked: list[RankedRecord] | None = Field(default=None, exclude_if=lambda records: not records)
    """The records by their number, the highest first, where they are not grouped."""
    overall: BrowsedGroup | None = Field(default=None, exclude_if=_is_none)
    """The figures of all records that are counted; on the first page only."""
    without: dict[str, int] = Field(default_factory=dict, exclude_if=lambda counts: not counts)
    """How many records have no value of a field that is grouped by, and are in no group."""
    list_with: ListWith | None = Field(default=None, exclude_if=_is_none)

    @property
    def number_in_words(self) -> str:
        """The number that is described, with its unit."""
        return f"{self.of or ''} in {self.unit}" if self.unit else self.of or ""
