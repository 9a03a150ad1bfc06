"""Arguments and results of `browse`."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, field_validator

from stackroom.tools.aggregate.dimensions import MOST_DIMENSIONS
from stackroom.tools.aggregate.shapes import AggregateParts
from stackroom.tools.budget import PagedParams, PricedResult, shorten_list, shorten_texts
from stackroom.tools.generic.shapes import DrawnParams, ForPages, LeftOut, when_known
from stackroom.tools.spec import BARE_LIST, GenericResult, SearchText

FEW_CHARS = 1_000
"""A text budget below which groups are shown without the records at their ends."""


RANKED_SHOWN = 5
"""The number of records that are ranked by a number, where a call does not say how many."""


class BrowseParams(PagedParams, DrawnParams):
    """The arguments of `browse`; with `include`, catalogues are described for pages, without values of their fields."""

    catalogue: str | None = Field(default=None, description="Only this one")
    field: str | None = Field(default=None, description="Only its values")
    search: SearchText | None = Field(default=None, description="Values like this")
    by: list[str] | None = Field(
        default=None, max_length=MOST_DIMENSIONS, description="Fields, as country, year/decade, price/10"
    )
    of: str | None = Field(default=None, description="Number to describe, rank by")
    filters: dict[str, Any] | None = Field(default=None, description="As in search")
    exclude: dict[str, Any] | None = Field(default=None, description="As in search")
    query: SearchText | None = Field(default=None, description="Words that all have")
    sort: str | None = Field(default=None, description="As count, mean asc")
    limit: int = Field(default=30, ge=1, le=200, description="Most values of a field, or groups")

    @field_validator("by", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @property
    def dimensions(self) -> list[str]:
        """The fields to group by; `field` where a number is asked for."""
        return self.by or ([self.field] if self.field and self.of else [])

    @property
    def page_size(self) -> int:
        """The most values, groups or ranked records of a page; few records unless the call says how many."""
        is_ranking = self.of and not self.dimensions and "limit" not in self.model_fields_set
        return RANKED_SHOWN if is_ranking else self.limit

    @property
    def named_fields(self) -> list[tuple[str, str]]:
        """The fields that the call names, each with the argument that does."""
        stated = [("field", self.field), *(("by", one.partition("/")[0]) for one in self.by or ()), ("of", self.of)]
        return [(argument, name) for argument, name in stated if name]

    @property
    def has_figures(self) -> bool:
        """Whether groups or figures are asked for."""
        return bool(self.by or self.of)

    @property
    def has_limits(self) -> bool:
        """Whether only some of the records count."""
        return bool(self.filters or self.exclude or (self.query or "").strip())


class BrowsedValue(GenericResult):
    """A value, and how many records have it."""

    value: str
    count: int


class BrowsedField(GenericResult):
    """A field of a catalogue, with its values where they can be counted."""

    field: str
    type: str
    values: list[BrowsedValue]
    min: float | int | str | None = Field(default=None, exclude_if=lambda bound: bound is None)
    max: float | int | str | None = Field(default=None, exclude_if=lambda bound: bound is None)
    """The least and the greatest number or date, where the field is filtered by a range."""
    total: int | None = Field(default=None, exclude_if=lambda total: total is None)
    """The number of values, where not all are listed."""

    def with_values(self, values: Sequence[BrowsedValue]) -> Self:
        """Return the field with some of its values, and how many there are."""
        total = self.total or len(self.values)
        return self.model_copy(update={"values": list(values), "total": total if len(values) < total else None})


class OverviewField(GenericResult):
    """A field that can be shown in a table, filtered by or sorted by."""

    field: str
    label: str
    type: str
    role: str | None
    filter: str | None
    sortable: bool


class CatalogueOverview(GenericResult):
    """A catalogue before anything is asked of it, as pages show it."""

    summary: str
    kinds: list[str]
    listed: int
    """How many records a list without filters has."""
    left_out: LeftOut
    has_vectors: bool
    has_audio: bool
    samples: list[str]
    """Queries to begin with."""
    changed_at: str | None
    fields: list[OverviewField]
    """The most telling first."""


class CatalogueFields(GenericResult):
    """A catalogue and its fields."""

    name: str
    title: str
    records: int
    fields: list[BrowsedField]
    skipped: str | None = Field(default=None, exclude_if=lambda reason: reason is None)
    """Why it could not be read."""
    overview: ForPages[CatalogueOverview | None] = when_known()


class BrowsedCatalogue(AggregateParts, CatalogueFields):
    """A catalogue with its fields, or with groups of its records."""


class BrowseResult(PricedResult, GenericResult):
    """The answer of `browse`: its items are fields; a catalogue without any counts as one."""

    unit = "fields"
    whole_with = "'field'"

    catalogues: Annotated[list[BrowsedCatalogue], BARE_LIST]

    @property
    def item_count(self) -> int:
        """The number of fields."""
        return sum(_places(one) for one in self.catalogues)

    def first(self, count: int) -> Self:
        """Return the answer with its first fields only."""
        return self.model_copy(update={"catalogues": list(_between(self.catalogues, 0, count))})

    def after(self, start: int) -> Self:
        """Return the answer without its first fields."""
        return self.model_copy(update={"catalogues": list(_between(self.catalogues, start, self.item_count))})

    def shortened(self, chars: int) -> Self:
        """Return the answer with fewer values of each field."""
        return self.model_copy(update={"catalogues": [_with_fewer_values(one, chars) for one in self.catalogues]})


class BrowsedValuesResult(BrowseResult):
    """The answer of a `browse` of one field: its items are values."""

    unit = "values"
    has_passages = True

    @property
    def item_count(self) -> int:
        """The number of values."""
        return sum(len(field.values) for one in self.catalogues for field in one.fields)

    def first(self, count: int) -> Self:
        """Return the answer with the first values of its field."""
        return self.model_copy(update={"catalogues": [_with_first_values(one, count) for one in self.catalogues]})

    def shortened(self, chars: int) -> Self:
        """Return the answer with long values cut."""
        return self.model_copy(update={"catalogues": [_with_short_values(one, chars) for one in self.catalogues]})


class AggregateResult(BrowseResult):
    """The answer of a `browse` with figures: its items are groups, or ranked records."""

    unit = "groups"
    has_passages = True
    shortening = "the figures of all records, and the records at the ends, are left out"

    @property
    def item_count(self) -> int:
        """The number of groups and ranked records; there are only ones or the others."""
        return sum(len(one.groups or ()) + len(one.ranked or ()) for one in self.catalogues)

    def first(self, count: int) -> Self:
        """Return the answer with its first items."""
        return self.model_copy(update={"catalogues": [_with_first_groups(one, count) for one in self.catalogues]})

    def shortened(self, chars: int) -> Self:
        """Return the answer without what its groups can be read without."""
        less = [_with_less(one) for one in self.catalogues] if chars <= FEW_CHARS else self.catalogues
        return self.model_copy(update={"catalogues": less})


class RankedResult(AggregateResult):
    """The answer of a `browse` of a number without groups: its items are records."""

    unit = "records"


def _with_less(catalogue: BrowsedCatalogue) -> BrowsedCatalogue:
    ends = {"min_record": None, "max_record": None}
    groups = [group.model_copy(update=ends) for group in catalogue.groups or ()]
    has_items = groups or catalogue.ranked
    overall = catalogue.overall.model_copy(update=ends) if catalogue.overall and not has_items else None
    return catalogue.model_copy(update={"groups": groups, "overall": overall})


def _with_first_groups(catalogue: BrowsedCatalogue, count: int) -> BrowsedCatalogue:
    groups, ranked = catalogue.groups or [], catalogue.ranked or []
    total = catalogue.group_count or len(groups) + len(ranked)
    return catalogue.model_copy(update={"groups": groups[:count], "ranked": ranked[:count], "group_count": total})


def _places(catalogue: BrowsedCatalogue) -> int:
    return max(1, len(catalogue.fields))


def _between(catalogues: Sequence[BrowsedCatalogue], start: int, end: int) -> Iterator[BrowsedCatalogue]:
    """Yield the catalogues with the fields that are from one place to before another, counted over all of them."""
    place = 0
    for one in catalogues:
        fields = one.fields[max(start - place, 0) : max(end - place, 0)]
        if fields or start <= place < end:
            yield one.model_copy(update={"fields": fields})
        place += _places(one)


def _with_fewer_values(catalogue: BrowsedCatalogue, chars: int) -> BrowsedCatalogue:
    fields = [field.with_values(shorten_list(field.values, chars)) for field in catalogue.fields]
    return catalogue.model_copy(update={"fields": fields})


def _with_first_values(catalogue: BrowsedCatalogue, count: int) -> BrowsedCatalogue:
    fields = [field.with_values(field.values[:count]) for field in catalogue.fields]
    return catalogue.model_copy(update={"fields": fields})


def _with_short_values(catalogue: BrowsedCatalogue, chars: int) -> BrowsedCatalogue:
    fields = [
        field.model_copy(update={"values": [shorten_texts(one, ["value"], chars) for one in field.values]})
        for field in catalogue.fields
    ]
    return catalogue.model_copy(update={"fields": fields})
