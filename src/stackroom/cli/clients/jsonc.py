"""JSON with comments and trailing commas: an entry is added or removed, everything else stays as it
is written.

Comments and trailing commas are blanked, so that what is left is plain JSON with every value at its
place in the text.
"""

import json
import re
from typing import Any, NamedTuple

from stackroom.cli.clients.config_file import (
    BOM,
    NAME,
    ConfigFormat,
    ConfigTextError,
    Entry,
    newline_of,
)

INDENT = "  "

_TEXT = r'"(?:[^"\\\r\n]|\\.)*"'
_COMMENT = re.compile(rf"({_TEXT})|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_TEXT})|,(?=\s*[}}\]])")
_KEY = re.compile(rf"\s*,?\s*({_TEXT})\s*:\s*")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """The offsets of a member of an object: its key, and where its value begins and ends."""

    key: int
    value: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """Return the values of a configuration, whose root is an object."""
    plain = _blanked(text)
    try:
        value = json.loads(plain) if plain.strip() else {}
    except json.JSONDecodeError as error:
        raise ConfigTextError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except ValueError as error:
        raise ConfigTextError("a number in it has too many digits") from error
    except RecursionError as error:
        raise ConfigTextError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ConfigTextError(f"its root is a {type(value).__name__}, not an object")
    return value


def insert(text: str, section: str, entry: Entry) -> str:
    """Return the text with an entry: where it was, or first in its section; a missing section is
    the first one.
    """
    if not isinstance(parse(text).get(section, {}), dict):
        raise ConfigTextError(f"'{section}' is not an object")
    plain = _blanked(text)
    if not plain.strip():
        # A text that has no value yet; a comment stays above it.
        newline = newline_of(text)
        separator = newline if text.strip(f"{BOM} \t\r\n") and not text.endswith("\n") else ""
        return f"{text}{separator}{_value_text(text, {section: {NAME: entry}}, '')}{newline}"
    root = plain.index("{")
    members = _members(plain, root)
    if section not in members:
        return _with_member(text, plain, root, section, {NAME: entry})
    opening = members[section].value
    former = _members(plain, opening).get(NAME)
    if former is None:
        return _with_member(text, plain, opening, NAME, entry)
    return (
        text[: former.value]
        + _value_text(text, entry, _line_indent(text, former.key))
        + text[former.end :]
    )


def remove(text: str, section: str) -> str:
    """Return the text without the entry, and without the comma that parts it from others."""
    parse(text)
    plain = _blanked(text)
    opening = _members(plain, plain.index("{"))[section].value
    member = _members(plain, opening)[NAME]
    start = len(text[: member.key].rstrip())
    following = re.match(r"\s*,", plain[member.end :])
    if following is not None:
        return text[:start] + text[member.end + following.end() :]
    before = len(plain[: member.key].rstrip())
    if plain[before - 1] == ",":  # the last member: the comma before it goes
        return text[: before - 1] + text[before:start] + text[member.end :]
    return text[:start] + text[member.end :]


def _blanked(text: str) -> str:
    """Return the text with blanks for comments and trailing commas, every other character at its
    place.
    """
    without = _COMMENT.sub(
        lambda found: found[1] or re.sub(r"[^\r\n]", " ", found[0]), text.replace(BOM, " ", 1)
    )
    return _TRAILING_COMMA.sub(lambda found: found[1] or " ", without)


def _members(plain: str, opening: int) -> dict[str, _Member]:
    """Return the members of the object that opens at an offset of a valid text."""
    members, place = {}, opening + 1
    while key := _KEY.match(plain, place):
        place = _DECODER.raw_decode(plain, key.end())[1]
        members[json.loads(key[1])] = _Member(key.start(1), key.end(), place)
    return members


def _with_member(text: str, plain: str, opening: int, name: str, value: Any) -> str:
    """Return the text with a member at the beginning of an object."""
    newline, outer, start = newline_of(text), _line_indent(text, opening), opening + 1
    first = min((member.key for member in _members(plain, opening).values()), default=None)
    has_lines = first is not None and "\n" in text[start:first]
    indent = _line_indent(text, first) if first is not None and has_lines else outer + INDENT
    member = f"{newline}{indent}{json.dumps(name)}: {_value_text(text, value, indent)}"
    if first is not None:
        return f"{text[:start]}{member},{'' if has_lines else newline + indent}{text[start:]}"
    is_closed_below = "\n" in text[start : plain.index("}", start)]
    return f"{text[:start]}{member}{'' if is_closed_below else newline + outer}{text[start:]}"


def _value_text(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=INDENT, ensure_ascii=False).split("\n")
    return f"{newline_of(text)}{indent}".join(lines)


def _line_indent(text: str, offset: int) -> str:
    """Return the white space at the beginning of the line of an offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


JSONC = ConfigFormat(parse=parse, insert=insert, remove=remove)
