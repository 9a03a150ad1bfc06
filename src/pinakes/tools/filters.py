"""Filters as clients write them, for every catalogue: `{"year": {"min": 2015}, "type": ["MOVIE"], "tags": ["space"]}`.

A number or date is filtered by `min` and `max`, both inclusive; anything else by a list of values, of which a record
must have any, or all where the spec says so.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind, Role
from pinakes.errors import InputError, did_you_mean
from pinakes.model.scope import KIND_FIELD, AllOf, AnyOf, Condition, NoneOf, Range

KIND = "kind"
BOUNDS = ("min", "max")
GREATEST = 10**300


def filter_schema(specs: Sequence[CatalogueSpec]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON schema of the filters over these catalogues, and the definitions that it refers to.

    Of one catalogue all filters are listed; of several those that can be browsed or are about time, since a client
    reads this at every turn. The others may be used as well, and `browse` names them.
    """
    fields: dict[str, list[FieldSpec]] = {}
    for spec in specs:
        for field in filterable(spec) if len(specs) == 1 else _usual(spec):
            fields.setdefault(field.name, []).append(field)
    forms = {name: _joined_form(some) for name, some in sorted(fields.items())}
    kinds = sorted({kind for spec in specs if len(spec.kinds) > 1 for kind in spec.kinds})
    if kinds:
        forms[KIND] = {"type": "array", "items": {"enum": kinds}}
    shared = [form for form in (_RANGE, _DATES, _VALUES) if list(forms.values()).count(form) > 1]
    names = {id(form): f"f{number}" for number, form in enumerate(shared)}
    properties = {
        name: {"$ref": f"#/$defs/{names[id(form)]}"} if id(form) in names else form for name, form in forms.items()
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if len(specs) == 1:
        schema["additionalProperties"] = False
    return schema, {names[id(form)]: form for form in shared}


def filterable(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields of a catalogue that can be filtered by."""
    return [field for field in spec.fields.values() if field.filter is not None]


def _usual(spec: CatalogueSpec) -> list[FieldSpec]:
    return [field for field in filterable(spec) if field.facet or field.role is Role.TIME]


def filters_of(spec: CatalogueSpec) -> dict[str, FieldSpec]:
    """Return the filterable fields by the names that callers use; with `kind` where there are several kinds."""
    found = {field.name: field for field in filterable(spec)}
    if len(spec.kinds) > 1:
        any_of = FilterKind.ANY_OF
        found[KIND] = FieldSpec(name=KIND_FIELD, type=FieldType.ENUM, filter=any_of, values=spec.kinds)
    return found


def parse_filters(filters: Mapping[str, Any], spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions that the filters state; raise InputError naming what would be right."""
    known = filters_of(spec)
    asked = {name: value for name, value in filters.items() if value not in (None, [], {})}
    return with_usual_kinds([_condition(name, value, known, spec.name) for name, value in asked.items()], spec)


def with_usual_kinds(conditions: list[Condition], spec: CatalogueSpec) -> list[Condition]:
    """Add the condition that hides kinds which a search must ask for, unless a kind is asked for."""
    if not spec.kinds_hidden_from_search or any(condition.field == KIND_FIELD for condition in conditions):
        return conditions
    return [*conditions, NoneOf(KIND_FIELD, spec.kinds_hidden_from_search)]


def values_condition(
    field: FieldSpec, values: Sequence[str], *, label: str, is_negated: bool = False
) -> AnyOf | AllOf | NoneOf:
    """Return the condition that a record has any of the values, all or none; refuse one that the field cannot have."""
    known = {one.casefold() for one in field.values}
    for value in values if known else ():
        if value.casefold() not in known:
            hint = did_you_mean(value, list(field.values)) or did_you_mean(value.upper(), list(field.values))
            raise InputError(f"'{label}': no value '{value[:60]}'{hint}; one of {', '.join(field.values)}")
    if is_negated:
        return NoneOf(field.name, tuple(values))
    return (AllOf if field.filter is FilterKind.ALL_OF else AnyOf)(field.name, tuple(values))


def _bounds(of: str) -> dict[str, Any]:
    properties = {bound: {"type": of} for bound in BOUNDS}
    return {"type": "object", "additionalProperties": False, "properties": properties}


_RANGE = _bounds("number")
_DATES = _bounds("string")
_VALUES = {"type": "array", "items": {"type": "string"}}


def _joined_form(fields: Sequence[FieldSpec]) -> dict[str, Any]:
    """Return the JSON schema of a filter that one or more catalogues have."""
    if all(field.type is FieldType.ENUM for field in fields):
        values = dict.fromkeys(value for field in fields for value in field.values)
        return {"type": "array", "items": {"enum": list(values)}}
    forms = [_form(field) for field in fields]
    different = [form for index, form in enumerate(forms) if form not in forms[:index]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def _form(field: FieldSpec) -> dict[str, Any]:
    if field.type is FieldType.ENUM:
        return {"type": "array", "items": {"enum": list(field.values)}}
    if field.filter is not FilterKind.RANGE:
        return _VALUES
    return _DATES if field.type is FieldType.DATE else _RANGE


def _condition(name: str, asked: Any, known: Mapping[str, FieldSpec], catalogue: str) -> Condition:
    field = known.get(name)
    if field is None:
        raise InputError(
            f"'filters.{name[:60]}': '{catalogue}' cannot be filtered by it{did_you_mean(name, list(known))}; "
            f"filterable: {', '.join(known)}"
        )
    if field.filter is FilterKind.RANGE:
        return _range(name, asked, field)
    values = [asked] if isinstance(asked, str) else asked
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise InputError(f'\'filters.{name}\' must be a list of strings, as in ["a", "b"]')
    return values_condition(field, values, label=f"filters.{name}")


def _range(name: str, asked: Any, field: FieldSpec) -> Range:
    if not isinstance(asked, Mapping) or not asked or not set(asked) <= set(BOUNDS):
        raise InputError(f'\'filters.{name}\' must be a range, as in {{"min": 1, "max": 9}}; either may be left out')
    low, high = (_bound(name, asked.get(bound), field) for bound in BOUNDS)
    if low is not None and high is not None and low > high:
        raise InputError(f"'filters.{name}': min is greater than max")
    return Range(name, low, high)


def _bound(name: str, value: Any, field: FieldSpec) -> float | None:
    if value is None:
        return None
    if field.type is FieldType.DATE:
        try:
            return float(date.fromisoformat(str(value)).toordinal())
        except ValueError as error:
            raise InputError(f"'filters.{name}': {str(value)[:40]!r} is not a date; 2015-04-30 is one") from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        raise InputError(f"'filters.{name}': {str(value)[:40]!r} is not a number")
    if abs(value) > GREATEST:
        raise InputError(f"'filters.{name}': the number is too large")
    return float(value)
