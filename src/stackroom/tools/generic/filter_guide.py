"""The filters of catalogues in one short description, which a model reads at every turn.

Of several catalogues, each is named with its most useful fields; those with the same fields share an entry. Of one
catalogue, whose schema names the fields, the description has the bounds and values. What has no room is in `browse`.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import did_you_mean
from stackroom.text.spelling import meant
from stackroom.tools.filters import filter_names, filterable, filters_by_use, filters_of, useful_filters
from stackroom.tools.generic.filter_facts import NO_FACTS, Facts

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
