"""The filters of several catalogues in one short description, which a model reads at every turn.

Each is named with its most useful fields; those with the same fields share an entry. What has no room is in `browse`.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import did_you_mean
from stackroom.text.normalise import meant
from stackroom.tools.filters import filter_names, filterable, filters_of, useful_filters

FEWEST_CHARS = 500
CHARS_PER_CATALOGUE = 60
MOST_CHARS = 1_500
MOST_FIELDS = (8, 6, 5, 4, 3, 2, 1)
"""The most fields of a catalogue that are named; fewer are tried until the description is short enough."""
USE = "field: [values], or {min, max} where *; browse has the rest"
MORE = "…"


def filter_guide(specs: Mapping[str, CatalogueSpec]) -> str:
    """Return which catalogue has which filters, in bounded length."""
    room = min(max(FEWEST_CHARS, CHARS_PER_CATALOGUE * len(specs)), MOST_CHARS)
    for most in MOST_FIELDS:
        guide = "; ".join([USE, *_entries(specs, most)])
        if len(guide) <= room:
            return guide
    return f"{guide[: room - len(MORE) - 2].rsplit('; ', 1)[0]}; {MORE}"


def _entries(specs: Mapping[str, CatalogueSpec], most: int) -> Iterator[str]:
    """Yield an entry for each set of fields, as in `films, series: year*, genre`; the mark says that there are more."""
    catalogues: dict[tuple[str, ...], list[str]] = {}
    for name, spec in specs.items():
        useful = useful_filters(spec)
        more = [MORE] if len(filterable(spec)) > len(useful) else []
        catalogues.setdefault((*filter_names(spec, useful), *more), []).append(name)
    for fields, names in catalogues.items():
        if fields:
            rest = [MORE] if len(fields) > most and fields[most - 1] != MORE else []
            yield f"{', '.join(names)}: {', '.join([*fields[:most], *rest])}"


def advice_over(filters: Iterable[str], specs: Mapping[str, CatalogueSpec]) -> str:
    """Return which catalogues have each of these filters; where one is in none, which filters there are."""
    known = {name: filters_of(spec) for name, spec in specs.items()}
    every = list(dict.fromkeys(field for fields in known.values() for field in fields))
    holders = {one: [name for name, fields in known.items() if meant(one, fields) in fields] for one in filters}
    for one, names in holders.items():
        if not names:
            return f"'{one[:60]}' is in none{did_you_mean(one, every)}; {filter_guide(specs)}"
    return "; ".join(f"{one}: {', '.join(names)}" for one, names in holders.items())
