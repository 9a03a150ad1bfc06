"""Lists in a cell, as JSON, Python and numpy write them, or split at a separator."""

import re
from typing import Any

import orjson

DEEPEST = 30
STRING = r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\""
FLAT = re.compile(rf"\[\s*(?:(?:{STRING})(?:\s*,\s*|\s+|(?=\])))*\]", re.DOTALL)
"""A list of texts alone, with commas or without."""
TOKEN = re.compile(
    rf"\s*(?:(?P<text>{STRING})|(?P<mark>array\(|[\[\](){{}},:])|(?P<type>dtype=[^,)]*)|(?P<word>[^\s\[\](){{}},:'\"]+))\s*",
    re.DOTALL,
)
TEXT = re.compile(STRING, re.DOTALL)
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": ""}
LAST_CHARACTER = 0x10FFFF
CONSTANTS = {"None": None, "True": True, "False": False, "nan": None, "null": None, "true": True, "false": False}
WHOLE = re.compile(r"[-+]?[0-9]{1,300}")
COMMA, CUT = ("mark", ","), ("word", "...")
CLOSING = {"[": "]", "(": ")", "{": "}", "array(": ")"}
NAMES = ("name", "title", "value", "text", "display_text", "display_name", "label", "description", "step")
"""The keys of an object in a list by which it is named, in order of preference."""


def list_in(raw: Any, split: str) -> list[Any]:
    """Return the items of a cell: a list, a written list in a text, or a text split at `split`."""
    if isinstance(raw, list | tuple):
        return list(raw)
    text = str(raw).strip()
    written = find_written_list(text)
    if written is not None:
        return written
    return text.split(split.strip() or split) if split else [raw]


def name_of_item(item: Any) -> Any:
    """Return an item of a list; of an object its name, or None if it has none."""
    if not isinstance(item, dict):
        return item
    return next((item[key] for key in NAMES if item.get(key)), None)


def has_name(item: dict[str, Any]) -> bool:
    """Tell whether an object in a list has a key by which it is named."""
    return any(key in item for key in NAMES)


def find_written_list(text: str) -> list[Any] | None:
    """Return the list in a text, as JSON, Python or numpy writes it, or None."""
    is_list = (text.startswith("[") and text.endswith("]")) or (text.startswith("array(") and text.endswith(")"))
    if not is_list:
        return None
    if text.startswith("['") and FLAT.fullmatch(text):  # no JSON begins like this
        return _flat(text)
    try:
        items = orjson.loads(text)
    except orjson.JSONDecodeError:
        items = _flat(text) if FLAT.fullmatch(text) else find_literal(text)
    return items if isinstance(items, list) else None


def find_literal(text: str) -> Any:
    """Return the value that Python or numpy writes as this text; None where it is none.

    Texts side by side are items of their own, as numpy writes lists, and not one text as in Python.
    """
    try:
        value, rest = _Literal(text).whole()
    except (ValueError, IndexError, RecursionError):
        return None
    return value if rest else None


def _flat(text: str) -> list[Any]:
    return [_unquoted(one) for one in TEXT.findall(text)]


def _unquoted(written: str) -> str:
    """Return the text between quotes, with its escapes resolved as in Python."""
    text = written[1:-1]
    return ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16)) if int(code[1:], 16) <= LAST_CHARACTER else found[0]
    return ESCAPES.get(code, found[0])


class _Literal:
    """A reader of one value; a ValueError or IndexError where the text has none."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0

    def whole(self) -> tuple[Any, bool]:
        """Return the value, and whether the text ends with it."""
        value = self._value(0)
        return value, self._next == len(self._tokens)

    def _value(self, depth: int) -> Any:
        kind, token = self._tokens[self._next]
        self._next += 1
        if kind == "text":
            return _unquoted(token)
        if kind == "word":
            return _constant(token)
        if depth > DEEPEST or token not in CLOSING:
            raise ValueError(f"{token!r} begins no value")
        if token == "{":
            return self._pairs(depth + 1)
        items = self._items(CLOSING[token], depth + 1)
        return items[0] if token == "array(" and items and isinstance(items[0], list) else items

    def _items(self, closing: str, depth: int) -> list[Any]:
        """Return the values up to a bracket, separated by commas or by spaces."""
        items: list[Any] = []
        while (token := self._tokens[self._next]) != ("mark", closing):
            if token in (COMMA, CUT) or token[0] == "type":
                self._next += 1
            else:
                items.append(self._value(depth))
        self._next += 1
        return items

    def _pairs(self, depth: int) -> dict[str, Any]:
        """Return the object up to its bracket."""
        found: dict[str, Any] = {}
        while (token := self._tokens[self._next]) != ("mark", "}"):
            if token == COMMA:
                self._next += 1
                continue
            key = self._value(depth)
            if self._tokens[self._next] != ("mark", ":"):
                raise ValueError("a key without a value")
            self._next += 1
            found[str(key)] = self._value(depth)
        self._next += 1
        return found


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    place = 0
    for found in TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if found.start() != place:
            break
        tokens.append((kind, found[kind]))
        place = found.end()
    if place != len(text):
        raise ValueError(f"nothing can be read at {place}")
    return tokens


def _constant(word: str) -> Any:
    if word in CONSTANTS:
        return CONSTANTS[word]
    return int(word) if WHOLE.fullmatch(word) else float(word)
