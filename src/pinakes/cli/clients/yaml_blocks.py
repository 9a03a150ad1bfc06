"""YAML: an entry is a block in the mapping of a section; comments and all other lines stay.

Only sections in block style are edited, and empty ones; a section in another style is refused.
"""

import json
import re
from typing import Any

import yaml

from pinakes.cli.clients.config_text import ConfigFormat, ConfigTextError, Entry, EntryPlace, newline_of

INDENT = "  "


def parse(text: str) -> dict[str, Any]:
    """Return the values of a configuration, whose root is a mapping."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigTextError(f"{place}{getattr(error, 'problem', None) or 'malformed'}") from error
    except RecursionError as error:
        raise ConfigTextError("it is nested too deeply") from error
    except ValueError as error:  # PyYAML does not turn errors in the making of values into its own
        raise ConfigTextError(f"a date or number in it is malformed: {error}") from error
    except (LookupError, AttributeError) as error:
        raise ConfigTextError("a value in it is not of the type of its tag") from error
    if value is not None and not isinstance(value, dict):
        raise ConfigTextError(f"its root is a {type(value).__name__}, not a mapping")
    return value or {}


def insert(text: str, place: EntryPlace, entry: Entry) -> str:
    """Return the text with an entry at the end of its section; a section that is missing is added at the end."""
    values, newline = parse(text), newline_of(text)
    section = values.get(place.section)
    if section is not None and not isinstance(section, dict):
        raise ConfigTextError(f"'{place.section}' is not a mapping")
    if place.section not in values:
        ending = "" if not text or text.endswith("\n") else newline
        return text + ending + _section_text(place, entry, newline)
    lines = text.splitlines(keepends=True)
    start, end = _section_span(lines, place, is_empty=not section)
    if not section:
        return "".join(lines[:start]) + _section_text(place, entry, newline) + "".join(lines[start + 1 :])
    if place.name in section:
        first, last = _entry_span(lines, start, end, place)
        block = _block(place.name, entry, _indent_of(lines[first]), newline)
        return "".join(lines[:first]) + block + "".join(lines[last:])
    end = _trimmed(lines, start, end)
    block = _block(place.name, entry, _child_indent(lines, start, end), newline)
    ending = "" if lines[end - 1].endswith("\n") else newline
    return "".join(lines[:end]) + ending + block + "".join(lines[end:])


def removals(text: str, place: EntryPlace) -> list[str]:
    """Return the texts without the entry."""
    section = parse(text).get(place.section)
    if not isinstance(section, dict) or place.name not in section:
        return [text]
    lines, newline = text.splitlines(keepends=True), newline_of(text)
    start, end = _section_span(lines, place, is_empty=False)
    first, last = _entry_span(lines, start, end, place)
    before, after = "".join(lines[:first]), "".join(lines[last:])
    if len(section) > 1:
        return [*([before.removesuffix(newline)] if not after else []), before + after]
    above = "".join(lines[:start])
    kept = "".join(lines[start + 1 : first]) + after
    rewritten = [f"{above}{place.section}:{value}{newline}{kept}" for value in (" {}", "", " null", " ~")]
    return [*([above.removesuffix(newline)] if not kept else []), above + kept, *rewritten]


def _section_text(place: EntryPlace, entry: Entry, newline: str) -> str:
    return f"{place.section}:{newline}{_block(place.name, entry, INDENT, newline)}"


def _block(name: str, entry: Entry, indent: str, newline: str) -> str:
    """Return an entry as a block. Values are written as in JSON, which is YAML too."""
    values = [f"{indent}{INDENT}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return newline.join([f"{indent}{name}:", *values]) + newline


def _section_span(lines: list[str], place: EntryPlace, *, is_empty: bool) -> tuple[int, int]:
    """Return the lines of a section in block style, or of an empty one."""
    ending = r"\s*(?:\{\s*\}|null|~)?\s*" if is_empty else r"\s*(?:#.*)?"
    header = re.compile(rf"[\"']?{re.escape(place.section)}[\"']?\s*:{ending}")
    starts = [index for index, line in enumerate(lines) if header.fullmatch(line.rstrip("\r\n"))]
    if len(starts) != 1:
        raise ConfigTextError(f"'{place.section}' is not laid out as a block of lines")
    end = starts[0] + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " #"):
        end += 1
    return starts[0], end


def _entry_span(lines: list[str], start: int, end: int, place: EntryPlace) -> tuple[int, int]:
    indent = _child_indent(lines, start, end)
    header = re.compile(rf"{indent}[\"']?{re.escape(place.name)}[\"']?\s*:\s*(?:#.*)?")
    found = [index for index in range(start, end) if header.fullmatch(lines[index].rstrip("\r\n"))]
    if len(found) != 1:
        raise ConfigTextError(f"'{place.section}.{place.name}' is not laid out as a block of lines")
    last = found[0] + 1
    while last < end and (not lines[last].strip() or len(_indent_of(lines[last])) > len(indent)):
        last += 1
    return found[0], _trimmed(lines, found[0], last)


def _child_indent(lines: list[str], start: int, end: int) -> str:
    children = (line for line in lines[start + 1 : end] if line.strip() and not line.lstrip().startswith("#"))
    indent = _indent_of(next(children, INDENT))
    if not indent:
        raise ConfigTextError("a section is not indented")
    return indent


def _trimmed(lines: list[str], start: int, end: int) -> int:
    """Return the end without the blank lines and the comments at the margin that follow."""
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


YAML = ConfigFormat(parse=parse, insert=insert, removals=removals)
