"""The filters of catalogues in one short description, which a model reads at every turn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import ExpectedError, did_you_mean
from stackroom.generic.browse import number_ranges
from stackroom.generic.record_text import with_unit
from stackroom.shelf.port import ShelfReader
from stackroom.text.instructions import quoted
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.filters import (
    filter_names,
    filterable,
    filters_by_use,
    filters_of,
    useful_filters,
)
from stackroom.tools.toolbox import NO_AUDIENCE

Facts = Mapping[str, str]
"""The bounds of ranges, as in `4 to 3300`, and the values of facets that have few, as in `red,
white`, by field.
"""

# the most records whose values are read for the tool list; a larger catalogue is browsed
MOST_RECORDS = 200_000
FACTS_SHOWN = 12
MOST_VALUES = 8
LONGEST_VALUE = 24


class FilterFacts:
    """The facts of one catalogue that every caller may know, read again after a change of its
    records.
    """

    def __init__(self, catalogue: OpenCatalogue) -> None:
        self._catalogue = catalogue
        self._known: tuple[int, Facts] | None = None

    def read(self) -> Facts:
        """Return the facts of now; the last known ones, or none, where the catalogue cannot be read
        at once.
        """
        shelf = self._catalogue.shelf
        try:
            reader = shelf.find_reader() or (None if self._known else shelf.reader())
        except ExpectedError:
            reader = None
        if reader is not None and (self._known is None or self._known[0] != reader.change_no):
            self._known = (
                reader.change_no,
                _read_facts(reader, filters_by_use(self._catalogue.spec)[:FACTS_SHOWN]),
            )
        return self._known[1] if self._known else {}


def _read_facts(reader: ShelfReader, fields: Sequence[FieldSpec]) -> Facts:
    if reader.count(NO_AUDIENCE) > MOST_RECORDS:
        return {}
    ranges = number_ranges(reader, NO_AUDIENCE, fields)
    facts = {
        field.name: _bounds(field, ranges.get(field.name, {}))
        if field.filter is FilterKind.RANGE
        else _few_values(reader, field)
        for field in fields
    }
    return {name: fact for name, fact in facts.items() if fact}


def _bounds(field: FieldSpec, ends: Mapping[str, object]) -> str:
    low, high = (str(bound) for bound in ends.values() or ("", ""))
    if field.type is FieldType.DATE and low[:4] != high[:4]:
        low, high = low[:4], high[:4]
    return with_unit(f"{low} to {high}", field) if low else ""


def _few_values(reader: ShelfReader, field: FieldSpec) -> str:
    """Return the values of a facet that has few short ones; none that reads like an instruction."""
    if not field.facet or field.type is FieldType.ENUM:
        return ""
    values = [facet.value for facet in reader.facets(field.name, scope=NO_AUDIENCE)]
    is_small = 1 < len(values) <= MOST_VALUES and all(
        0 < len(value) <= LONGEST_VALUE for value in values
    )
    return ", ".join(values) if is_small and all(quoted(value) == value for value in values) else ""


FEWEST_CHARS = 500
CHARS_PER_CATALOGUE = 60
MOST_CHARS = 1_500
MOST_FIELDS = (8, 6, 5, 4, 3, 2, 1)
"""The most fields of a catalogue that are named; fewer are tried until the description is short
enough.
"""
USE = "field: [values], or {min, max} where *; browse has the rest"
MORE = "…"


NO_FACTS: Mapping[str, Facts] = {}


def filter_guide(specs: Mapping[str, CatalogueSpec], facts: Mapping[str, Facts] = NO_FACTS) -> str:
    """Return which catalogue has which filters, with the bounds of ranges if there is room, in
    bounded length.
    """
    room = min(max(FEWEST_CHARS, CHARS_PER_CATALOGUE * len(specs)), MOST_CHARS)
    for most in MOST_FIELDS:
        for known in (facts, NO_FACTS):
            guide = "; ".join([USE, *_entries(specs, known, most)])
            if len(guide) <= room:
                return guide
    return _cut(guide, room)


def _cut(entries: str, room: int) -> str:
    return (
        entries
        if len(entries) <= room
        else f"{entries[: room - len(MORE) - 2].rsplit('; ', 1)[0]}; {MORE}"
    )


def _entries(
    specs: Mapping[str, CatalogueSpec], facts: Mapping[str, Facts], most: int
) -> Iterator[str]:
    """Yield an entry for each set of fields, as in `films, series: year* 1950 to 2020, genre,
    …`.
    """
    catalogues: dict[tuple[str, ...], list[str]] = {}
    for name, spec in specs.items():
        useful = useful_filters(spec)
        more = [MORE] if len(filterable(spec)) > len(useful) else []
        bounds = {f"{field}*": f"{field}* {fact}" for field, fact in facts.get(name, {}).items()}
        fields = [bounds.get(field, field) for field in filter_names(spec, useful)]
        catalogues.setdefault((*fields, *more), []).append(name)
    for entry, names in catalogues.items():
        if entry:
            rest = [MORE] if len(entry) > most and entry[most - 1] != MORE else []
            yield f"{', '.join(names)}: {', '.join([*entry[:most], *rest])}"


def facts_in_words(facts: Facts) -> str:
    """Return the bounds and values of one catalogue's filters, as in `price 4 to 3300; colour red,
    white`.
    """
    return _cut("; ".join(f"{name} {fact}" for name, fact in facts.items()), FEWEST_CHARS)


def advice_over(
    filters: Iterable[str], specs: Mapping[str, CatalogueSpec], problems: Mapping[str, str]
) -> str:
    """Return the problem of the first catalogue that has all of these filters; else which
    catalogues have each of them.

    Where one is in none, return which filters there are.
    """
    known = {name: filters_of(spec) for name, spec in specs.items()}
    if having := [name for name in problems if set(filters) <= known[name].keys()]:
        return problems[having[0]]
    every = list(dict.fromkeys(field for fields in known.values() for field in fields))
    holders = {
        one: [name for name, fields in known.items() if meant(one, fields) in fields]
        for one in filters
    }
    for one, names in holders.items():
        if not names:
            return f"'{one[:60]}' is in none{did_you_mean(one, every)}; {filter_guide(specs)}"
    return "; ".join(f"{one}: {', '.join(names)}" for one, names in holders.items())
