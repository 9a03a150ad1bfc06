"""Problems of validation in plain words: what a value must be, rather than which check of pydantic it failed."""

import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from stackroom.errors import did_you_mean

_EXPECTED = re.compile(r"'([^']*)'")

_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_unicode": "must be text, in UTF-8",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": 'must be a list, as in ["a", "b"]',
    "tuple_type": 'must be a list, as in ["a", "b"]',
    "dict_type": 'must be an object, as in {{"name": "value"}}',
    "model_type": 'must be an object, as in {{"name": "value"}}',
    "model_attributes_type": 'must be an object, as in {{"name": "value"}}',
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "greater_than": "must be more than {gt}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have {max_length} or fewer characters",
    "too_short": "must have {min_length} or more items",
    "too_long": "must have {max_length} or fewer items",
}
"""Type of a pydantic error → what the value must be; braces have the limits of the field."""


def plain_words(details: Mapping[str, Any]) -> str:
    """Return what a value must be, from the details of a pydantic error."""
    kind, limits = str(details["type"]), details.get("ctx") or {}
    if kind in ("literal_error", "enum"):
        return _one_of(details.get("input"), _EXPECTED.findall(str(limits.get("expected", ""))))
    if limits.get("min_length") == 1:
        return "must not be empty"
    if kind in _WORDS:
        return _WORDS[kind].format(**{name: _short(limit) for name, limit in limits.items()})
    return str(details["msg"]).removeprefix("Value error, ")


def shown_value(value: Any) -> str:
    """Return a wrong value for a message, in the words of JSON; empty where it is long or of several parts."""
    if isinstance(value, dict | list | tuple | bool):
        return ""
    return " (given: null)" if value is None else f" (given: {str(value)[:60]!r})"


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as `list[Filters] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := model_in(part)) is not None), None)


def _short(limit: Any) -> Any:
    return f"{limit:.15g}" if isinstance(limit, float) else limit


def _one_of(given: Any, values: list[str]) -> str:
    hint = did_you_mean(given, values) if isinstance(given, str) else ""
    return f"must be one of {', '.join(values)}{hint}"
