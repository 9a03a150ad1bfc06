"""What a catalogue holds, for `browse`: its fields, their values with counts, the range of its numbers, and figures."""

from collections.abc import Sequence
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.model.record import Key
from stackroom.model.scope import Scope
from stackroom.search.values import field_values
from stackroom.shelf.port import ShelfReader
from stackroom.text.spelling import meant
from stackroom.tools.aggregate.aggregate import AggregateSpec, aggregate
from stackroom.tools.aggregate.dimensions import groupable_fields
from stackroom.tools.aggregate.shapes import ListWith
from stackroom.tools.aggregate.text import aggregate_lines
from stackroom.tools.catalogue import UNREADABLE, CatalogueView, OpenCatalogue
from stackroom.tools.generic.browse_shapes import (
    BrowsedCatalogue,
    BrowsedField,
    BrowsedValue,
    BrowseParams,
    BrowseResult,
)
from stackroom.tools.generic.listing import list_query, words_of_list

VALUES_SHOWN = 10
MOST_RECORDS = 1_000_000
"""The most records whose numbers are read for a range."""


def browse_view(view: CatalogueView, scope: Scope, params: BrowseParams) -> BrowsedCatalogue:
    """Return the fields of a catalogue with their values or ranges, or the one that is asked for; or its figures."""
    browsed = BrowsedCatalogue(
        name=view.name, title=view.spec.title, records=view.reader.count(scope), fields=[], skipped=None
    )
    if params.has_figures:
        return browsed.model_copy(update=_figures(view, scope, params))
    numbers = _Numbers(view.reader, scope)
    fields = [
        _browsed_field(field, _values(view, field, scope, params.search), params).model_copy(
            update=numbers.range_of(field) if field.filter is FilterKind.RANGE else {}
        )
        for field in _browsed_fields(view.catalogue, params)
    ]
    return browsed.model_copy(update={"fields": fields})


def _figures(view: CatalogueView, scope: Scope, params: BrowseParams) -> dict[str, Any]:
    asked = AggregateSpec(
        by=params.dimensions,
        of=params.of,
        sort=params.sort,
        filters=params.filters or {},
        start=params.start,
        limit=params.page_size,
    )
    found = aggregate(view, scope, asked)
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


class _Numbers:
    """The numbers of the records in scope; the records are listed once, where a range is asked for."""

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
        return {"min": _plain(float(known.min()), field), "max": _plain(float(known.max()), field)}


def _plain(number: float, field: FieldSpec) -> float | int | str:
    """Return a number as callers write it: a day number is a date."""
    if field.type is FieldType.DATE:
        return date.fromordinal(int(number)).isoformat()
    return int(number) if number.is_integer() else round(number, 4)


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
    return [BrowsedValue(value=facet.value, count=facet.count) for facet in facets]


def browse_text(result: BrowseResult) -> str:
    """Return the answer as text, one line for each field."""
    lines = []
    for catalogue in result.catalogues:
        known = catalogue.skipped or f"{catalogue.records} records"
        lines.append(f"{catalogue.name}: {catalogue.title}, {known}")
        lines += aggregate_lines(catalogue)
        lines += [f"  {field.field} ({field.type}){_field_text(field)}" for field in catalogue.fields]
    return "\n".join([*lines, *result.remarks])


def _field_text(field: BrowsedField) -> str:
    if field.values:
        shown = f", {len(field.values)} of {field.total} values" if field.total else ""
        return f"{shown}: " + ", ".join(f"{one.value} ({one.count})" for one in field.values)
    return "" if field.min is None else f": {field.min} to {field.max}"
