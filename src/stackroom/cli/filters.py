"""Filters typed as options: `--year 2015..2020 --tags space,drama --not-tags horror`."""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.tools.filters import BOUNDS, MOST_ADVISED, filters_by_use, filters_of

NOT = "not-"
ARGUMENT = re.compile(r"\b(filters|exclude)\.(?=\w)")


def read_filters(options: Sequence[str], specs: Sequence[CatalogueSpec]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the free options of a command line as the `filters` and the `exclude` of a call."""
    known = {name: field for spec in specs for name, field in filters_of(spec).items()}
    filters: dict[str, Any] = {}
    excluded: dict[str, Any] = {}
    rest = list(options)
    while rest:
        given = rest.pop(0)
        if not given.startswith("--"):
            raise InputError(f"'{given}' is not an option; a query of several words goes in quotes")
        option, equals, value = given[2:].partition("=")
        if not equals and not rest:
            raise InputError(f"'{given}' wants a value; give one after it")
        value = value if equals else rest.pop(0)
        name = option.removeprefix(NOT)
        if name not in known:
            by_use = [field.name for spec in specs for field in filters_by_use(spec)]
            listed = [f"--{one}" for one in dict.fromkeys((*by_use, *known))]
            hint = did_you_mean(name, list(known))
            raise InputError(f"no filter '--{name}'{hint}; filters: {', '.join(listed[:MOST_ADVISED])}")
        # As a filter has it: the bounds of a range, or a list of values.
        wanted: dict[str, str] | list[str] = split_names([value])
        if known[name].filter is FilterKind.RANGE or (known[name].brackets and ".." in value):
            low, dots, high = value.partition("..")
            wanted = {bound: text for bound, text in zip(BOUNDS, (low, high if dots else low), strict=True) if text}
        if not wanted:
            raise InputError(f"'--{option}' wants a value; such as a,b for one of several, or 2010..2020 for a range")
        (excluded if option.startswith(NOT) else filters)[name] = wanted
    return filters, excluded


def with_options(text: str) -> str:
    """Return a message or a note with the options that its arguments were given by."""
    return ARGUMENT.sub(lambda found: "--" if found[1] == "filters" else f"--{NOT}", text)


def takes_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command with such options name them, and not the arguments of tools, in what it refuses."""

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        try:
            command(*arguments, **given)
        except InputError as error:
            error.message = with_options(error.message)
            raise

    return run


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
