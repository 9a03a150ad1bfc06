"""TOML by tomlkit and YAML by ruamel.yaml, which keep comments, order and styles of what is not
edited.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

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
