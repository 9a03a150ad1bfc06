"""`map`: the places of a catalogue's records as one caller sees them, for pages: arrays in Base64,
ids, and labels.

`places` has two little-endian int16 for each id, from −32767 to 32767; `codes` of the colours one
byte: 0 for none, or the number of the value, counted from 1. Hidden records, and adult ones, have
no place, and take no part in labels, colours and their counts.
"""

import base64
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import FieldSpec, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.frozen import frozen
from stackroom.maps.labels import (
    MapLabel,
    MappedValues,
    colour_by_numbers,
    colour_by_values,
    find_labels,
    find_steps,
)
from stackroom.maps.making import EVERYTHING, SAMPLE, find_rows
from stackroom.maps.map_file import Keys, Places, find_within, parse_area
from stackroom.model.hits import Occurrences
from stackroom.model.record import Key
from stackroom.model.scope import KEY_FIELD, KIND_FIELD, AnyOf, Scope
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.filters import filters_of, shown_number
from stackroom.tools.finding import shown_scope
from stackroom.tools.operation import Call, Faces, Reads, Tool, operation
from stackroom.tools.spec import GenericParams, GenericResult, optional

LIST_TYPES = (FieldType.TAGS, FieldType.TEXTS)
MOST_TITLES = 50_000
State = Literal["ready", "being made", "no vectors"]
NO_VALUES = frozenset({"", "unknown", "none", "n/a", "other"})


class MapParams(GenericParams):
    """A catalogue, the field to colour by (default: the most telling one), and the part that is
    wanted alone.
    """

    catalogue: str | None = optional("Whose map")
    colour: str | None = optional("The field to colour by", max_length=200)
    only: Literal["", "colour", "titles"] = ""


class ColourCount(GenericResult):
    """A value that has a colour, how many records have it, and the value or range of a filter by
    it.
    """

    value: str
    count: int
    wanted: str


class MapColour(GenericResult):
    """The values of a field that have a colour, the number of that of each record, and the field's
    name in filters.
    """

    field: str
    label: str
    filter: str | None
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
    labels: list[dict[str, str | int]] | None = None
    """Each with its text, its place, and its level, that of coarse ones 0."""
    colours: list[dict[str, str]] | None = None
    colour: MapColour | None = None
    titles: list[str] | None = None


@frozen
class VisibleMap:
    """The places of the records that a caller sees, in key order, of one view."""

    view: CatalogueView
    scope: Scope
    keys: Keys
    places: Places
    words: Occurrences
    # how many records that they see have no place: those without a vector, and those that are too
    # new
    unplaced: int

    def finish(self, params: MapParams) -> dict[str, Any]:
        """Return the part of the map that is wanted, in the form of an answer."""
        keys = [Key(key) for key in self.keys.tolist()]
        if params.only == "titles":
            return {"titles": self._titles(keys) if len(keys) <= MOST_TITLES else []}
        fields = self._colour_fields()
        colours = {"colour": self._colour(params.colour, fields)}
        if params.only == "colour":
            return colours
        return {
            "count": len(keys),
            "unplaced": self.unplaced,
            "ids": self.view.reader.ids(keys),
            "places": _base64(self.places.astype("<i2")),
            "labels": [
                {"text": one.text, "x": one.x, "y": one.y, "level": one.level}
                for one in self._labels()
            ],
            "colours": [{"field": name, "label": label} for name, label in fields.items()],
            **colours,
        }

    def _titles(self, keys: Sequence[Key]) -> list[str]:
        records = self.view.reader.fetch(keys, scope=self.scope)
        return [self.view.spec.title_of(records[key]) if key in records else "" for key in keys]

    def _colour_fields(self) -> dict[str, str]:
        """Return the fields that the map can be coloured by, the most telling first, each with its
        label.
        """
        spec = self.view.spec
        columns = [
            one for one in spec.column_fields if one.facet or (one.is_numeric and one.filter)
        ]
        columns.sort(key=lambda one: (one.is_numeric, one.type not in LIST_TYPES, not one.facet))
        kind = {KIND_FIELD: "Kind"} if len(spec.kinds) > 1 else {}
        return {**{one.name: spec.labels[one.name] for one in columns}, **kind}

    def _colour(self, wanted: str | None, fields: Mapping[str, str]) -> MapColour | None:
        """Return the colours by a field, by the most telling one where none is named; None where
        there is none.
        """
        name = next(iter(fields), None) if wanted is None else wanted
        if name is None:
            return None
        if name not in fields:
            there = f"there are {', '.join(fields)}"
            raise InputError(
                f"'colour': no field '{name[:80]}'{did_you_mean(name, list(fields))}; {there}"
            )
        field = self.view.spec.fields.get(name)
        if field is not None and field.is_numeric:
            numbers = self.view.reader.numbers(field.name, [Key(key) for key in self.keys.tolist()])
            steps = find_steps(numbers)
            colours = colour_by_numbers(numbers, _written_steps(numbers, steps, field), steps)
        else:
            colours = colour_by_values(self.places, self._values_of(name))
        return MapColour(
            field=name,
            label=fields[name],
            filter=next(
                (known for known, one in filters_of(self.view.spec).items() if one.name == name),
                None,
            ),
            ordered=colours.is_ordered,
            values=[
                ColourCount(
                    value=_shown_range(value, field) if field and colours.is_ordered else value,
                    count=count,
                    wanted=value,
                )
                for value, count in zip(colours.values, colours.counts, strict=True)
            ],
            codes=_base64(colours.codes),
        )

    def _labels(self) -> list[MapLabel]:
        """Return what is typical of the parts of the map."""
        facets = [one for one in self.view.spec.fields.values() if one.facet and not one.is_numeric]
        lists = self._telling_values([facet for facet in facets if facet.type in LIST_TYPES])
        words = self._mapped(self.words)
        known = np.unique(words.rows) if len(self.keys) > SAMPLE else None
        return find_labels(
            self.places, [*(lists or self._telling_values(facets)), words._replace(known=known)]
        )

    def _telling_values(self, fields: Sequence[FieldSpec]) -> list[MappedValues]:
        """Return those of these fields that have values, without values that say nothing."""
        telling = []
        for field in fields:
            values = self._values_of(field.name)
            says = np.array(
                [value.casefold() not in NO_VALUES for value in values.values], dtype=bool
            )
            kept = says[values.indexes]
            telling.append(values._replace(indexes=values.indexes[kept], rows=values.rows[kept]))
        return [values for values in telling if len(values.rows)]

    def _values_of(self, name: str) -> MappedValues:
        return self._mapped(self.view.reader.occurrences(name, scope=self.scope))

    def _mapped(self, found: Occurrences) -> MappedValues:
        """Return values at the places of this map."""
        rows, is_here = find_rows(self.keys, found.keys)
        return MappedValues(found.values, found.indexes[is_here], rows[is_here])


