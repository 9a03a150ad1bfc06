"""`browse`: the fields of catalogues, their values with counts, the range of numbers, figures, and overviews."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.generic.aggregate.aggregate import Aggregation
from stackroom.generic.aggregate.dimensions import MOST_DIMENSIONS, groupable_fields
from stackroom.generic.aggregate.shapes import AggregateParts, ListWith, aggregate_lines
from stackroom.generic.shapes import DrawnParams, ForPages, LeftOut, when_known
from stackroom.ingest.ledger import list_changes
from stackroom.library import LEDGER_FILE
from stackroom.model.record import Key
from stackroom.model.scope import WHOLE, Scope
from stackroom.search.values import field_values
from stackroom.shelf.port import ShelfReader
from stackroom.text.cells.values import bounds_of
from stackroom.text.normalise import meant
from stackroom.tools.budget import PagedParams, PricedResult, shorten_list
from stackroom.tools.catalogue import UNREADABLE, CatalogueView, OpenCatalogue
from stackroom.tools.filters import shown_number
from stackroom.tools.listing import list_query, words_of_list
from stackroom.tools.schema import is_empty, is_none
from stackroom.tools.spec import BARE_LIST, GenericResult, SearchText

RANKED_SHOWN = 5
"""The number of records that are ranked by a number, where a call does not say how many."""


class BrowseParams(PagedParams, DrawnParams):
    """The arguments of `browse`; with `include`, catalogues are described for pages, without values of their fields."""

    catalogue: str | None = Field(default=None, description="Only this one")
    field: str | None = Field(default=None, description="List the values of this field")
    search: SearchText | None = Field(default=None, description="Only values like this")
    by: list[str] | None = Field(
        default=None, max_length=MOST_DIMENSIONS, description="Fields to group by: country, year/decade, price/10"
    )
    of: str | None = Field(default=None, description="Number field to average, sum, rank records by")
    filters: dict[str, Any] | None = Field(default=None, description="As in search")
    exclude: dict[str, Any] | None = Field(default=None, description="As in search")
    query: SearchText | None = Field(default=None, description="Count only records with these words")
    sort: str | None = Field(default=None, description="Order of groups: count, value, mean, sum; asc or desc")
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
    category: str = Field(default="", exclude=True)
    """For terminals: that of a tag."""


class BrowsedField(GenericResult):
    """A field of a catalogue, with its values where they can be counted."""

    field: str
    type: str
    values: list[BrowsedValue]
    min: float | int | str | None = Field(default=None, exclude_if=is_none)
    max: float | int | str | None = Field(default=None, exclude_if=is_none)
    """The least and the greatest number or date, where the field is filtered by a range."""
    total: int | None = Field(default=None, exclude_if=is_none)
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
    words: dict[str, str] = Field(default_factory=dict, exclude_if=is_empty)
    """The values of an enumeration → how people write them, where that differs."""


class FirstRecord(GenericResult):
    """One of the best known records of a catalogue, as its cover shows it."""

    title: str
    kind: str
    image: str | None


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
    first: list[FirstRecord]
    changed_at: str | None
    fields: list[OverviewField]
    """The most telling first."""


class CatalogueFields(GenericResult):
    """A catalogue and its fields."""

    name: str
    title: str
    records: int
    fields: list[BrowsedField]
    skipped: str | None = Field(default=None, exclude_if=is_none)
    """Why it could not be read."""
    changed: Annotated[list[str], SkipJsonSchema()] = Field(default_factory=list, exclude_if=is_empty)
    """The columns of its tables with cells that were read as other than they are written: how many, and the first."""
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
        return self._with_fields(lambda field: field.with_values(shorten_list(field.values, chars)))

    def _with_fields(self, change: Callable[[BrowsedField], BrowsedField]) -> Self:
        changed = [one.model_copy(update={"fields": list(map(change, one.fields))}) for one in self.catalogues]
        return self.model_copy(update={"catalogues": changed})


class BrowsedValuesResult(BrowseResult):
    """The answer of a `browse` of one field: its items are values."""

    unit = "values"
    has_passages = True
    paged = "catalogues"
    long_texts = ("fields.values.value",)
    shortened = PricedResult.shortened

    @property
    def item_count(self) -> int:
        """The number of values."""
        return sum(len(field.values) for one in self.catalogues for field in one.fields)

    def first(self, count: int) -> Self:
        """Return the answer with the first values of its field."""
        return self._with_fields(lambda field: field.with_values(field.values[:count]))


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

    def shortened(self, _chars: int) -> Self:
        """Return the answer without what its groups can be read without."""
        return self.model_copy(update={"catalogues": [_with_less(one) for one in self.catalogues]})


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


VALUES_SHOWN = 10
CHANGES_SHOWN = 5
MOST_RECORDS = 1_000_000
"""The most records whose numbers are read for a range."""


def browse_view(view: CatalogueView, scope: Scope, params: BrowseParams) -> BrowsedCatalogue:
    """Return the fields of a catalogue with their values or ranges, or the one that is asked for; or its figures."""
    browsed = BrowsedCatalogue(
        name=view.name, title=view.spec.title, records=view.reader.count(scope), fields=[], skipped=None
    )
    if params.has_figures:
        return browsed.model_copy(update=_figures(view, scope, params))
    ranges = NumberRanges(view.reader, scope)
    fields = [
        _browsed_field(field, _values(view, field, scope, params.search), params).model_copy(
            update=ranges.range_of(field) if field.filter is FilterKind.RANGE else {}
        )
        for field in _browsed_fields(view.catalogue, params)
    ]
    changed = list(_changed(view)) if not params.field and browsed.records == view.reader.count(WHOLE) else []
    return browsed.model_copy(update={"fields": fields, "changed": changed})


def _changed(view: CatalogueView) -> Iterator[str]:
    """Yield how cells of columns with shown fields were read; only a caller who may see every record may see these."""
    fields = view.spec.fields.values()
    known = {name for field in fields if field.shown for name in (field.name, *field.source_paths)}
    changes = list_changes(view.catalogue.folder / LEDGER_FILE) if view.catalogue.folder else []
    return (f"{name}: {reading}" for name, reading in [one for one in changes if one[0] in known][:CHANGES_SHOWN])


def _figures(view: CatalogueView, scope: Scope, params: BrowseParams) -> dict[str, Any]:
    found = Aggregation(
        view=view,
        scope=scope,
        by=params.dimensions,
        of=params.of,
        sort=params.sort,
        filters=params.filters or {},
        start=params.start,
        limit=params.page_size,
    ).parts()
    query = list_query(words_of_list(params.query or ""))
    list_with = ListWith(catalogue=view.name, query=query, exclude=params.exclude or None)
    return {**dict(found), "list_with": list_with}


def _browsed_field(field: FieldSpec, values: list[BrowsedValue], params: BrowseParams) -> BrowsedField:
    """Return a field with the page of its values that was asked for, or with the first few."""
    shown = slice(params.start, params.start + params.limit) if params.field else slice(VALUES_SHOWN)
    return BrowsedField(field=field.name, type=field.type, values=values).with_values(values[shown])


def _browsed_fields(catalogue: OpenCatalogue, params: BrowseParams) -> list[FieldSpec]:
    """Return the fields that can be browsed or filtered by, or the one that is asked for."""
    fields = catalogue.spec.fields
    if params.field is None:
        return [field for field in fields.values() if field.facet or field.filter is not None]
    name = meant(params.field, fields)
    if name not in fields:
        hint = did_you_mean(params.field, list(fields))
        raise InputError(f"'{catalogue.name}' has no field '{params.field[:80]}'{hint}")
    return [fields[name]]


class NumberRanges:
    """The ranges of numbers of the records in scope, which are listed once, where a range is asked for."""

    def __init__(self, reader: ShelfReader, scope: Scope) -> None:
        self._reader = reader
        self._scope = scope

    @cached_property
    def _keys(self) -> list[Key]:
        return self._reader.scan(scope=self._scope, limit=MOST_RECORDS)

    def range_of(self, field: FieldSpec) -> dict[str, float | int | str]:
        """Return the least and the greatest value of a field; nothing where no record has one."""
        numbers = self._reader.numbers(field.name, self._keys)
        known = numbers[~np.isnan(numbers)]
        if not known.size:
            return {}
        ends = {"min": float(known.min()), "max": float(known.max())}
        return {name: shown_number(round(end, 4), field) for name, end in ends.items()}


def has_fields(spec: CatalogueSpec, names: Sequence[str]) -> bool:
    """Tell whether records of a catalogue can be counted by all of these fields."""
    known = groupable_fields(spec)
    return all(meant(name.strip(), known) in known for name in names)


def unread_catalogue(catalogue: OpenCatalogue) -> BrowsedCatalogue:
    """Return a catalogue that could not be read."""
    return BrowsedCatalogue(name=catalogue.name, title=catalogue.spec.title, records=0, fields=[], skipped=UNREADABLE)


def cursor_of_values(catalogues: Sequence[BrowsedCatalogue], params: BrowseParams) -> str | None:
    """Return the cursor of the values or groups after those of this call; None where there are none."""
    end = params.start + params.page_size
    totals = [field.total or 0 for one in catalogues for field in one.fields]
    has_more = any(total > end for total in (*totals, *(one.group_count or 0 for one in catalogues)))
    return str(end) if has_more else None


def _values(view: CatalogueView, field: FieldSpec, scope: Scope, search: str | None) -> list[BrowsedValue]:
    """Return the values of a field, the most frequent first, or those like the one that is searched for."""
    if not field.facet:
        return []
    facets = view.reader.facets(field.name, scope=scope)
    if search:
        wanted = set(field_values(view.reader, view.spec, field.name, visibility=scope.visibility).matching(search))
        facets = [facet for facet in facets if facet.value in wanted]
    facets = sorted(facets, key=lambda facet: bounds_of(facet.value)) if field.brackets else facets
    return [BrowsedValue(value=facet.value, count=facet.count, category=facet.category) for facet in facets]


def browse_text(result: BrowseResult) -> str:
    """Return the answer as text, one line for each field."""
    lines = []
    for catalogue in result.catalogues:
        known = catalogue.skipped or f"{catalogue.records} records"
        lines.append(f"{catalogue.name}: {catalogue.title}, {known}")
        lines += aggregate_lines(catalogue)
        lines += [f"  {field.field} ({field.type}){_field_text(field)}" for field in catalogue.fields]
        lines += [f"  cells of {change}" for change in catalogue.changed]
    return "\n".join([*lines, *result.remarks])


def _field_text(field: BrowsedField) -> str:
    if field.values:
        shown = f", {len(field.values)} of {field.total} values" if field.total else ""
        return f"{shown}: " + ", ".join(f"{one.value} ({one.count})" for one in field.values)
    return "" if field.min is None else f": {field.min} to {field.max}"
