"""Filters typed as options: `--year 2015..2020 --tags space,drama --not-tags horror`."""

import math
from collections.abc import Iterator, Sequence
from datetime import date

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from pinakes.errors import InputError, did_you_mean
from pinakes.model.scope import Condition, Range
from pinakes.tools.filters import filters_of, values_condition, with_usual_kinds

NOT = "not-"
NUMBER_RANGES = "2015, 2010..2020, 2015.., ..1999"
DATE_RANGES = "2015-04-30, 2015-01-01..2015-12-31, 2015-01-01.., ..1999-12-31"


def parse_conditions(arguments: Sequence[str], spec: CatalogueSpec) -> Iterator[Condition]:
    """Yield the conditions of a command line's free options."""
    known = filters_of(spec)
    for name, value in _pairs(arguments):
        plain = name.removeprefix(NOT)
        if plain not in known:
            options = ", ".join(f"--{one}" for one in known)
            raise InputError(f"no filter '--{plain}'{did_you_mean(plain, list(known))}; filters: {options}")
        yield _condition(name, known[plain], value)


def usual_conditions(arguments: Sequence[str], spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions of a search: those of its options, without kinds that are hidden by default."""
    return with_usual_kinds(list(parse_conditions(arguments, spec)), spec)


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


def _condition(name: str, field: FieldSpec, value: str) -> Condition:
    is_negated = name.startswith(NOT)
    if field.filter is FilterKind.RANGE:
        if is_negated:
            raise InputError(f"'--{name}': a range cannot be negated; give the range that is wanted")
        return _range(field, value)
    values = [part.strip() for part in value.split(",") if part.strip()]
    if not values:
        raise InputError(f"'--{name}' wants a value")
    return values_condition(field, values, label=f"--{name.removeprefix(NOT)}", is_negated=is_negated)


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
