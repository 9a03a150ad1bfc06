"""The table in a JSON document: a list of objects anywhere in it, objects under their keys, or columns of values.

Nothing below a record is looked into: lists within records are values of theirs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ROW_LISTS = ("data", "rows", "items", "records")
"""Keys under which a JSON object usually has its rows."""
KEY_COLUMN = "key"
"""The column with the key under which a record was found."""
DEEPEST = 8
FEWEST_KEYED = 2
LEAST_ALIKE = 0.5
"""The share of its keys that each of several objects must have in common with the first for them to be records."""
SAMPLE = 50
FEATURE = "Feature"
"""The type of a record of GeoJSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonTable:
    """The rows found in a document, the path to them, and the paths of other lists of objects."""

    rows: Sequence[Any]
    path: str = ""
    others: tuple[str, ...] = field(default=())


def find_table(document: Any) -> JsonTable | None:
    """Return the table of a document: the document itself, its usual list, or the longest list of objects in it."""
    if isinstance(document, list):
        return JsonTable(rows=_as_objects(document))
    if not isinstance(document, dict):
        return None
    candidates = dict(_iter_candidates(document, (), 0))
    usual = next((name for name in ROW_LISTS if isinstance(document.get(name), list)), None)
    if usual is not None:
        rows = _with_names(document.get("columns"), document[usual])
        return JsonTable(rows=rows, path=usual, others=tuple(path for path in candidates if path != usual))
    if not candidates:
        return None
    path = max(candidates, key=lambda path: (len(candidates[path]), -path.count(".")))
    return JsonTable(rows=candidates[path], path=path, others=tuple(other for other in candidates if other != path))


def get_table(document: Any, path: str) -> JsonTable | None:
    """Return the table at a path such as `data.items`, through lists on the way; None where there is none."""
    found = [document]
    for step in filter(None, path.removesuffix("[]").replace("[]", "").split(".")):
        found = [one[step] for one in _spread(found) if isinstance(one, dict) and step in one]
    rows: list[Any] = []
    for one in found:
        if isinstance(one, list):
            rows += _as_objects(one)
        elif isinstance(one, dict):
            rows += _keyed(one) or [one]
    return JsonTable(rows=rows, path=path) if rows else None


def list_paths(document: Any) -> list[str]:
    """Return the paths of the lists of objects in a document."""
    return [path for path, _ in _iter_candidates(document, (), 0) if path] if isinstance(document, dict) else []


def as_row(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object as a row; the properties of a feature of GeoJSON are its columns, and a point has two more."""
    if values.get("type") == FEATURE and isinstance(values.get("properties"), dict):
        return _Feature(values)
    return values


class _Feature(dict[str, Any]):
    """A row of GeoJSON; the parts of the feature itself can still be looked up by their names."""

    def __init__(self, feature: Mapping[str, Any]) -> None:
        super().__init__({"id": feature["id"]} if "id" in feature else {})
        self.update(feature["properties"])
        self._feature = feature
        geometry = feature.get("geometry") or {}
        place = geometry.get("coordinates") if isinstance(geometry, dict) and geometry.get("type") == "Point" else None
        if isinstance(place, list) and len(place) >= 2:
            self.setdefault("longitude", place[0])
            self.setdefault("latitude", place[1])

    def __missing__(self, name: str) -> Any:
        return self._feature[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._feature

    def get(self, name: str, default: Any = None) -> Any:
        """Return a column, or a part of the feature."""
        try:
            return self[name]
        except KeyError:
            return default


def _iter_candidates(value: dict[str, Any], path: tuple[str, ...], depth: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the paths of lists of objects, and of objects whose values are records, outermost first."""
    if (keyed := _keyed(value)) is not None:
        yield ".".join(path), keyed
        return
    for name, inner in value.items():
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            yield ".".join((*path, name)), inner
        elif isinstance(inner, dict) and depth < DEEPEST:
            yield from _iter_candidates(inner, (*path, name), depth + 1)


def _keyed(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of an object that has them under their keys, or as columns; None for any other object."""
    if len(value) < FEWEST_KEYED or not all(isinstance(one, dict) for one in value.values()):
        return None
    if _are_columns(value):
        places = next(iter(value.values()))
        return [{name: column.get(place) for name, column in value.items()} for place in places]
    expected = set(next(iter(value.values())))
    sample = list(value.values())[:SAMPLE]
    is_alike = all(len(expected & set(one)) >= LEAST_ALIKE * len(expected | set(one)) for one in sample)
    if not expected or not is_alike:
        return None
    return [{**({} if KEY_COLUMN in one else {KEY_COLUMN: key}), **one} for key, one in value.items()]


def _are_columns(value: dict[str, Any]) -> bool:
    """Return whether an object has columns, each with its values by the number of the row, as pandas writes them."""
    columns = iter(value.values())
    numbers = [str(number) for number in range(len(next(columns)))]
    return bool(numbers) and all(list(column) == numbers for column in value.values())


def _as_objects(rows: list[Any]) -> Sequence[Any]:
    """Return rows as objects where they are lists below a list of names."""
    is_grid = len(rows) > 1 and all(isinstance(row, list) for row in rows)
    if not is_grid or not rows[0] or not all(isinstance(name, str) for name in rows[0]):
        return rows
    return _with_names(rows[0], rows[1:])


def _with_names(names: Any, rows: list[Any]) -> Sequence[Any]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return _as_objects(rows)
    return [
        dict(zip(names, row, strict=True)) if isinstance(row, list) and len(row) == len(names) else row for row in rows
    ]


def _spread(values: Sequence[Any]) -> list[Any]:
    """Return the values, with lists replaced by their items."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]
