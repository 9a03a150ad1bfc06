"""Rows with nested objects as rows of plain columns, named by the paths of their values.

The keys of an object are columns, unless they are data: an object such as `{"EUR": {…}}`, with other keys in other
rows, is a list of what it holds, under the path `currencies.*.name`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pinakes.ingest.paths import EVERY, value_at

FEWEST_KEYS = 8
MOST_SHARED = 0.3
"""The share of all keys that the average row may have, where the keys are data."""


def flattened_rows(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows with the values of nested objects as columns; rows without any, as of most files, as they are."""
    kinds = {type(value) for row in rows for value in row.values()}
    if not any(issubclass(kind, Mapping) for kind in kinds):
        return list(rows)
    keyed = frozenset(_keyed_paths(rows))
    return [_flattened(row, keyed) for row in rows]


def _flattened(row: Mapping[str, Any], keyed: frozenset[str], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        place = f"{path}{name}"
        if not isinstance(value, Mapping) or not value or "." in name:
            flat[place] = value
        elif place in keyed:
            flat |= {f"{place}.{steps}": value_at(value, steps) for steps in _leaves(value)}
        else:
            flat |= _flattened(value, keyed, f"{place}.")
    return flat


def _leaves(value: Mapping[str, Any]) -> dict[str, None]:
    """Return the paths to the plain values of an object whose keys are data, in order."""
    inner = (_paths_in(one) for one in value.values())
    return dict.fromkeys(".".join((EVERY, *steps)) for paths in inner for steps in paths)


def _paths_in(value: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths to the plain values in a value."""
    if not isinstance(value, Mapping):
        yield ()
        return
    for name, inner in value.items():
        if "." not in name:
            yield from ((name, *steps) for steps in _paths_in(inner))


def _keyed_paths(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the paths of the objects whose keys are data."""
    keys: dict[str, Counter[str]] = {}
    seen: Counter[str] = Counter()
    for row in rows:
        for path, value in _objects(row):
            seen[path] += 1
            keys.setdefault(path, Counter()).update(value.keys())
    for path, counted in keys.items():
        shared = counted.total() / (seen[path] * len(counted))
        if len(counted) >= FEWEST_KEYS and shared <= MOST_SHARED:
            yield path


def _objects(row: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every nested object of a row with its path."""
    for name, value in row.items():
        if isinstance(value, Mapping) and value and "." not in name:
            yield f"{path}{name}", value
            yield from _objects(value, f"{path}{name}.")
