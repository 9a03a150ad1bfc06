"""`map`: the places of a catalogue's records as one caller sees them, for pages: arrays in Base64, ids, and labels.

`places` has two little-endian int16 for each id, from −32767 to 32767; `codes` of the colours one byte: 0 for none, or
the number of the value, counted from 1.
Hidden records, and adult ones, have no place, and take no part in labels, colours and their counts.
"""

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.maps.following import FinishedMaps
from stackroom.maps.labels import (
    MapColours,
    MapLabel,
    MappedValues,
    colour_by_numbers,
    colour_by_values,
    find_labels,
    find_steps,
)
from stackroom.maps.making import EVERYTHING, find_rows
from stackroom.maps.map_file import Keys, Places
from stackroom.model.principal import Principal
from stackroom.model.record import Key
from stackroom.model.scope import KIND_FIELD, Scope
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, choose_catalogue
from stackroom.tools.merge import shown_scope
from stackroom.tools.result_text import catalogue_tool
from stackroom.tools.spec import GenericParams, GenericResult, ToolSpec

LIST_TYPES = (FieldType.TAGS, FieldType.TEXTS)
TITLES_READ = 5_000
"""So many titles are read for labels, where no field has values for them."""
SHORTEST_WORD = 4
EMPTY_WORDS = frozenset({"about", "and", "for", "from", "into", "that", "their", "this", "with", "your"})
NO_VALUES = frozenset({"", "unknown", "none", "n/a", "other"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisibleMap:
    """The places of the records that a caller sees, in key order, of one view."""

    view: CatalogueView
    scope: Scope
    keys: Keys
    places: Places
    unplaced: int
    """How many records that they see have no place: those without a vector, and those that are too new."""
    finished: FinishedMaps
    """The finished maps of one layout, by the records that their callers see."""

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""
        return self.view.spec

    @property
    def digest(self) -> bytes:
        """A digest of the records that are seen: who has the same sees the same."""
        return sha256(self.keys.tobytes() + self.unplaced.to_bytes(8)).digest()

    def list_colour_fields(self) -> list[dict[str, str]]:
        """Return the fields that the map can be coloured by, the most telling first, each with its label."""
        kind = [{"field": KIND_FIELD, "label": "Kind"}] if len(self.spec.kinds) > 1 else []
        return [*({"field": one.name, "label": self.spec.labels[one.name]} for one in self._colour_fields()), *kind]

    def colour_by(self, name: str) -> MapColours:
        """Return the colours by a field."""
        known = [colour_field["field"] for colour_field in self.list_colour_fields()]
        if name not in known:
            raise InputError(
                f"'colour': no field '{name[:80]}'{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
        field = self.spec.fields.get(name)
        if field is not None and field.is_numeric:
            return self._colour_by_numbers(field)
        return colour_by_values(self.places, self.values_of(name))

    def labels(self) -> list[MapLabel]:
        """Return what is typical of the parts of the map."""
        facets = [one for one in self.spec.fields.values() if one.facet and not one.is_numeric]
        lists = self._all_values([facet.name for facet in facets if facet.type in LIST_TYPES])
        return find_labels(self.places, lists or self._all_values([facet.name for facet in facets]) or [self._words()])

    def values_of(self, name: str) -> MappedValues:
        """Return the values of a field at the places of this map."""
        found = self.view.reader.occurrences(name, scope=self.scope)
        rows, is_here = find_rows(self.keys, found.keys)
        return MappedValues(name, found.values, found.indexes[is_here], rows[is_here])

    def _all_values(self, names: Sequence[str]) -> list[MappedValues]:
        """Return those of these fields that have values, without values that say nothing."""
        return [one for name in names if len((one := _telling(self.values_of(name))).rows)]

    def _colour_fields(self) -> list[FieldSpec]:
        columns = [one for one in self.spec.column_fields if one.facet or (one.is_numeric and one.filter)]
        return sorted(columns, key=lambda one: (one.is_numeric, one.type not in LIST_TYPES, not one.facet))

    def _colour_by_numbers(self, field: FieldSpec) -> MapColours:
        numbers = self.view.reader.numbers(field.name, [Key(key) for key in self.keys.tolist()])
        steps = find_steps(numbers)
        return colour_by_numbers(numbers, _shown_steps(numbers, steps, field), steps)

    def _words(self) -> MappedValues:
        """Return the words of titles as values, of a sample where there are many records."""
        step = max(1, len(self.keys) // TITLES_READ)
        rows = np.arange(0, len(self.keys), step)
        by_key = {Key(int(self.keys[row])): int(row) for row in rows.tolist()}
        pairs = [
            (word, by_key[key])
            for key, record in self.view.reader.fetch(list(by_key), scope=self.scope).items()
            for word in sorted(_words_of(self.spec.title_of(record)))
        ]
        words = sorted(word for word, count in Counter(word for word, _ in pairs).items() if count > 1)
        places = {word: place for place, word in enumerate(words)}
        kept = [(places[word], row) for word, row in pairs if word in places]
        indexes, found = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        return MappedValues("", words, indexes, found)


def find_visible(catalogue: OpenCatalogue, principal: Principal) -> VisibleMap | None:
    """Return the map of a catalogue as a caller sees it; None where there is none yet, or there are no vectors."""
    view = catalogue.view()
    placed = catalogue.map.find(view.reader)
    if placed is None:
        return None
    scope = shown_scope(view, principal.visibility)
    seen = np.array(view.reader.scan(scope=scope, limit=EVERYTHING), dtype=np.int64)
    rows, is_there = find_rows(placed.keys, seen)
    return VisibleMap(
        view=view,
        scope=scope,
        keys=seen[is_there],
        places=placed.places[rows[is_there]],
        unplaced=int(np.count_nonzero(~is_there)),
        finished=placed.finished,
    )


def _telling(values: MappedValues) -> MappedValues:
    is_empty = np.array([one.casefold() in NO_VALUES for one in values.values], dtype=bool)
    if not is_empty.any():
        return values
    kept = ~is_empty[values.indexes]
    return values._replace(indexes=values.indexes[kept], rows=values.rows[kept])


def _words_of(title: str) -> set[str]:
    words = (word.strip(".,:;!?\"'()[]") for word in title.lower().split())
    return {word for word in words if len(word) >= SHORTEST_WORD and word not in EMPTY_WORDS}


def _shown_steps(numbers: NDArray[np.float64], steps: Sequence[float], field: FieldSpec) -> list[str]:
    """Return each step of a scale as text: from where it begins to where the next does."""
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return []
    bounds = [float(known.min()), *steps]
    ends = [float(known[known < step].max()) for step in steps] + [float(known.max())]
    return [_shown_range(low, high, field) for low, high in zip(bounds, ends, strict=True)]


def _shown_range(low: float, high: float, field: FieldSpec) -> str:
    first, last = _shown_number(low, field), _shown_number(high, field)
    return first if first == last else f"{first}–{last}"


def _shown_number(number: float, field: FieldSpec) -> str:
    if field.type is FieldType.DATE:
        return str(date.fromordinal(int(number)).year)
    return f"{number:.4g}" if number != int(number) else f"{int(number)}"


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
        "ids": seen.view.reader.ids([Key(key) for key in seen.keys.tolist()]),
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


def _base64(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
