"""The map of a catalogue as the page gets it: places and colours as arrays in Base64, ids, and labels.

`places` has two little-endian int16 for each id, from −32767 to 32767; `codes` of the colours one byte: 0 for none, or
the number of the value, counted from 1.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinakes.errors import NotFoundError
from pinakes.maps.colours import MapColours
from pinakes.maps.labels import MapLabel
from pinakes.model.principal import Principal
from pinakes.model.record import Key, RecordId
from pinakes.model.scope import Scope
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.maps.visible import VisibleMap, find_visible
from pinakes.tools.media import CallerMedia
from pinakes.tools.page.hits import shape_hit
from pinakes.tools.scopes import shown_scope

READY, BEING_MADE, NO_VECTORS = "ready", "being made", "no vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapQuestion:
    """The part of a map that is asked for."""

    colour: str | None = None
    """The field to colour by; None: the most telling one."""
    colours_only: bool = False


def show_map(catalogue: OpenCatalogue, principal: Principal, question: MapQuestion) -> dict[str, Any]:
    """Return a map, or why there is none; to callers who see the same, until something changes, it is made once."""
    seen = find_visible(catalogue, principal)
    if seen is None:
        has_vectors = catalogue.shelf.reader().model is not None
        return {"catalogue": catalogue.name, "state": BEING_MADE if has_vectors else NO_VECTORS}
    made = seen.finished.find_or_make((seen.digest, question), lambda: _finish(seen, question))
    return {"catalogue": catalogue.name, "state": READY, **made}


def _finish(seen: VisibleMap, question: MapQuestion) -> dict[str, Any]:
    colours = {"colour": _shown_colour(seen, question.colour)}
    if question.colours_only:
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


def show_records(
    catalogue: OpenCatalogue, principal: Principal, media: CallerMedia, ids: Sequence[str]
) -> dict[str, Any]:
    """Return these records as hits, in their order; those that the caller does not see are left out."""
    view, scope = catalogue.view(), Scope(visibility=principal.visibility)
    found = view.reader.find([RecordId(one) for one in ids], scope=scope)
    records = view.reader.fetch(list(found.values()), scope=scope)
    keys = [found[RecordId(one)] for one in dict.fromkeys(ids) if RecordId(one) in found]
    return {"hits": [shape_hit(catalogue, records[key], media) for key in keys if key in records]}


def show_near(
    catalogue: OpenCatalogue, principal: Principal, media: CallerMedia, record_id: str, *, limit: int
) -> dict[str, Any]:
    """Return the records whose vectors are nearest to that of one: near in meaning, wherever they are on the map."""
    view, scope = catalogue.view(), Scope(visibility=principal.visibility)
    key = view.reader.find([RecordId(record_id)], scope=scope).get(RecordId(record_id))
    if key is None:
        raise NotFoundError(view.describe_id(record_id, scope=scope))
    vector = view.reader.vectors([key])
    if not vector.any():
        return {"hits": []}
    (ranking,) = view.reader.nearest(vector, scope=shown_scope(view, principal.visibility), limit=limit + 1)
    near = [one.key for one in ranking.best if one.key != key][:limit]
    records = view.reader.fetch(near, scope=scope)
    return {"hits": [shape_hit(catalogue, records[one], media) for one in near if one in records]}


def _shown_colour(seen: VisibleMap, wanted: str | None) -> dict[str, Any] | None:
    fields = seen.list_colour_fields()
    if wanted is None and not fields:
        return None
    name = wanted if wanted is not None else fields[0]["field"]
    colours = seen.colour_by(name)
    return {
        "field": name,
        "label": next(one["label"] for one in fields if one["field"] == name),
        "ordered": colours.is_ordered,
        "values": _shown_values(colours),
        "codes": _base64(colours.codes),
    }


def _shown_values(colours: MapColours) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in zip(colours.values, colours.counts, strict=True)]


def _shown_label(label: MapLabel) -> dict[str, Any]:
    return {"text": label.text, "field": label.field, "x": label.x, "y": label.y, "level": label.level}


def _keys(keys: Sequence[int]) -> list[Key]:
    return [Key(one) for one in keys]


def _base64(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
