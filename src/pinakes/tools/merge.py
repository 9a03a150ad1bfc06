"""Merging what several catalogues found into one list. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pinakes.model.hits import Hit
from pinakes.tools.catalogue import OpenCatalogue

MERGED_HEAD = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A hit of one catalogue, on its way into a list of several."""

    catalogue: OpenCatalogue
    hit: Hit
    strength: float
    label: str | None


def merge(lists: Sequence[Sequence[Merged]]) -> list[Merged]:
    """Merge the lists of several catalogues by how well each record answers, so that each has what it deserves.

    A catalogue's own order holds. Its first few have the strengths of those few, the strongest first; after them none
    is taken to be stronger than the one before. So a longer list begins as a shorter one does, and pages fit together.
    """
    ranked: list[tuple[float, str, int, Merged]] = []
    for items in lists:
        strengths = sorted((item.strength for item in items[:MERGED_HEAD]), reverse=True)
        strengths += [item.strength for item in items[MERGED_HEAD:]]
        least = 1.0
        for place, (item, strength) in enumerate(zip(items, strengths, strict=True)):
            least = min(least, strength)
            ranked.append((-least, item.catalogue.name, place, replace(item, strength=least)))
    return [item for *_, item in sorted(ranked, key=lambda one: one[:3])]
