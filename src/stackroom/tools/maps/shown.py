"""`map`: the places of a catalogue's records, for pages: places and colours as arrays in Base64, ids, and labels.

`places` has two little-endian int16 for each id, from −32767 to 32767; `codes` of the colours one byte: 0 for none, or
the number of the value, counted from 1.
"""

import base64
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from stackroom.maps.labels import MapLabel
from stackroom.model.principal import Principal
from stackroom.model.record import Key
from stackroom.tools.catalogue import OpenCatalogue, choose_catalogue
from stackroom.tools.maps.visible import VisibleMap, find_visible
from stackroom.tools.spec import GenericParams, GenericResult, ToolSpec, catalogue_tool

State = Literal["ready", "being made", "no vectors"]


class MapParams(GenericParams):
    """A catalogue, the field to colour by (default: the most telling one), and whether only colours are wanted."""

    catalogue: str | None = Field(default=None, description="Whose map")
    colour: str | None = Field(default=None, max_length=200, description="The field to colour by")
    colours_only: bool = False


class PlacedLabel(GenericResult):
    """A value that is typical of a place; coarse labels have the level 0."""

    text: str
    field: str
    x: int
    y: int
    level: int


class ColourCount(GenericResult):
    """A value that has a colour, and how many records have it."""

    value: str
    count: int


class MapColour(GenericResult):
    """The values of a field that have a colour, and the number of that of each record."""

    field: str
    label: str
    ordered: bool
    values: list[ColourCount]
    codes: str


class MapResult(GenericResult):
    """A map: ids, a place for each, labels and colours; or why there is none."""

    catalogue: str
    state: State
    count: int | None = None
    unplaced: int | None = None
    ids: list[str] | None = None
    places: str | None = None
    labels: list[PlacedLabel] | None = None
    colours: list[dict[str, str]] | None = None
    colour: MapColour | None = None


def map_operation(catalogues: Sequence[OpenCatalogue]) -> ToolSpec:
    """Declare the map of a catalogue, for pages."""
    return catalogue_tool(
        name="map",
        description="The places of a catalogue's records on its map, with labels and colours.",
        params=MapParams,
        result=MapResult,
        run=lambda principal, params: _show_map(
            choose_catalogue(catalogues, principal, params.catalogue), params, principal
        ),
        text=lambda result: f"{result.catalogue}: {result.state}",
        cacheable=False,
        is_listed=False,
    )


def _show_map(catalogue: OpenCatalogue, params: MapParams, principal: Principal) -> MapResult:
    """Return a map, or why there is none; to callers who see the same, until something changes, it is made once."""
    seen = find_visible(catalogue, principal)
    if seen is None:
        state: State = "no vectors" if catalogue.shelf.reader().model is None else "being made"
        return MapResult(catalogue=catalogue.name, state=state)
    made = seen.finished.find_or_make((seen.digest, params), lambda: _finish(seen, params))
    return MapResult(catalogue=catalogue.name, state="ready", **made)


def _finish(seen: VisibleMap, params: MapParams) -> dict[str, Any]:
    colours = {"colour": _shown_colour(seen, params.colour)}
    if params.colours_only:
        return colours
    return {
        "count": len(seen.keys),
        "unplaced": seen.unplaced,
        "ids": seen.view.reader.ids(_keys(seen.keys.tolist())),
        "places": _base64(seen.places.astype("<i2")),
        "labels": [_shown_label(one) for one in seen.labels()],
        "colours": seen.list_colour_fields(),
        **colours,
    }


def _shown_colour(seen: VisibleMap, wanted: str | None) -> MapColour | None:
    fields = seen.list_colour_fields()
    if wanted is None and not fields:
        return None
    name = wanted if wanted is not None else fields[0]["field"]
    colours = seen.colour_by(name)
    counted = zip(colours.values, colours.counts, strict=True)
    return MapColour(
        field=name,
        label=next(one["label"] for one in fields if one["field"] == name),
        ordered=colours.is_ordered,
        values=[ColourCount(value=value, count=count) for value, count in counted],
        codes=_base64(colours.codes),
    )


def _shown_label(label: MapLabel) -> PlacedLabel:
    return PlacedLabel(text=label.text, field=label.field, x=label.x, y=label.y, level=label.level)


def _keys(keys: Sequence[int]) -> list[Key]:
    return [Key(one) for one in keys]


def _base64(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
