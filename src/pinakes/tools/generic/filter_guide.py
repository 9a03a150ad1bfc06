"""The filters of several catalogues in one short description, which a model reads at every turn.

Each catalogue is named with its fields, those that are filtered most first; catalogues with the same fields share an
entry. What has no room is left to `browse`.
"""

from collections.abc import Iterator, Mapping

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FilterKind, Role
from pinakes.tools.filters import ADULT, KIND, filterable

MOST_CHARS = 500
MOST_FIELDS = (8, 6, 4, 3, 2, 1)
"""The most fields of a catalogue that are named; fewer are tried until the description is short enough."""
USE = "field: [values], or {min, max} where *; browse has the rest"
MORE = "…"


def filter_guide(specs: Mapping[str, CatalogueSpec]) -> str:
    """Return which catalogue has which filters, in at most `MOST_CHARS` characters."""
    for most in MOST_FIELDS:
        guide = "; ".join([USE, *_entries(specs, most)])
        if len(guide) <= MOST_CHARS:
            return guide
    return f"{guide[: MOST_CHARS - len(MORE) - 2].rsplit('; ', 1)[0]}; {MORE}"


def _entries(specs: Mapping[str, CatalogueSpec], most: int) -> Iterator[str]:
    """Yield an entry for each set of fields, as in `films, series: genre, year*`."""
    catalogues: dict[tuple[str, ...], list[str]] = {}
    for name, spec in specs.items():
        catalogues.setdefault(tuple(filter_names(spec)), []).append(name)
    for fields, names in catalogues.items():
        if fields:
            rest = [MORE] if len(fields) > most else []
            yield f"{', '.join(names)}: {', '.join([*fields[:most], *rest])}"


def filter_names(spec: CatalogueSpec) -> list[str]:
    """Return the names of a catalogue's filters, the most usual first; those that take a range are starred."""
    fields = sorted(filterable(spec), key=_rank)
    return [
        *([KIND] if len(spec.kinds) > 1 else ()),
        *(f"{field.name}*" if field.filter is FilterKind.RANGE else field.name for field in fields),
        *([ADULT] if spec.adult and ADULT not in spec.fields else ()),
    ]


def _rank(field: FieldSpec) -> int:
    """Return the place of a field among the others: values that can be browsed, time, numbers, the rest."""
    if field.facet:
        return 0
    if field.role is Role.TIME:
        return 1
    return 2 if field.filter is FilterKind.RANGE else 3
