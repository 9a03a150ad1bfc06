"""`stackroom-map://CATALOGUE`: the parts of a map for an assistant, each with its place, values and a few records."""

from collections.abc import Iterator, Sequence
from typing import Any

from stackroom.maps.labels import MapLabel
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Key
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.maps.visible import VisibleMap, find_visible
from stackroom.tools.resources.records import address_of
from stackroom.tools.resources.resource import ContentList, ResourceSpec
from stackroom.tools.resources.window import parse_position

SCHEME = "stackroom-map://"
EXAMPLES = 3
DEEPEST_LEVEL = 2
REACH_SHOWN = 100
"""Places are given from −100 to 100."""


class MapResources:
    """The maps of these catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue]) -> None:
        self._catalogues = {one.name: one for one in catalogues}

    def read(self, principal: Principal, rest: str) -> ContentList | None:
        """Return the labelled parts of a map, large ones first; None where there is no map."""
        catalogue = self._catalogues.get(rest)
        seen = find_visible(catalogue, principal) if catalogue is not None else None
        if catalogue is None or seen is None:
            return None
        labels = [one for one in seen.labels() if one.level <= DEEPEST_LEVEL]

        def after(cursor: str | None) -> Iterator[tuple[str, Any]]:
            start = 0 if (place := parse_position(cursor)) is None else place + 1
            for number, label in enumerate(labels[start:], start=start):
                yield str(number), _shown_region(catalogue.name, seen, label)

        head = {"catalogue": catalogue.name, "records": len(seen.keys), "unplaced": seen.unplaced, "note": NOTE}
        return ContentList(name="regions", total=len(labels), after=after, head=head)

    def complete(self, _principal: Principal, _variable: str, typed: str, _others: dict[str, str]) -> list[str]:
        """Complete a catalogue's name."""
        return [name for name in self._catalogues if name.startswith(typed)]


NOTE = "Records near each other are alike in meaning; x and y are from -100 to 100, and directions mean nothing."


def map_resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the maps as resources."""
    maps = MapResources(catalogues)
    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.ACCESS_CATALOG,
            entries=lambda _principal: [],
            read=maps.read,
            template=SCHEME + "{catalogue}",
            name="map",
            description="What lies where on the map of a catalogue: typical values, places, examples; as JSON.",
            complete=maps.complete,
        )
    ]


def _shown_region(name: str, seen: VisibleMap, label: MapLabel) -> dict[str, Any]:
    """Return a part of the map, with the records nearest to its middle."""
    middle = (seen.places[label.rows].astype(float) - (label.x, label.y)) ** 2
    nearest = label.rows[middle.sum(axis=1).argsort(kind="stable")[:EXAMPLES]]
    records = seen.view.reader.fetch([Key(int(key)) for key in seen.keys[nearest]], scope=seen.scope)
    return {
        "label": label.text,
        "field": label.field or "title",
        "x": round(label.x / 32_767 * REACH_SHOWN),
        "y": round(label.y / 32_767 * REACH_SHOWN),
        "size": ("large", "middle", "small")[label.level],
        "records": label.count,
        "examples": [{"id": address_of(name, one.id), "title": seen.spec.title_of(one)} for one in records.values()],
    }
