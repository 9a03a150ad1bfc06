"""Compact JSON schemas: a model reads every byte of the tool list at each turn."""

import operator
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import Field

is_none = partial(operator.is_, None)
is_empty = operator.not_
"""Tell whether a part of an answer is left out; functions of C, since each is called for every
field of an answer.
"""


def optional(description: str, **bounds: Any) -> Any:
    """Declare a parameter that may be left out, and is null then."""
    return Field(default=None, description=description, **bounds)


def when_known() -> Any:
    """Declare a part of an answer that is left out where there is none."""
    return Field(default=None, exclude_if=is_none)


def when_any(kind: type[list[Any]] | type[dict[str, Any]] = list) -> Any:
    """Declare a list or an object of an answer that is left out where it is empty."""
    return Field(default_factory=kind, exclude_if=is_empty)


DROPPED = ("title", "$defs", "additionalProperties", "minLength", "maxLength", "properties")
NULL = {"type": "null"}
FOR_PAGES = "for pages"  # the mark of a field that is for programs that draw, and in no tool list
OBVIOUS = {
    ("minimum", 0),
    ("minimum", 1),
    ("exclusiveMinimum", 0),
    ("minItems", 1),
    ("minItems", 2),
    ("default", 0),
}
"""Keywords with values that go without saying (0 is False too); a call that breaks one is refused
in words.
"""
FEW_ITEMS = 10  # a list of at most so many items says so in a brief schema
COMMON_ARGUMENTS = ("explain", "max_tokens", "cursor")
"""Arguments that mean the same for every tool; the server's instructions describe them once, and
schemas their type.
"""
PLAIN_ARGUMENTS = {"query", "limit", "offset", "catalogue"}
"""Arguments that need no description where there are many tools; objects whose fields are declared
need none either.
"""
MOST_RESULTS = "Most results"
"""The description of an argument that bounds an answer, whatever its name; its maximum says as
much.
"""


def compact_schema(schema: dict[str, Any], *, dropped: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an equivalent, smaller schema: definitions inlined, no titles, short unions.

    `dropped` names further keywords to leave out, such as `required` of an answer.
    """
    small: dict[str, Any] = _compact(schema, schema.get("$defs", {}), (*DROPPED, *dropped))
    return small


def _compact(node: Any, definitions: dict[str, Any], dropped: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions, dropped) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[1]]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _compact({**target, **beside}, definitions, dropped)
    small = {
        key: _compact(value, definitions, dropped)
        for key, value in node.items()
        if key not in dropped
    }
    if "properties" in node:
        small.pop("description", None)  # a model's docstring is for readers of the code
        arguments = node["properties"].items()
        small["properties"] = {
            name: _compact(value, definitions, dropped) for name, value in arguments
        }
    return _short_union(small)


def _short_union(node: dict[str, Any]) -> dict[str, Any]:
    """Replace `anyOf: [X, null]` by a nullable X, or by X where null is the default and so means
    "left out".
    """
    real = [option for option in node.get("anyOf", []) if option != NULL]
    if len(real) != 1 or not isinstance(real[0].get("type"), str):
        return {key: value for key, value in node.items() if (key, value) != ("default", None)}
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    if "default" in node:
        return {**real[0], **rest}
    values = {"enum": [*real[0]["enum"], None]} if "enum" in real[0] else {}
    return {**real[0], **rest, **values, "type": [real[0]["type"], "null"]}


def bare_common(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments with those that every tool has at its end, and of these only the
    type.
    """
    arguments = schema.get("properties", {})
    own = {name: one for name, one in arguments.items() if name not in COMMON_ARGUMENTS}
    common = {
        name: {"type": arguments[name]["type"]} for name in COMMON_ARGUMENTS if name in arguments
    }
    return {**schema, "properties": {**own, **common}} if common else dict(schema)


def brief_input(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments without the keywords that say least."""
    properties = {name: _without_obvious(one) for name, one in schema.get("properties", {}).items()}
    for name, small in properties.items():
        if (
            name in PLAIN_ARGUMENTS
            or small.get("description") == MOST_RESULTS
            or "properties" in small
        ):
            small.pop("description", None)
    return {**schema, "properties": properties}


def _without_obvious(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_obvious(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    small = {}
    for key, value in node.items():
        is_long = key == "maxItems" and isinstance(value, int) and value > FEW_ITEMS
        if isinstance(value, dict | list) or not ((key, value) in OBVIOUS or is_long):
            small[key] = _without_obvious(value)
    return small
