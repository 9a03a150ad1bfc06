"""Paths to values in rows: `title`, `stats.power`, `authors[].name`, `currencies.*.name`, `first last`."""

from collections.abc import Iterable, Mapping
from typing import Any

EVERY = "*"
"""The step that stands for every key of an object whose keys are data, as currency codes are."""


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, or None.

    A column of exactly that name takes precedence. `a b` joins the texts at both with a space; `list[].key` collects
    the key of every item into one flat list, and `object.*.key` that of every value of an object.
    """
    if path in row:
        return row[path]
    if " " in path:
        parts = [str(part) for name in path.split() if (part := value_at(row, name)) not in (None, "")]
        return " ".join(parts) or None
    return _walk(row, path.split("."))


def has_path(row: Mapping[str, Any], path: str) -> bool:
    """Tell whether a row has a path, even without a value; an empty object or list counts as having the rest of it."""
    if path in row:
        return True
    if " " in path:
        return any(has_path(row, name) for name in path.split())
    return _has_steps(row, path.split("."))


def _has_steps(value: Any, steps: list[str]) -> bool:
    if not steps or value is None or value == []:
        return True
    if isinstance(value, list | tuple):
        return any(_has_steps(item, steps) for item in value)
    if steps[0] == EVERY:
        return isinstance(value, Mapping) and (not value or any(_has_steps(one, steps[1:]) for one in value.values()))
    name = steps[0].removesuffix("[]")
    return isinstance(value, Mapping) and name in value and _has_steps(value[name], steps[1:])


def _walk(value: Any, steps: list[str]) -> Any:
    for place, step in enumerate(steps):
        if step == EVERY:
            return _collect(value.values() if isinstance(value, Mapping) else (), steps[place + 1 :])
        name = step.removesuffix("[]")
        value = value.get(name) if isinstance(value, Mapping) else None
        if step.endswith("[]"):
            return _collect(value if isinstance(value, list | tuple) else [value], steps[place + 1 :])
    return value


def _collect(items: Iterable[Any], steps: list[str]) -> list[Any]:
    """Return what is at a path in each item, as one flat list."""
    found = [_walk(item, steps) for item in items if item is not None]
    return [part for one in found if one is not None for part in (one if isinstance(one, list) else [one])]
