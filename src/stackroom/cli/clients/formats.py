"""The formats of configuration files: JSON with comments and trailing commas, TOML and YAML.
Comments, order and styles of everything that is not edited stay.

In JSON, comments and trailing commas are blanked, so that what is left is plain JSON with every
value at its place in the text. TOML is edited by tomlkit, YAML by ruamel.yaml.
"""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, NamedTuple

import tomlkit
from ruamel.yaml import YAML as Yaml
from ruamel.yaml.error import MarkedYAMLError
from tomlkit.exceptions import TOMLKitError

from stackroom.cli.clients.config_file import (
    BOM,
    NAME,
    ConfigFormat,
    ConfigTextError,
    Entry,
    newline_of,
)
from stackroom.toml_text import TomlError, parse_toml

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


def parse_json(text: str) -> dict[str, Any]:
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


def insert_json(text: str, section: str, entry: Entry) -> str:
    """Return the text with an entry: where it was, or first in its section; a missing section is
    the first one.
    """
    if not isinstance(parse_json(text).get(section, {}), dict):
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


def remove_json(text: str, section: str) -> str:
    """Return the text without the entry, and without the comma that parts it from others."""
    parse_json(text)
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


JSONC = ConfigFormat(parse=parse_json, insert=insert_json, remove=remove_json)


ENDLESS = 1 << 20  # a width at which no line is broken
NESTED = re.compile(r"^[^\s#-][^\n]*:[ \t]*\r?\n(?P<indent> +)[^\s#-]", re.MULTILINE)
LISTED = re.compile(r"^(?P<key> *)[^\s#-][^\n]*:[ \t]*\r?\n(?P<dashes> *)- ", re.MULTILINE)
"""The first mapping within another, and the first list within one, which tell the indentation of a
YAML text.
"""


def parse_toml_text(text: str) -> dict[str, Any]:
    """Return the values of a TOML configuration."""
    try:
        return parse_toml(text)
    except TomlError as error:
        raise ConfigTextError(str(error)) from error


def insert_toml(text: str, section: str, entry: Entry) -> str:
    """Return the TOML text with an entry: where it was, or as a table after the others of its
    section.
    """
    document: Any = _toml_document(text)
    if section not in document:
        document[section] = tomlkit.table(is_super_table=True)
    document[section][NAME] = dict(entry)
    return _with_line_ends(tomlkit.dumps(document), text)


def remove_toml(text: str, section: str) -> str:
    """Return the TOML text without the entry."""
    document: Any = _toml_document(text)
    del document[section][NAME]
    return _with_kept_comments(_with_line_ends(tomlkit.dumps(document), text), text)


def _toml_document(text: str) -> tomlkit.TOMLDocument:
    parse_toml_text(text)
    try:
        return tomlkit.parse(text.removeprefix(BOM))
    except TOMLKitError as error:
        raise ConfigTextError(f"it cannot be edited as TOML: {error}") from error


def parse_yaml(text: str) -> dict[str, Any]:
    """Return the values of a YAML configuration, whose root is a mapping."""
    with _yaml_errors():
        value = Yaml(typ="safe", pure=True).load(text)
    if value is not None and not isinstance(value, dict):
        raise ConfigTextError(f"its root is a {type(value).__name__}, not a mapping")
    return value or {}


def insert_yaml(text: str, section: str, entry: Entry) -> str:
    """Return the YAML text with an entry: where it was, or first in its section; a missing section
    is the last.
    """
    servers = parse_yaml(text).get(section)
    if servers is not None and not isinstance(servers, dict):
        raise ConfigTextError(f"'{section}' is not a mapping")
    document = _yaml_document(text) or {}
    if not servers:
        document[section] = {NAME: dict(entry)}
    elif NAME in servers:
        document[section][NAME] = dict(entry)
    else:  # first: a comment after the last one is about what follows the section
        document[section].insert(0, NAME, dict(entry))
    return _dump_yaml(document, text)


def remove_yaml(text: str, section: str) -> str:
    """Return the YAML text without the entry."""
    document = _yaml_document(text)
    del document[section][NAME]
    return _with_kept_comments(_dump_yaml(document, text), text)


def _yaml_document(text: str) -> Any:
    with _yaml_errors():
        return _round_trip(text).load(text.removeprefix(BOM).replace("\r\n", "\n"))


def _dump_yaml(document: Any, text: str) -> str:
    stream = io.StringIO()
    with _yaml_errors():
        _round_trip(text).dump(document, stream)
    return _with_line_ends(stream.getvalue(), text)


def _round_trip(text: str) -> Yaml:
    """Return a reader and writer that keeps quotes, long lines and the indentation of a text."""
    nested, listed = NESTED.search(text), LISTED.search(text)
    dashes = len(listed["dashes"]) - len(listed["key"]) if listed else 0
    yaml = Yaml()
    yaml.preserve_quotes = True
    yaml.width = ENDLESS
    yaml.explicit_start = text.removeprefix(BOM).startswith("---")
    yaml.indent(mapping=len(nested["indent"]) if nested else 2, sequence=dashes + 2, offset=dashes)
    return yaml


@contextmanager
def _yaml_errors() -> Iterator[None]:
    try:
        yield
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigTextError(f"{place}{error.problem or 'malformed'}") from error
    except RecursionError as error:
        raise ConfigTextError("it is nested too deeply") from error
    # of values that are not of the type of their tag
    except (ValueError, LookupError, AttributeError) as error:
        raise ConfigTextError(f"a value in it is malformed: {error}") from error


def _with_kept_comments(after: str, text: str) -> str:
    """Return a text without an entry, with the comments that stood below the entry: they are about
    what follows it.
    """
    was, lines = text.splitlines(keepends=True), after.splitlines(keepends=True)
    start = _count_same(was, lines)
    end = len(was) - _count_same(was[start:][::-1], lines[start:][::-1])
    below = list(
        takewhile(lambda line: not line.strip() or line.startswith("#"), reversed(was[start:end]))
    )
    return "".join([*lines[:start], *reversed(below), *lines[start:]])


def _count_same(some: list[str], others: list[str]) -> int:
    """Return how many lines two lists of them begin with alike."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False))
    )


def _with_line_ends(edited: str, text: str) -> str:
    """Return an edited text with the byte order mark and the line endings of the former one."""
    lines = edited.replace("\r\n", "\n").replace("\n", newline_of(text))
    return BOM + lines if text.startswith(BOM) else lines


TOML = ConfigFormat(parse=parse_toml_text, insert=insert_toml, remove=remove_toml)
YAML = ConfigFormat(parse=parse_yaml, insert=insert_yaml, remove=remove_yaml)
