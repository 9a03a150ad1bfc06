"""The text of an answer, made from its structured content: every value, for clients that show their
model text alone.

An answer is its plain values on a line, then its objects and lists. An entry of a list is a line
with its name, its id and its short values, followed by its long ones. A shape declares with
`headline` how an entry begins, as in `"{title} ({type}, {year})"`; otherwise it begins with its
title or name.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from string import Formatter
from typing import Any, NamedTuple

from pydantic import BaseModel

from stackroom.tools.budget import LISTS, PricedResult, fields_text, json_text, value_text
from stackroom.tools.spec import Explained, FoundResult, ToolResult, why_lines

NAMES = ("title", "name")  # the fields that an entry is called by
# the fields that have a place of their own
APART = frozenset({"notes", "cursor", "why", "catalogue", "unread"})
NESTED = (dict, list)
AS_JSON = (dict, float, int, bool)
LONG_CHARS = 80  # the length from which a value has a line of its own


class Part(NamedTuple):
    """An object of an answer, with its values as JSON has them."""

    item: BaseModel
    dumped: dict[str, Any]


def result_text(result: ToolResult, dumped: dict[str, Any] | None = None) -> str:
    """Return the text of an answer; it begins with saying so where nothing answers. `dumped` is its
    JSON, if known.
    """
    values = _values(
        Part(result, result.model_dump(mode="json", by_alias=True) if dumped is None else dumped)
    )
    nested = {name: value for name, value in values.items() if _is_nested(value)}
    plain = {
        name: text
        for name, value in values.items()
        if name not in nested and (text := _plain(value))
    }
    short = {name: text for name, text in plain.items() if len(text) < LONG_CHARS}
    lines = [fields_text(short)] if short else []
    lines += [f"{name}: {text}" for name, text in plain.items() if name not in short]
    for name, value in nested.items():
        lines += _nested(name, value)
    remarks = result.remarks if isinstance(result, PricedResult) else getattr(result, "notes", ())
    text = "\n".join([*lines, *remarks]) or "nothing was found"
    return result.with_evidence(text) if isinstance(result, FoundResult) else text


def _values(part: Part) -> dict[str, Any]:
    """Return the values of an object by the names that clients see: objects as parts, others as
    JSON has them.
    """
    item, dumped = part
    return {name: _value(item, name, value) for name, value in dumped.items() if name not in APART}


def _value(item: BaseModel, name: str, value: Any) -> Any:
    """Return a value of an object as JSON has it, with the objects in it as parts."""
    # others have no objects
    if type(value) is dict or (type(value) is list and value and type(value[0]) is dict):
        return _with_parts(getattr(item, _attributes(type(item)).get(name, ""), None), value)
    return value


@cache
def _attributes(shape: type[BaseModel]) -> dict[str, str]:
    """Return the fields of a shape by the names that clients see."""
    return {field.alias or name: name for name, field in shape.model_fields.items()}


def _with_parts(value: Any, dumped: Any) -> Any:
    """Return a value as JSON has it, with the objects in it as parts; those of a list have one
    shape.

    A list of pairs, which is told on one line, becomes a tuple of it and of what JSON has.
    """
    if isinstance(value, BaseModel):
        return Part(value, dumped)
    if not isinstance(value, LISTS) or not value or not isinstance(value[0], BaseModel):
        return dumped
    if len(_attributes(type(value[0]))) == 2:
        return value, dumped
    return [Part(*both) for both in zip(value, dumped, strict=True)]


def _is_nested(value: Any) -> bool:
    """Tell whether a value has lines of its own: an object, or a list of objects with more than two
    fields.
    """
    return type(value) is Part or (type(value) is list and bool(value) and type(value[0]) is Part)


def _nested(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of an object, of a page of a list, or of a list."""
    if isinstance(value, list):
        yield f"{name}:"
        for number, entry in enumerate(value, start=1):
            is_page = "items" in type(entry.item).model_fields
            yield from _nested(f"{number}.", entry) if is_page else _entry(entry, f"{number}. ")
    elif "items" in type(value.item).model_fields:
        values = _values(value)
        about = {
            key: text
            for key, one in values.items()
            if not _is_nested(one) and (text := _plain(one))
        }
        yield f"{name} ({fields_text(about)}):"
        for entry in values["items"]:
            yield from _entry(entry, "- ")
        for entry in values.get("nearest", ()):
            yield from _entry(entry, "- nearest: ")
    else:
        yield from _entry(value, f"{name}: ")


