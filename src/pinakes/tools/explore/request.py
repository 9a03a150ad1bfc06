"""The request that an address of the page states: `q=…&f.tags=drama&x.tags=horror&r.year=2015..&sort=-year&u=…`.

`f.` are values that are wanted, `x.` values to leave out, `r.` a range of which either end may be open, `u` a phrase of
the query that is not to be read as a condition. Other parameters belong to the page alone, and are ignored here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinakes.errors import InputError
from pinakes.text.query import MAX_CHARS
from pinakes.tools.filters import ADULT

PAGE_SIZE = 24
MOST_HITS = 100
MOST_KEYS = 20_000
MOST_CONDITIONS = 100
"""The most parameters that an address has."""
BETWEEN = ".."
PARTS = ("catalogue", "hits", "facets", "keys")
USUAL_PARTS = ("catalogue", "hits", "facets")
WANTED, LEFT_OUT, WITHIN = "f.", "x.", "r."


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """A query, the conditions of a result set, and which part of it is asked for."""

    query: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    """Values and ranges, as the search tool takes them."""
    exclude: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unread: Sequence[str] = ()
    """Phrases of the query that are not to be read as conditions."""
    sort: str = ""
    """A field, with a minus before it where the greatest come first; empty: the best first."""
    parts: Sequence[str] = USUAL_PARTS
    start: int = 0
    limit: int = PAGE_SIZE
    has_cells: bool = False
    """Whether hits have the values of all columns, for a table."""
    facet: str = ""
    """The only field whose values are counted; empty: all."""
    like: str = ""
    """What the values of that field are to be like."""


def parse_address(parameters: Iterable[tuple[str, str]]) -> Explored:
    """Return what the parameters of an address ask for; raise InputError naming the parameter that is wrong."""
    given = list(parameters)
    if len(given) > MOST_CONDITIONS:
        raise InputError(f"the address has {len(given)} parameters; at most {MOST_CONDITIONS} are read")
    single = {name: value for name, value in given if not name.startswith((WANTED, LEFT_OUT, WITHIN))}
    parts = _parts(single.get("parts", ""))
    usual, most = (MOST_KEYS, MOST_KEYS) if set(parts) == {"keys"} else (PAGE_SIZE, MOST_HITS)
    return Explored(
        query=single.get("q", "").strip()[:MAX_CHARS],
        filters={**_wanted(given), **{name: _range(name, value) for name, value in _named(given, WITHIN)}},
        exclude=_lists(given, LEFT_OUT),
        unread=[value[:MAX_CHARS] for name, value in given if name == "u"],
        sort=single.get("sort", "").strip(),
        parts=parts,
        start=_number("cursor", single.get("cursor", "0"), 0, MOST_KEYS * 100),
        limit=_number("limit", single.get("limit", str(usual)), 1, most),
        has_cells=single.get("view") == "table",
        facet=single.get("facet", ""),
        like=single.get("like", "").strip()[:MAX_CHARS],
    )


def _parts(stated: str) -> tuple[str, ...]:
    parts = tuple(one for one in stated.split(",") if one) or USUAL_PARTS
    unknown = [one for one in parts if one not in PARTS]
    if unknown:
        raise InputError(f"'parts': '{unknown[0][:40]}' is no part of an answer; right are {', '.join(PARTS)}")
    return parts


def _named(given: Sequence[tuple[str, str]], prefix: str) -> list[tuple[str, str]]:
    return [(name.removeprefix(prefix), value) for name, value in given if name.startswith(prefix) and value]


def _lists(given: Sequence[tuple[str, str]], prefix: str) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for name, value in _named(given, prefix):
        lists.setdefault(name, []).append(value)
    return lists


def _wanted(given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the values that are wanted by field; adult records are asked for by yes or no."""
    wanted: dict[str, Any] = {**_lists(given, WANTED)}
    if wanted.get(ADULT) == ["true"]:
        wanted[ADULT] = True
    return wanted


def _range(name: str, stated: str) -> dict[str, str]:
    """Return a range from `2015..2019`, `2015..`, `..2019` or `2015`."""
    low, dots, high = stated.partition(BETWEEN)
    bounds = {"min": low.strip(), "max": (high if dots else low).strip()}
    known = {bound: value for bound, value in bounds.items() if value}
    if not known:
        raise InputError(f"'{WITHIN}{name[:60]}' must be a range, as in 2015..2019, 2015.. or ..2019")
    return known


def _number(name: str, stated: str, least: int, most: int) -> int:
    if not (stated.isascii() and stated.isdecimal() and len(stated) <= 9 and least <= int(stated) <= most):
        raise InputError(f"'{name}' must be a whole number from {least} to {most:,}; given: '{stated[:40]}'")
    return int(stated)
