"""The filters of catalogues in one short description, which a model reads at every turn.

Of several catalogues, each is named with its most useful fields; those with the same fields share an entry. Of one
catalogue, whose schema names the fields, the description has the bounds and values. What has no room is in `browse`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import ExpectedError, did_you_mean
from stackroom.shelf.port import ShelfReader
from stackroom.text.instructions import quoted
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.filters import filter_names, filterable, filters_by_use, filters_of, useful_filters
from stackroom.tools.record_text import number_text, with_unit
from stackroom.tools.toolbox import NO_AUDIENCE

MOST_RECORDS = 200_000
"""The most records whose values are read for the tool list; a larger catalogue is browsed."""
FACTS_SHOWN = 12
MOST_VALUES = 8
LONGEST_VALUE = 24
DAYS_SHOWN_AS_YEARS = 1_000
"""The number of days from which the bounds of dates are given as years."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The bounds of ranges, as in `4 to 3300`, and the values of facets that have few, by field."""

    bounds: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]


NO_FACTS = Facts({}, {})


class FilterFacts:
    """The facts of one catalogue, read again after a change of its records."""

    def __init__(self, catalogue: OpenCatalogue) -> None:
        self._catalogue = catalogue
        self._known: tuple[int, Facts] | None = None

    def read(self) -> Facts:
        """Return the facts of now; the last known ones, or none, where the catalogue cannot be read at once."""
        try:
            reader = self._catalogue.shelf.find_reader() or (None if self._known else self._catalogue.shelf.reader())
        except ExpectedError:
            reader = None
        if reader is not None and (self._known is None or self._known[0] != reader.change_no):
            self._known = (reader.change_no, read_facts(reader, filters_by_use(self._catalogue.spec)[:FACTS_SHOWN]))
        return self._known[1] if self._known else NO_FACTS


def read_facts(reader: ShelfReader, fields: list[FieldSpec]) -> Facts:
    """Return the facts about these fields; none of a catalogue with very many records."""
    if not 0 < reader.count(NO_AUDIENCE) <= MOST_RECORDS:
        return NO_FACTS
    keys = reader.scan(scope=NO_AUDIENCE, limit=MOST_RECORDS)
    ranges = [field for field in fields if field.filter is FilterKind.RANGE]
    facets = [field for field in fields if field.facet and field.type is not FieldType.ENUM]
    return Facts(
        {field.name: bounds for field in ranges if (bounds := _bounds(reader.numbers(field.name, keys), field))},
        {field.name: values for field in facets if (values := _few_values(reader, field))},
    )


def _bounds(numbers: np.ndarray, field: FieldSpec) -> str:
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return ""
    low, high = float(known.min()), float(known.max())
    if field.type is FieldType.DATE:
        return " to ".join(_day(number, in_years=high - low >= DAYS_SHOWN_AS_YEARS) for number in (low, high))
    return with_unit(f"{number_text(low)} to {number_text(high)}", field)


def _day(number: float, *, in_years: bool) -> str:
    day = date.fromordinal(int(number))
    return str(day.year) if in_years else day.isoformat()


def _few_values(reader: ShelfReader, field: FieldSpec) -> tuple[str, ...]:
    """Return the values of a facet that has few short ones; none that reads like an instruction."""
    values = [facet.value for facet in reader.facets(field.name, scope=NO_AUDIENCE)]
    is_small = 1 < len(values) <= MOST_VALUES and all(0 < len(value) <= LONGEST_VALUE for value in values)
    return tuple(values) if is_small and all(quoted(value) == value for value in values) else ()


FEWEST_CHARS = 500
CHARS_PER_CATALOGUE = 60
MOST_CHARS = 1_500
MOST_FIELDS = (8, 6, 5, 4, 3, 2, 1)
"""The most fields of a catalogue that are named; fewer are tried until the description is short enough."""
USE = "field: [values], or {min, max} where *; browse has the rest"
MORE = "…"

NOTHING_KNOWN: Mapping[str, Facts] = {}


def filter_guide(specs: Mapping[str, CatalogueSpec], facts: Mapping[str, Facts] = NOTHING_KNOWN) -> str:
    """Return which catalogue has which filters, with the bounds of ranges if there is room, in bounded length."""
    room = min(max(FEWEST_CHARS, CHARS_PER_CATALOGUE * len(specs)), MOST_CHARS)
    for most in MOST_FIELDS:
        for known in (facts, NOTHING_KNOWN):
            guide = "; ".join([USE, *_entries(specs, known, most)])
            if len(guide) <= room:
                return guide
    return f"{guide[: room - len(MORE) - 2].rsplit('; ', 1)[0]}; {MORE}"


def _entries(specs: Mapping[str, CatalogueSpec], facts: Mapping[str, Facts], most: int) -> Iterator[str]:
    """Yield an entry for each set of fields, as in `films, series: year* 1950 to 2020, genre`."""
    catalogues: dict[tuple[str, ...], list[str]] = {}
    for name, spec in specs.items():
        catalogues.setdefault(tuple(_with_bounds(spec, facts.get(name, NO_FACTS))), []).append(name)
    for fields, names in catalogues.items():
        if fields:
            rest = [MORE] if len(fields) > most and fields[most - 1] != MORE else []
            yield f"{', '.join(names)}: {', '.join([*fields[:most], *rest])}"


def _with_bounds(spec: CatalogueSpec, facts: Facts) -> Iterator[str]:
    """Yield the useful filters of a catalogue, ranges with their bounds, and a mark where there are more."""
    useful = useful_filters(spec)
    for name in filter_names(spec, useful):
        bounds = facts.bounds.get(name.removesuffix("*"), "")
        yield f"{name} {bounds}" if bounds else name
    if len(filterable(spec)) > len(useful):
        yield MORE


def advice_over(filters: Iterable[str], specs: Mapping[str, CatalogueSpec]) -> str:
    """Return which catalogues have each of these filters; where one is in none, which filters there are."""
    known = {name: filters_of(spec) for name, spec in specs.items()}
    every = list(dict.fromkeys(field for fields in known.values() for field in fields))
    holders = {one: [name for name, fields in known.items() if meant(one, fields) in fields] for one in filters}
    for one, names in holders.items():
        if not names:
            return f"'{one[:60]}' is in none{did_you_mean(one, every)}; {filter_guide(specs)}"
    return "; ".join(f"{one}: {', '.join(names)}" for one, names in holders.items())


def facts_in_words(spec: CatalogueSpec, facts: Facts) -> str:
    """Return the bounds and values of one catalogue's filters, as in `price 4 to 3300; colour red, white`."""
    names = [field.name for field in filters_by_use(spec)]
    known = {name: facts.bounds.get(name) or ", ".join(facts.values.get(name, ())) for name in names}
    words = ""
    for entry in (f"{name} {fact}" for name, fact in known.items() if fact):
        if len(words) + len(entry) + 2 > FEWEST_CHARS:
            return f"{words}; {MORE}"
        words = f"{words}; {entry}" if words else entry
    return words
