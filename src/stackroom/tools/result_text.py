"""The text of an answer, made from its structured content: every value, for clients that show their model text alone.

An answer is its plain values on a line, then its objects and lists. An entry of a list is a line with its name, its id
and its short values, followed by its long ones. A shape declares with `headline` how an entry begins, as in
`"{title} ({type}, {year})"`; otherwise it begins with its title or name.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from string import Formatter
from typing import Any, NamedTuple

from pydantic import BaseModel

from stackroom.model.principal import Action, Cost
from stackroom.tools.budget import PricedResult, json_text, value_text
from stackroom.tools.spec import Explained, FoundResult, NotedResult, ToolResult, ToolSpec, why_lines

NAMES = ("title", "name")
"""The fields that an entry is called by."""
APART = frozenset({"notes", "cursor", "why", "catalogue", "unread"})
"""The fields that have a place of their own."""
NESTED = (dict, list)
LONG_CHARS = 80
"""The length from which a value has a line of its own."""


class Part(NamedTuple):
    """An object of an answer, with its values as JSON has them."""

    item: BaseModel
    dumped: dict[str, Any]


def result_text(result: ToolResult) -> str:
    """Return the text of an answer; it begins with saying so where nothing answers."""
    values = _values(_part_of(result))
    plain = {name: text for name, value in values.items() if not _is_nested(value) and (text := _plain(value))}
    short = {name: text for name, text in plain.items() if len(text) < LONG_CHARS}
    lines = [_fields(short)] if short else []
    lines += [f"{name}: {text}" for name, text in plain.items() if name not in short]
    for name, value in values.items():
        lines += _nested(name, value) if _is_nested(value) else []
    text = "\n".join([*lines, *_remarks(result)]) or "nothing was found"
    return result.with_evidence(text) if isinstance(result, FoundResult) else text


def _remarks(result: ToolResult) -> Sequence[str]:
    if isinstance(result, PricedResult):
        return result.remarks
    return result.notes if isinstance(result, NotedResult) else ()


def _part_of(item: BaseModel) -> Part:
    return Part(item, item.model_dump(mode="json", by_alias=True))


def _values(part: Part) -> dict[str, Any]:
    """Return the values of an object by the names that clients see: objects as parts, others as JSON has them."""
    attributes = _attributes(type(part.item))
    return {
        name: _with_parts(getattr(part.item, attributes.get(name, ""), None), value) if type(value) in NESTED else value
        for name, value in part.dumped.items()
        if name not in APART
    }


@cache
def _attributes(shape: type[BaseModel]) -> dict[str, str]:
    """Return the fields of a shape by the names that clients see."""
    return {field.alias or name: name for name, field in shape.model_fields.items()}


def _with_parts(value: Any, dumped: Any) -> Any:
    """Return a value as JSON has it, with the objects in it as parts."""
    if isinstance(value, BaseModel):
        return Part(value, dumped)
    if isinstance(value, list | tuple) and any(isinstance(one, BaseModel) for one in value):
        return [Part(*both) for both in zip(value, dumped, strict=True)]
    return dumped


def _is_nested(value: Any) -> bool:
    """Tell whether a value has lines of its own: an object, or a list of objects with more than two fields."""
    if isinstance(value, Part):
        return True
    return isinstance(value, list) and any(isinstance(one, Part) and not _is_pair(one) for one in value)


def _nested(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of an object, of a page of a list, or of a list."""
    if isinstance(value, list):
        yield f"{name}:"
        for number, entry in enumerate(value, start=1):
            yield from _nested(f"{number}.", entry) if hasattr(entry.item, "items") else _entry(entry, f"{number}. ")
    elif hasattr(value.item, "items"):
        values = _values(value)
        about = {key: text for key, one in values.items() if not _is_nested(one) and (text := _plain(one))}
        yield f"{name} ({_fields(about)}):"
        for entry in values["items"]:
            yield from _entry(entry, "- ")
        for entry in values.get("nearest", ()):
            yield from _entry(entry, "- nearest: ")
    else:
        yield from _entry(value, f"{name}: ")


def _entry(entry: Part, mark: str) -> Iterator[str]:
    """Yield the lines of an entry: its headline, id and short values, then each long one."""
    values = _values(entry)
    head = _headline(entry.item, values)
    shown = {name: text for name, value in values.items() if (text := _plain(value))}
    short = {name: text for name, text in shown.items() if len(text) < LONG_CHARS and not _is_passage(values[name])}
    yield f"{mark}{' '.join(part for part in (head, _fields(short)) if part)}"
    for name in [name for name in shown if name not in short]:
        yield f"   {name}:\n{values[name]}" if _is_passage(values[name]) else f"   {name}: {shown[name]}"
    if isinstance(entry.item, Explained):
        yield from (f"   {line}" for line in why_lines(entry.item.why))


def _headline(entry: BaseModel, values: dict[str, Any]) -> str:
    """Return the beginning of an entry, and take the values that it has from the others."""
    known = next((f"{{{name}}}" for name in NAMES if name in values), "")
    template: str = getattr(entry, "headline", known)
    texts = {name: _plain(values.pop(name, None)) or "unknown" for name in _names_in(template)}
    head = template.format_map(texts)
    catalogue = getattr(entry, "catalogue", None)
    if values.get("id") in (None, ""):
        return head
    return f"{head} [{f'{catalogue}/' if catalogue else ''}{values.pop('id')}]".strip()


@cache
def _names_in(template: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name))


def _is_passage(value: Any) -> bool:
    """Tell whether a text has several lines, which are kept."""
    return isinstance(value, str) and "\n" in value.strip()


def _is_pair(value: Any) -> bool:
    return isinstance(value, Part) and len(_attributes(type(value.item))) == 2


def _plain(value: Any) -> str:
    """Return a value on one line; empty where there is none."""
    if value is None or value is False or value in ("", [], {}):
        return ""
    if isinstance(value, Part):
        return _fields({name: text for name, one in _values(value).items() if (text := _plain(one))})
    if isinstance(value, list) and any(isinstance(one, Part) for one in value):
        return _pairs(value) if all(map(_is_pair, value)) else "; ".join(map(_in_brackets, value))
    if isinstance(value, Mapping):
        return json_text(value)
    return "true" if value is True else value_text(value)


def _pairs(parts: Sequence[Part]) -> str:
    """Return pairs as `a (3), b (2)` where the second is a number, else each first once with all of its seconds."""
    pairs = [tuple(vars(part.item).values()) for part in parts]
    if all(isinstance(second, int | float) for _, second in pairs):
        return ", ".join(f"{first} ({second})" for first, second in pairs)
    if not all(isinstance(second, str) for _, second in pairs):
        return "; ".join(map(_with_second, parts))
    seconds: dict[str, list[str]] = {}
    for first, second in pairs:
        seconds.setdefault(first, []).append(second)
    return "; ".join(f"{first or 'others'}: {', '.join(some)}" for first, some in seconds.items())


def _with_second(pair: Part) -> str:
    (first, second), (_, dumped) = vars(pair.item).values(), (*pair.dumped.values(), None)[:2]
    text = _plain(_with_parts(second, dumped))
    return f"{first} ({text})" if text else str(first)


def _in_brackets(part: Part) -> str:
    first, *rest = [text for value in _values(part).values() if (text := _plain(value))] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first


def _fields(texts: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


catalogue_tool = partial(ToolSpec, action=Action.ACCESS_CATALOG, cost=Cost.READ, cacheable=True, text=result_text)
"""Declares a tool that only reads catalogues; its answers are cached."""
