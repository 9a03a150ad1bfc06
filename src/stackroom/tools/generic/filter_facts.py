"""Facts about the filters of a catalogue, for the tool list: the bounds of its ranges, and the values of small facets.

They are read from the records that every caller of the catalogue may see, and again only after a change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np

from stackroom.catalogue.spec import FieldSpec, FieldType, FilterKind
from stackroom.errors import ExpectedError
from stackroom.shelf.port import ShelfReader
from stackroom.text.messages import quoted
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.filters import filters_by_use
from stackroom.tools.record_text import number_text, with_unit
from stackroom.tools.toolbox import NO_AUDIENCE

MOST_RECORDS = 200_000
"""The most records whose values are read for the tool list; a larger catalogue is browsed."""
MOST_FIELDS = 12
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
            self._known = (reader.change_no, read_facts(reader, filters_by_use(self._catalogue.spec)[:MOST_FIELDS]))
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
