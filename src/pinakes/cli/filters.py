"""Filters typed as options: `--year 2015..2020 --tags space,drama --not-tags horror`."""

from collections.abc import Iterator, Sequence

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FilterKind
from pinakes.errors import InputError, did_you_mean
from pinakes.model.scope import AllOf, AnyOf, Condition, NoneOf, Range

NOT = "not-"


def parse_conditions(arguments: Sequence[str], spec: CatalogueSpec) -> Iterator[Condition]:
    """Yield the conditions of a command line's free options."""
    for name, value in _pairs(arguments):
        negated = name.startswith(NOT)
        field = _require_filter(name.removeprefix(NOT), spec)
        yield _condition(field, value, negated=negated)


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
    try:
        at_least = float(low) if low else None
        at_most = float(high) if high else None
    except ValueError as error:
        raise InputError(
            f"'--{field.name}': '{value}' is not a range; right are 2015, 2010..2020, 2015.., ..1999"
        ) from error
    return Range(field.name, at_least, at_most if dots else at_least)
