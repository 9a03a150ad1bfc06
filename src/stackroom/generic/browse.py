"""`browse`: the fields of catalogues, their values with counts, the range of numbers, figures, and
overviews.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from stackroom.catalogue.spec import FieldSpec, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.generic.aggregate import (
    AggregateParts,
    Aggregation,
    aggregate_lines,
    groupable_fields,
)
from stackroom.generic.shapes import (
    BrowseParams,
    DescribedField,
    ForPages,
    LeftOut,
    Number,
)
from stackroom.ingest.ledger import list_changes
from stackroom.library import LEDGER_FILE
from stackroom.model.scope import WHOLE, Scope
from stackroom.search.result_set import UNREADABLE
from stackroom.search.values import field_values
from stackroom.shelf.port import ShelfReader
from stackroom.text.cells.values import bounds_of
from stackroom.text.normalise import meant
from stackroom.tools.budget import PricedResult, shorten_list
from stackroom.tools.catalogue import (
    CatalogueView,
    OpenCatalogue,
    ask_each,
    promise_notes,
)
from stackroom.tools.filters import shown_number
from stackroom.tools.finding import CatalogueScopes
from stackroom.tools.spec import (
    BARE_LIST,
    GenericResult,
    when_any,
    when_known,
)


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
    min: float | int | str | None = when_known()
    max: float | int | str | None = when_known()
    """The least and the greatest number or date, where the field is filtered by a range."""
    total: int | None = when_known()
    """The number of values, where not all are listed."""

    def with_values(self, values: Sequence[BrowsedValue]) -> Self:
        """Return the field with some of its values, and how many there are."""
        total = self.total or len(self.values)
        return self.model_copy(
            update={"values": list(values), "total": total if len(values) < total else None}
        )


class OverviewField(DescribedField):
    """A field that can be shown in a table, filtered by or sorted by."""

    sortable: bool
    words: dict[str, str] = when_any(dict)
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
    skipped: str | None = when_known()
    """Why it could not be read."""
    changed: Annotated[list[str], SkipJsonSchema()] = when_any()
    """The columns of its tables with cells that were read as other than they are written: how many,
    and the first.
    """
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
        return sum(max(1, len(one.fields)) for one in self.catalogues)

    def first(self, count: int) -> Self:
        """Return the answer with its first fields only."""
        return self.between(0, count)

    def between(self, start: int, end: int) -> Self:
        """Return the answer with the fields from one place to before another, counted over all
        catalogues.
        """
        shown, place = [], 0
        for one in self.catalogues:
            fields = one.fields[max(start - place, 0) : max(end - place, 0)]
            if fields or start <= place < end:
                shown.append(one.model_copy(update={"fields": fields}))
            place += max(1, len(one.fields))
        return self.model_copy(update={"catalogues": shown})

    def shortened(self, chars: int) -> Self:
        """Return the answer with fewer values of each field."""
        return self._with_fields(lambda field: field.with_values(shorten_list(field.values, chars)))

    def _with_fields(self, change: Callable[[BrowsedField], BrowsedField]) -> Self:
        return self._with_each(lambda one: {"fields": list(map(change, one.fields))})

    def _with_each(self, change: Callable[[BrowsedCatalogue], dict[str, Any]]) -> Self:
        changed = [one.model_copy(update=change(one)) for one in self.catalogues]
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
        return sum(one.listed for one in self.catalogues)

    def first(self, count: int) -> Self:
        """Return the answer with its first items."""
        return self._with_each(
            lambda one: {
                "groups": (one.groups or [])[:count],
                "ranked": (one.ranked or [])[:count],
                "group_count": one.group_count or one.listed,
            }
        )

    def shortened(self, _chars: int) -> Self:
        """Return the answer without what its groups can be read without."""
        ends = {"min_record": None, "max_record": None}
        return self._with_each(
            lambda one: {
                "groups": [group.model_copy(update=ends) for group in one.groups or ()],
                "overall": one.overall.model_copy(update=ends)
                if one.overall and not one.listed
                else None,
            }
        )


class RankedResult(AggregateResult):
    """The answer of a `browse` of a number without groups: its items are records."""

    unit = "records"


VALUES_SHOWN = 10
CHANGES_SHOWN = 5
MOST_RECORDS = 1_000_000  # the most records whose numbers are read for a range


def browse_catalogues(
    catalogues: Mapping[str, OpenCatalogue],
    scoped: CatalogueScopes,
    params: BrowseParams,
    notes: Sequence[str],
) -> BrowseResult:
    """Return the fields of catalogues, the values of one, or figures; a catalogue that cannot be
    read is only named.
    """
    views = scoped.views
    browsed = ask_each(views.found, lambda view: _browse(view, scoped.scopes[view.name], params))
    unread = [*views.skipped, *browsed.skipped]
    every = list(browsed.found.values())
    has_values = any(field.values for one in every for field in one.fields)
    for name in unread:
        title = catalogues[name].spec.title
        every.append(
            BrowsedCatalogue(name=name, title=title, records=0, fields=[], skipped=UNREADABLE)
        )
    unlike = ["no value is like the one searched for"] if params.search and not has_values else []
    said = [*notes, *scoped.notes, *unlike, *promise_notes(views.found.values())]
    if params.field is None and not params.has_figures:
        listed = BrowseResult(catalogues=every, unread=unread, notes=said)
        return listed.between(params.start, listed.item_count)
    shape: type[BrowseResult] = BrowsedValuesResult
    if params.has_figures:
        shape = AggregateResult if params.dimensions else RankedResult
    end = params.start + params.page_size
    totals = [
        total
        for one in every
        for total in (one.group_count, *(field.total for field in one.fields))
    ]
    cursor = str(end) if any((total or 0) > end for total in totals) else None
    return shape(catalogues=every, unread=unread, notes=said, cursor=cursor)


def _browse(view: CatalogueView, scope: Scope, params: BrowseParams) -> BrowsedCatalogue:
    """Return the fields of a catalogue with their values or ranges, or the one that is asked for;
    or its figures.
    """
    browsed = BrowsedCatalogue(
        name=view.name, title=view.spec.title, records=view.reader.count(scope), fields=[]
    )
    if params.has_figures:
        figures = Aggregation(view=view, scope=scope, params=params).parts()
        return browsed.model_copy(update=dict(figures))
    known, shown = view.spec.fields, slice(VALUES_SHOWN)
    fields = [field for field in known.values() if field.facet or field.filter is not None]
    if params.field is not None:
        name = meant(params.field, known)
        if name not in known:
            hint = did_you_mean(params.field, list(known))
            raise InputError(f"'{view.name}' has no field '{params.field[:80]}'{hint}")
        fields, shown = [known[name]], slice(params.start, params.start + params.limit)
    ranges = number_ranges(view.reader, scope, fields)
    described = []
    for field in fields:
        values = _values(view, field, scope, params.search)
        one = BrowsedField(field=field.name, type=field.type, values=values).with_values(
            values[shown]
        )
        described.append(one.model_copy(update=ranges.get(field.name, {})))
    changed = (
        list(_changed(view))
        if not params.field and browsed.records == view.reader.count(WHOLE)
        else []
    )
    return browsed.model_copy(update={"fields": described, "changed": changed})


def _changed(view: CatalogueView) -> Iterator[str]:
    """Yield how cells of columns with shown fields were read; only a caller who may see every
    record may see these.
    """
    fields = view.spec.fields.values()
    known = {name for field in fields if field.shown for name in (field.name, *field.source_paths)}
    changes = list_changes(view.catalogue.folder / LEDGER_FILE) if view.catalogue.folder else []
    return (
        f"{name}: {reading}"
        for name, reading in [one for one in changes if one[0] in known][:CHANGES_SHOWN]
    )


def number_ranges(
    reader: ShelfReader, scope: Scope, fields: Iterable[FieldSpec]
) -> dict[str, dict[str, Number]]:
    """Return the least and the greatest value of those of these fields that are filtered by a range
    and have any.
    """
    ranged = [field for field in fields if field.filter is FilterKind.RANGE]
    keys = reader.scan(scope=scope, limit=MOST_RECORDS) if ranged else []
    found = {}
    for field in ranged:
        numbers = reader.numbers(field.name, keys)
        known = numbers[~np.isnan(numbers)]
        if known.size:
            ends = {"min": float(known.min()), "max": float(known.max())}
            found[field.name] = {
                name: shown_number(round(end, 4), field) for name, end in ends.items()
            }
    return found


def of_one_catalogue(params: BrowseParams, catalogues: Mapping[str, OpenCatalogue]) -> BrowseParams:
    """Return a call about fields with the only catalogue that has them; InputError where several
    do, or none.
    """
    if params.field and params.by:
        raise InputError("'field' lists values and 'by' groups records; give one of them")
    stated = [
        ("field", params.field),
        *(("by", one.partition("/")[0]) for one in params.by or ()),
        ("of", params.of),
    ]
    named = [(argument, name.strip()) for argument, name in stated if name]
    if not named or params.catalogue or len(catalogues) == 1:
        return params
    known = {name: groupable_fields(one.spec) for name, one in catalogues.items()}
    having = [
        one
        for one, fields in known.items()
        if all(meant(name, fields) in fields for _, name in named)
    ]
    if len(having) == 1 and params.has_figures:
        return params.model_copy(update={"catalogue": having[0]})
    raise InputError(
        f"'{named[0][0]}' needs a 'catalogue'; there are {', '.join(having or catalogues)}"
    )


def _values(
    view: CatalogueView, field: FieldSpec, scope: Scope, search: str | None
) -> list[BrowsedValue]:
    """Return the values of a field, the most frequent first, or those like the one that is searched
    for.
    """
    if not field.facet:
        return []
    facets = view.reader.facets(field.name, scope=scope)
    if search:
        wanted = set(
            field_values(view.reader, view.spec, field.name, visibility=scope.visibility).matching(
                search
            )
        )
        facets = [facet for facet in facets if facet.value in wanted]
    facets = sorted(facets, key=lambda facet: bounds_of(facet.value)) if field.brackets else facets
    return [
        BrowsedValue(value=facet.value, count=facet.count, category=facet.category)
        for facet in facets
    ]


def browse_text(result: BrowseResult) -> str:
    """Return the answer as text, one line for each field."""
    lines = []
    for catalogue in result.catalogues:
        known = catalogue.skipped or f"{catalogue.records} records"
        lines.append(f"{catalogue.name}: {catalogue.title}, {known}")
        lines += aggregate_lines(catalogue)
        lines += map(_field_line, catalogue.fields)
        lines += [f"  cells of {change}" for change in catalogue.changed]
    return "\n".join([*lines, *result.remarks])


def _field_line(field: BrowsedField) -> str:
    told = "" if field.min is None else f": {field.min} to {field.max}"
    if field.values:
        shown = f", {len(field.values)} of {field.total} values" if field.total else ""
        told = f"{shown}: {', '.join(f'{one.value} ({one.count})' for one in field.values)}"
    return f"  {field.field} ({field.type}){told}"
