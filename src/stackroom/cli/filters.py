"""Filters typed as options: `--year 2015..2020 --tags space,drama --not-tags horror`."""

from collections.abc import Iterator, Mapping, Sequence

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.model.scope import KIND_FIELD, Condition, NoneOf, Range
from stackroom.tools.filters import KIND, filters_by_use, filters_of, parse_bound, values_condition

NOT = "not-"
NUMBER_RANGES = "2015, 2010..2020, 2015.., ..1999"
DATE_RANGES = "2015, 2015-04, 2015-04-30, 2015..2016-03, 2015-04.., ..1999"


def parse_conditions(arguments: Sequence[str], spec: CatalogueSpec) -> Iterator[Condition]:
    """Yield the conditions of a command line's free options."""
    known = filters_of(spec)
    for name, value in _pairs(arguments):
        plain = name.removeprefix(NOT)
        if plain not in known:
            by_use = [field.name for field in filters_by_use(spec)]
            options = ", ".join(f"--{one}" for one in dict.fromkeys((*by_use, *known)))
            raise InputError(f"no filter '--{plain}'{did_you_mean(plain, list(known))}; filters: {options}")
        yield _condition(name, known[plain], value)


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of a command line that are not filters, and the options that are, with their values."""
    stated, options, rest = [], [], list(arguments)
    while rest:
        one = rest.pop(0)
        if not one.startswith("--"):
            stated.append(one)
        else:
            options += [one] if "=" in one or not rest else [one, rest.pop(0)]
    return stated, options


def split_names(stated: Sequence[str]) -> list[str]:
    """Return the names of an option that may be repeated, and may have several with commas."""
    return [part.strip() for one in stated for part in one.split(",") if part.strip()]


def without_filters(options: Sequence[str], specs: Mapping[str, CatalogueSpec]) -> list[str]:
    """Return the catalogues that lack one of these filters; refuse filters that no catalogue has all of."""
    names = [name.removeprefix(NOT) for name, _ in _pairs(options)]
    known = {catalogue: filters_of(spec) for catalogue, spec in specs.items()}
    every = list(dict.fromkeys(name for filters in known.values() for name in filters))
    for name in names:
        if name not in every:
            raise InputError(
                f"no catalogue has a filter '--{name}'{did_you_mean(name, every)}; see: stackroom browse CATALOGUE"
            )
    lacking = [catalogue for catalogue, filters in known.items() if not set(names) <= set(filters)]
    if len(lacking) == len(known):
        holders = "; ".join(f"--{name}: {', '.join(one for one in known if name in known[one])}" for name in names)
        raise InputError(f"no catalogue has all of these filters; {holders}")
    return lacking


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if not option.startswith("--"):
            raise InputError(f"'{option}' is not an option; a query of several words goes in quotes")
        name, equals, value = option[2:].partition("=")
        if not equals:
            if not rest:
                raise InputError(f"'{option}' wants a value; give one after it")
            value = rest.pop(0)
        yield name, value


def _condition(name: str, field: FieldSpec, value: str) -> Condition:
    is_negated = name.startswith(NOT)
    if field.filter is FilterKind.RANGE or (field.brackets and ".." in value):
        if is_negated:
            raise InputError(f"'--{name}': a range cannot be negated; give the range that is wanted")
        return _range(field, value)
    values = [part.strip() for part in value.split(",") if part.strip()]
    if not values:
        raise InputError(f"'--{name}' wants a value; give one after it")
    return values_condition(field, values, is_negated=is_negated)


def option_of(condition: Condition) -> str:
    """Return the option that a condition came from."""
    name = KIND if condition.field == KIND_FIELD else condition.field
    return f"--{NOT}{name}" if isinstance(condition, NoneOf) else f"--{name}"


def _range(field: FieldSpec, value: str) -> Range:
    low, dots, high = value.partition("..")
    last = high if dots else low
    try:
        at_least = parse_bound(low, field, is_upper=False) if low or not high else None
        at_most = parse_bound("wrong" if last.startswith(".") else last, field, is_upper=True) if last else None
    except (ValueError, OverflowError) as error:
        raise InputError(f"'--{field.name}': '{value}' is not a range; right are {_ranges(field)}") from error
    if at_least is not None and at_most is not None and at_least > at_most:
        raise InputError(f"'--{field.name}': '{value}' begins after it ends; right are {_ranges(field)}")
    return Range(field.name, at_least, at_most)


def _ranges(field: FieldSpec) -> str:
    return DATE_RANGES if field.type is FieldType.DATE else NUMBER_RANGES
