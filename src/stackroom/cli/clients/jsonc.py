"""JSON with comments and trailing commas: an entry is added or removed, every other byte stays.

The text is split into tokens. Without comments and trailing commas they are plain JSON, which gives the values; their
offsets give the places to edit.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from stackroom.cli.clients.config_text import ConfigFormat, ConfigTextError, Entry, EntryPlace, newline_of, place_of

TOKEN = re.compile(
    r"(?P<space>[ \t\r\n\ufeff]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])"
    r'|(?P<value>"(?:[^"\\\r\n]|\\.)*"|[^\s"{}\[\]:,/]+)',
    re.DOTALL,
)
KEPT = frozenset({"mark", "value"})
INDENT = "  "


class _Token(NamedTuple):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A key with its value: tokens from `key` to `last`, and the comma after them, if there is one."""

    name: str
    key: int
    value: int
    last: int
    comma: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """An object: the tokens of its braces, and its members."""

    opening: int
    closing: int
    members: list[_Member]

    def find(self, name: str) -> _Member | None:
        return next((one for one in self.members if one.name == name), None)


class _Text:
    """A text with its tokens; those of comments and white space are left out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        self.line_comment_ends: set[int] = set()
        keep, place = self.tokens.append, 0
        for found in TOKEN.finditer(text):
            start, kind = found.start(), found.lastgroup
            if start != place:
                break
            place = found.end()
            if kind in KEPT:
                keep(_Token(found[0], start))
            elif kind == "comment" and text.startswith("//", start):
                self.line_comment_ends.add(place)
        if place != len(text):
            raise ConfigTextError(f"{place_of(text, place)}: {text[place : place + 10]!r} is not JSON")

    def value(self) -> Any:
        """Return the value of the text; None where it has none but comments."""
        if not self.tokens:
            return None
        following = [*self.tokens[1:], _Token("", len(self.text))]
        before = [_Token(",", 0), *self.tokens[:-1]]
        kept = [
            token
            for former, token, after in zip(before, self.tokens, following, strict=True)
            if token.text != "," or after.text not in {"}", "]"} or former.text in {",", "{", "["}
        ]
        try:
            return json.loads(" ".join(token.text for token in kept))
        except json.JSONDecodeError as error:
            raise ConfigTextError(f"{self._place(kept, error.pos)}: {error.msg}") from error
        except ValueError as error:
            raise ConfigTextError("a number in it has too many digits") from error
        except RecursionError as error:
            raise ConfigTextError("it is nested too deeply") from error

    def _place(self, tokens: list[_Token], offset: int) -> str:
        """Return the place in the text of an offset in the joined tokens."""
        for token in tokens:
            if offset < len(token.text):
                return place_of(self.text, token.start)
            offset -= len(token.text) + 1
        return place_of(self.text, len(self.text))

    def object_at(self, opening: int) -> _Object:
        """Return the object that opens at a token of a valid text."""
        members, index = [], opening + 1
        while self.tokens[index].text != "}":
            last = self._end_of(index + 2)
            comma = last + 1 if self.tokens[last + 1].text == "," else None
            name = json.loads(self.tokens[index].text)
            members.append(_Member(name=name, key=index, value=index + 2, last=last, comma=comma))
            index = last + 1 if comma is None else comma + 1
        return _Object(opening=opening, closing=index, members=members)

    def _end_of(self, index: int) -> int:
        """Return the last token of the value that begins at a token."""
        depth = 0
        while True:
            depth += (self.tokens[index].text in "{[") - (self.tokens[index].text in "}]")
            if depth == 0:
                return index
            index += 1

    def section(self, root: _Object, name: str) -> _Object | None:
        """Return the object that a member of the root has as its value."""
        member = root.find(name)
        return self.object_at(member.value) if member else None

    def blank_before(self, offset: int) -> int:
        """Return where the white space before an offset begins."""
        return len(self.text[:offset].rstrip(" \t\r\n"))

    def line_indent(self, offset: int) -> str:
        """Return the white space at the beginning of the line of an offset."""
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return line[: len(line) - len(line.lstrip(" \t"))]


_read = lru_cache(maxsize=8)(_Text)
"""One edit reads the same few texts several times."""


def parse(text: str) -> dict[str, Any]:
    """Return the values of a configuration, whose root is an object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _read(text).value()
    if value is not None and not isinstance(value, dict):
        raise ConfigTextError(f"its root is a {type(value).__name__}, not an object")
    return value or {}


