"""Values as text, for clients that show their model the text of an answer: nothing of a value is left out."""

from collections.abc import Mapping
from typing import Any

import orjson


def value_text(value: Any) -> str:
    """Return a value on one line: a list of plain values with commas between, anything else nested as JSON."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list | tuple) and value and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(map(value_text, value))
    return json_text(value)


def json_text(value: Any) -> str:
    """Return a value as compact JSON."""
    return orjson.dumps(value, default=str).decode()


def fields_text(values: Mapping[str, Any]) -> str:
    """Return values by name on one line."""
    return "; ".join(f"{name}: {value_text(value)}" for name, value in values.items())
