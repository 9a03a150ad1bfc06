"""Filters typed as options: `--year 2015..2020 --tags space,drama --not-tags horror`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from pinakes.errors import InputError, did_you_mean
from pinakes.model.scope import KIND_FIELD, AllOf, AnyOf, Condition, NoneOf, Range

NOT = "not-"
KIND = "kind"
NUMBER_RANGES = "2015, 2010..2020, 2015.., ..1999"
DATE_RANGES = "2015-04-30, 2015-01-01..2015-12-31, 2015-01-01.., ..1999-12-31"


def parse_conditions(arguments: Sequence[str], spec: CatalogueSpec) -> Iterator[Condition]:
    """Yield the conditions of a command line's free options."""
    for name, value in _pairs(arguments):
        negated = name.startswith(NOT)
        field = _require_filter(name.removeprefix(NOT), spec)
        condition = _condition(field, value, negated=negated)
        yield replace(condition, field=KIND_FIELD) if field.name == KIND else condition


def usual_conditions(arguments: Sequence[str], spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions of a search: those of its options, without kinds that are hidden by default."""
    conditions = list(parse_conditions(arguments, spec))
    if spec.kinds_hidden_from_search and not any(condition.field == KIND_FIELD for condition in conditions):
        conditions.append(NoneOf(KIND_FIELD, spec.kinds_hidden_from_search))
    return conditions


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if not option.startswith("--"):
            raise InputError(f"'{option}' is not an option; a query of several words goes in quotes")
        name, equals, value = option[2:].partition("=")
        if not equals:
            if not rest:
                raise InputError(f"'{option}' wants a value")
            value = rest.pop(0)
        yield name, value


def _require_filter(name: str, spec: CatalogueSpec) -> FieldSpec:
    filters = {field.name: field for field in spec.fields.values() if field.filter}
    if len(spec.kinds) > 1:
        any_of = FilterKind.ANY_OF
        filters.setdefault(KIND, FieldSpec(name=KIND, type=FieldType.ENUM, filter=any_of, values=spec.kinds))
    if name not in filters:
        known = ", ".join(f"--{one}" for one in filters)
        raise InputError(f"no filter '--{name}'{did_you_mean(name, list(filters))}; filters: {known}")
    return filters[name]


def _condition(field: FieldSpec, value: str, *, negated: bool) -> Condition:
    if field.filter is FilterKind.RANGE:
        if negated:
            raise InputError(f"'--{NOT}{field.name}': a range cannot be negated; give the range that is wanted")
        return _range(field, value)
    values = tuple(part.strip() for part in value.split(",") if part.strip())
    if not values:
        raise InputError(f"'--{field.name}' wants a value")
    for one in values if field.values else ():
        known = {value.casefold() for value in field.values}
        if one.casefold() not in known:
            hint = did_you_mean(one.upper(), list(field.values))
            raise InputError(f"'--{field.name}': no value '{one}'{hint}; values: {', '.join(field.values)}")
    if negated:
        return NoneOf(field.name, values)
    return AllOf(field.name, values) if field.filter is FilterKind.ALL_OF else AnyOf(field.name, values)


def _range(field: FieldSpec, value: str) -> Range:
    low, dots, high = value.partition("..")
    high = "wrong" if high.startswith(".") else high
    read, right = (_day, DATE_RANGES) if field.type is FieldType.DATE else (_number, NUMBER_RANGES)
    try:
        at_least = read(low) if low or not high else None
        at_most = read(high) if high else None
    except ValueError as error:
        raise InputError(f"'--{field.name}': '{value}' is not a range; right are {right}") from error
    if at_least is not None and at_most is not None and at_least > at_most:
        raise InputError(f"'--{field.name}': '{value}' begins after it ends; right are {right}")
    return Range(field.name, at_least, at_most if dots else at_least)


def _number(text: str) -> float:
    number = float(text)
    if math.isnan(number):
        raise ValueError("not a number")
    return number


def _day(text: str) -> float:
    return float(date.fromisoformat(text).toordinal())
