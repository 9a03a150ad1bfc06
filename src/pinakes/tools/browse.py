"""What a catalogue holds, for `browse`: its fields, their values with counts, and the range of its numbers."""

from datetime import date
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from pinakes.catalogue.spec import FieldSpec, FieldType, FilterKind
from pinakes.errors import InputError, did_you_mean
from pinakes.model.principal import Principal
from pinakes.model.record import Key
from pinakes.model.scope import Scope
from pinakes.search.values import field_values
from pinakes.shelf.port import ShelfReader
from pinakes.tools.catalogue import UNREADABLE, OpenCatalogue
from pinakes.tools.spec import BARE_LIST, GenericParams, GenericResult, NotedResult, SearchText
from pinakes.tools.spelling import meant

VALUES_SHOWN = 10
MOST_RECORDS = 1_000_000
"""The most records whose numbers are read for a range."""


class BrowseParams(GenericParams):
    """The arguments of `browse`."""

    catalogue: str | None = None
    field: str | None = None
    search: SearchText | None = None
    limit: int = Field(default=30, ge=1, le=200)


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


class BrowsedCatalogue(GenericResult):
    """A catalogue and its fields."""

    name: str
    title: str
    records: int
    fields: list[BrowsedField]
    skipped: str | None = Field(default=None, exclude_if=lambda reason: reason is None)
    """Why it could not be read."""


class BrowseResult(NotedResult, GenericResult):
    """The answer of `browse`."""

    catalogues: Annotated[list[BrowsedCatalogue], BARE_LIST]


def browse_catalogue(catalogue: OpenCatalogue, principal: Principal, params: BrowseParams) -> BrowsedCatalogue:
    """Return the fields of a catalogue with their values or ranges, or the one that is asked for."""
    reader, scope = catalogue.shelf.reader(), Scope(visibility=principal.visibility)
    fields = _browsed_fields(catalogue, params)
    numbers = _Numbers(reader, scope)
    return BrowsedCatalogue(
        name=catalogue.name,
        title=catalogue.spec.title,
        records=reader.count(scope),
        fields=[
            BrowsedField(
                field=field.name,
                type=field.type,
                values=_values(catalogue, reader, field.name, scope, params) if field.facet else [],
                **(numbers.range_of(field) if field.filter is FilterKind.RANGE else {}),
            )
            for field in fields
        ],
    )


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


def unread_catalogue(catalogue: OpenCatalogue) -> BrowsedCatalogue:
    """Return a catalogue that could not be read."""
    return BrowsedCatalogue(name=catalogue.name, title=catalogue.spec.title, records=0, fields=[], skipped=UNREADABLE)


def _values(
    catalogue: OpenCatalogue, reader: ShelfReader, field: str, scope: Scope, params: BrowseParams
) -> list[BrowsedValue]:
    """Return the most frequent values of a field, or those like the one that is searched for."""
    search, shown = params.search, params.limit if params.field else VALUES_SHOWN
    facets = reader.facets(field, scope=scope)
    if search:
        wanted = set(field_values(reader, catalogue.spec, field, visibility=scope.visibility).matching(search))
        facets = [facet for facet in facets if facet.value in wanted]
    return [BrowsedValue(value=facet.value, count=facet.count) for facet in facets[:shown]]


def browse_text(result: BrowseResult) -> str:
    """Return the answer as text, one line for each field."""
    lines = []
    for catalogue in result.catalogues:
        known = catalogue.skipped or f"{catalogue.records} records"
        lines.append(f"{catalogue.name}: {catalogue.title}, {known}")
        lines += [f"  {field.field} ({field.type}){_field_text(field)}" for field in catalogue.fields]
    return "\n".join([*lines, *result.notes])


def _field_text(field: BrowsedField) -> str:
    if field.values:
        return ": " + ", ".join(f"{one.value} ({one.count})" for one in field.values)
    return "" if field.min is None else f": {field.min} to {field.max}"