def insert(text: str, place: EntryPlace, entry: Entry) -> str:
    """Return the text with an entry; a section that is missing becomes the last one of the root."""
    values, parsed = parse(text), _read(text)
    if not parsed.tokens:
        return _started(text, place, entry)
    root = parsed.object_at(0)
    if not isinstance(values.get(place.section, {}), dict):
        raise ConfigTextError(f"'{place.section}' is not an object")
    section = parsed.section(root, place.section)
    if section is None:
        return _appended(parsed, root, place.section, {place.name: entry})
    former = section.find(place.name)
    return _replaced(parsed, former, entry) if former else _appended(parsed, section, place.name, entry)


def _started(text: str, place: EntryPlace, entry: Entry) -> str:
    """Return a text that has no value yet with one; a comment stays above it."""
    newline = newline_of(text)
    document = json.dumps({place.section: {place.name: entry}}, indent=INDENT, ensure_ascii=False)
    separator = newline if text.strip("\ufeff \t\r\n") and not text.endswith("\n") else ""
    return f"{text}{separator}{document.replace(chr(10), newline)}{newline}"


def _replaced(parsed: _Text, member: _Member, entry: Entry) -> str:
    tokens, text = parsed.tokens, parsed.text
    start, end = tokens[member.value].start, tokens[member.last].end
    value = _value_text(parsed, entry, parsed.line_indent(start), one_line="\n" not in text[start:end])
    return text[:start] + value + text[end:]


def _appended(parsed: _Text, target: _Object, name: str, value: Any) -> str:
    """Return the text with a member at the end of an object."""
    text, tokens = parsed.text, parsed.tokens
    opening, closing = tokens[target.opening], tokens[target.closing]
    if not target.members:
        return _first_member(parsed, target, name, value)
    last, newline = target.members[-1], newline_of(text)
    is_one_line = "\n" not in text[opening.start : tokens[last.key].start]
    indent = parsed.line_indent(tokens[last.key].start)
    member = f"{json.dumps(name)}: {_value_text(parsed, value, indent, one_line=is_one_line)}"
    end, stop = tokens[last.last].end, parsed.blank_before(closing.start)
    separator = " " if is_one_line and stop not in parsed.line_comment_ends else newline + indent
    if last.comma is not None:
        return f"{text[:stop]}{separator}{member},{text[stop:]}"
    return f"{text[:end]},{text[end:stop]}{separator}{member}{text[stop:]}"


def _first_member(parsed: _Text, target: _Object, name: str, value: Any) -> str:
    """Return the text with a member in an empty object, before what is between its braces."""
    text, newline = parsed.text, newline_of(parsed.text)
    start = parsed.tokens[target.opening].end
    outer = parsed.line_indent(start)
    indent = outer + _unit(parsed)
    member = f"{newline}{indent}{json.dumps(name)}: {_value_text(parsed, value, indent, one_line=False)}"
    inner = text[start : parsed.tokens[target.closing].start]
    closing = "" if "\n" in inner else newline + outer
    return text[:start] + member + closing + text[start:]


def _value_text(parsed: _Text, value: Any, indent: str, *, one_line: bool) -> str:
    if one_line:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=_unit(parsed), ensure_ascii=False).split("\n")
    return f"{newline_of(parsed.text)}{indent}".join(lines)


def _unit(parsed: _Text) -> str:
    """Return the indentation of the file: that of the first member of its root."""
    if len(parsed.tokens) > 1 and "\n" in parsed.text[: parsed.tokens[1].start]:
        return parsed.line_indent(parsed.tokens[1].start) or INDENT
    return INDENT


def remove(text: str, place: EntryPlace) -> str:
    """Return the text without the entry; with it go the comma that parted it from others, and blanks."""
    parse(text)
    parsed = _read(text)
    tokens = parsed.tokens
    section = parsed.section(parsed.object_at(0), place.section)
    member = section.find(place.name) if section else None
    if section is None or member is None:
        return text
    key, end = tokens[member.key], tokens[member.last if member.comma is None else member.comma].end
    if member is not section.members[-1]:
        return text[: key.start] + text[end:].lstrip(" \t\r\n")
    start = parsed.blank_before(key.start)
    if member is section.members[0] or member.comma is not None:
        return text[:start] + text[end:]
    comma = tokens[member.key - 1]
    return text[: comma.start] + text[comma.end : max(start, comma.end)] + text[end:]


JSONC = ConfigFormat(parse=parse, insert=insert, remove=remove)
