"""Problems of validation in plain words: the required value instead of the failed check of
pydantic.
"""

import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from stackroom.errors import did_you_mean
from stackroom.toml_text import load_packaged

_EXPECTED = re.compile(r"'([^']*)'")

_WORDS: Mapping[str, str] = load_packaged("stackroom.text", "validation_words.toml")


def plain_words(details: Mapping[str, Any]) -> str:
    """Return what a value must be, from the details of a pydantic error."""
    kind, limits = str(details["type"]), details.get("ctx") or {}
    if kind in ("literal_error", "enum"):
        given, values = details.get("input"), _EXPECTED.findall(str(limits.get("expected", "")))
        return (
            "must be one of"
            f" {', '.join(values)}{did_you_mean(given, values) if isinstance(given, str) else ''}"
        )
    if limits.get("min_length") == 1:
        return "must not be empty"
    if kind in _WORDS:
        short = {
            name: f"{limit:.15g}" if isinstance(limit, float) else limit
            for name, limit in limits.items()
        }
        return _WORDS[kind].format(**short)
    return str(details["msg"]).removeprefix("Value error, ")


def shown_value(value: Any) -> str:
    """Return a wrong value for a message, in the words of JSON; empty where it is long or of
    several parts.
    """
    if isinstance(value, dict | list | tuple | bool):
        return ""
    return " (given: null)" if value is None else f" (given: {str(value)[:60]!r})"


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as `list[Filters] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(
        (model for part in get_args(annotation) if (model := model_in(part)) is not None), None
    )