def in_area(view: CatalogueView, scope: Scope, area: str) -> Scope:
    """Return a scope with the records in an area of the map alone."""
    placed = view.catalogue.map.find(view.reader)
    if placed is None:
        raise InputError(f"'area': '{view.name}' has no map; leave it out")
    keys = placed.keys[find_within(placed.places, parse_area(area))]
    return scope.narrowed(AnyOf(KEY_FIELD, tuple(map(str, keys.tolist()))))


def _written_steps(
    numbers: NDArray[np.float64], steps: Sequence[float], field: FieldSpec
) -> list[str]:
    """Return the range of each step of a scale, as addresses have it: from its least number to its
    greatest.
    """
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return []
    bounds = [float(known.min()), *steps]
    ends = [float(known[known < step].max()) for step in steps] + [float(known.max())]
    return [
        f"{shown_number(low, field)}..{shown_number(high, field)}"
        for low, high in zip(bounds, ends, strict=True)
    ]


def _shown_range(written: str, field: FieldSpec) -> str:
    """Return a range as people read it: dates by their years, and other numbers without their last
    digits.
    """
    is_date = field.type is FieldType.DATE
    ends = [
        end[:4] if is_date else f"{float(end):.4g}" if "." in end else end
        for end in written.split("..")
    ]
    return "–".join(dict.fromkeys(ends))


@operation(
    "map",
    summary="The places of a catalogue's records on its map, with labels and colours.",
    reads=Reads(kept=lambda _call, _params: False),
    faces=Faces(
        tool=Tool(is_listed=False), text=lambda result: f"{result.catalogue}: {result.state}"
    ),
)
def show_map(call: Call, params: MapParams) -> MapResult:
    """Return a map, or why there is none; to callers who see the same, until something changes, it
    is made once.
    """
    catalogue = call.choose(params.catalogue)
    view = catalogue.view()
    placed = catalogue.map.find(view.reader)
    if placed is None:
        state: State = "no vectors" if view.reader.model is None else "being made"
        return MapResult(catalogue=catalogue.name, state=state)
    scope = shown_scope(view, call.principal.visibility)
    seen = np.array(view.reader.scan(scope=scope, limit=EVERYTHING), dtype=np.int64)
    rows, is_there = find_rows(placed.keys, seen)
    visible = VisibleMap(
        view=view,
        scope=scope,
        keys=seen[is_there],
        places=placed.places[rows[is_there]],
        words=placed.words,
        unplaced=int(np.count_nonzero(~is_there)),
    )
    digest = sha256(visible.keys.tobytes() + visible.unplaced.to_bytes(8)).digest()
    made = placed.find_or_make((digest, params), lambda: visible.finish(params))
    return MapResult(catalogue=catalogue.name, state="ready", **made)


def _base64(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
