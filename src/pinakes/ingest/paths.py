"""Paths to values in rows: `title`, `stats.power`, `authors[].name`, `firstname surname`."""

from collections.abc import Mapping
from typing import Any


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, or None.

    A column of exactly that name takes precedence. `a b` joins the texts at both with a space; `list[].key` collects
    the key of every item into one flat list.
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


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with nested objects flattened into columns named by their paths."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and value and "." not in name:
            flat |= {f"{name}.{inner}": deeper for inner, deeper in flattened(value).items()}
        else:
            flat[name] = value
    return flat


def _has_steps(value: Any, steps: list[str]) -> bool:
    if not steps or value is None or value == []:
        return True
    if isinstance(value, list | tuple):
        return any(_has_steps(item, steps) for item in value)
    name = steps[0].removesuffix("[]")
    return isinstance(value, Mapping) and name in value and _has_steps(value[name], steps[1:])


def _walk(value: Any, steps: list[str]) -> Any:
    for place, step in enumerate(steps):
        name = step.removesuffix("[]")
        value = value.get(name) if isinstance(value, Mapping) else None
        if step.endswith("[]"):
            items = value if isinstance(value, list | tuple) else [value]
            found = [_walk(item, steps[place + 1 :]) for item in items if item is not None]
            return [part for one in found if one is not None for part in (one if isinstance(one, list) else [one])]
    return value