def _entry(entry: Part, mark: str) -> list[str]:
    """Return the lines of an entry: its headline, id and short values, then each long one."""
    item, dumped = entry
    head, told = _headline(item, dumped)
    short, long = [], []
    for name, value in dumped.items():
        if name in APART or name in told:
            continue
        is_text = type(value) is str
        if is_text and "\n" in value and "\n" in value.strip():
            long.append(f"   {name}:\n{value}")  # a passage of several lines, which are kept
        elif (
            len(text := value_text(value) if is_text else _plain(_value(item, name, value)))
            >= LONG_CHARS
        ):
            long.append(f"   {name}: {text}")
        elif text:
            short.append(f"{name}: {text}")
    rest = "; ".join(short)
    first = f"{mark}{head} {rest}" if head and rest else f"{mark}{head or rest}"
    why = why_lines(item.why) if isinstance(item, Explained) else ()
    return [first, *long, *[f"   {line}" for line in why]]


def _headline(entry: BaseModel, dumped: dict[str, Any]) -> tuple[str, Collection[str]]:
    """Return the beginning of an entry, and the names of the values that it tells."""
    template: str | None = getattr(type(entry), "headline", None)
    if template is None:
        template = next((f"{{{name}}}" for name in NAMES if name in dumped), "")
    names = _names_in(template)
    texts = {name: _plain(_value(entry, name, dumped.get(name))) or "unknown" for name in names}
    head = template.format_map(texts)
    if dumped.get("id") in (None, ""):
        return head, names
    catalogue = getattr(entry, "catalogue", None)
    return f"{head} [{f'{catalogue}/' if catalogue else ''}{dumped['id']}]".strip(), (*names, "id")


@cache
def _names_in(template: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name))


def _plain(value: Any) -> str:
    """Return a value on one line; empty where there is none."""
    shape = type(value)
    if shape is str:
        return value_text(value)
    if value is None or value is False or (shape in NESTED and not value):
        return ""
    if shape in AS_JSON:
        return str(value) if shape is int else json_text(value)
    if shape is tuple:
        return _pairs(*value)
    if shape is Part:
        return fields_text(
            {name: text for name, one in _values(value).items() if (text := _plain(one))}
        )
    return "; ".join(map(_in_brackets, value)) if _is_nested(value) else value_text(value)


def _pairs(items: Sequence[BaseModel], dumped: Sequence[dict[str, Any]]) -> str:
    """Return pairs as `a (3), b (2)` where the second is a number, else each first once with all of
    its seconds.
    """
    pairs = [item.__dict__.values() for item in items]
    kinds = {type(second) for _, second in pairs}
    if all(issubclass(kind, int | float) for kind in kinds):
        return ", ".join([f"{first} ({second})" for first, second in pairs])
    if not all(issubclass(kind, str) for kind in kinds):
        told = ((*one.values(), None)[1] for one in dumped)
        texts = [
            (first, _plain(_with_parts(second, one)))
            for (first, second), one in zip(pairs, told, strict=True)
        ]
        return "; ".join([f"{first} ({text})" if text else str(first) for first, text in texts])
    seconds: dict[str, list[str]] = {}
    for first, second in pairs:
        seconds.setdefault(first, []).append(second)
    return "; ".join([f"{first or 'others'}: {', '.join(some)}" for first, some in seconds.items()])


def _in_brackets(part: Part) -> str:
    first, *rest = [text for value in _values(part).values() if (text := _plain(value))] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first
