"""Compact JSON schemas: a model reads every byte of the tool list at each turn."""

from collections.abc import Mapping
from typing import Any

DROPPED = ("title", "$defs", "additionalProperties", "minLength", "maxLength", "properties")
NULL = {"type": "null"}


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
        return _compact(
            {**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions, dropped
        )
    small = {key: _compact(value, definitions, dropped) for key, value in node.items() if key not in dropped}
    if "properties" in node:
        small.pop("description", None)  # a model's docstring is for readers of the code
        small["properties"] = {
            name: _compact(value, definitions, dropped) for name, value in node["properties"].items()
        }
    return _short_union(small)


def _short_union(node: dict[str, Any]) -> dict[str, Any]:
    """Replace `anyOf: [X, null]` by a nullable X, or by X where null is the default and so means "left out"."""
    options = node.get("anyOf", [])
    real = [option for option in options if option != NULL]
    if len(real) != 1 or not isinstance(real[0].get("type"), str):
        return node
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    if "default" in node:
        return {**real[0], **rest}
    values = {"enum": [*real[0]["enum"], None]} if "enum" in real[0] else {}
    return {**real[0], **rest, **values, "type": [real[0]["type"], "null"]}


def shallow_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of the top-level properties and their types only."""
    fields = schema.get("properties", {})
    kept = {name: {"type": one["type"]} if "type" in one else {} for name, one in fields.items()}
    return {"type": "object", "properties": kept}
