"""TOML: an entry is a table with its subtables at the end of the file; comments and all other lines stay."""

import json
import re
from collections.abc import Iterator
from typing import Any

from pinakes.cli.clients.config_text import ConfigFormat, ConfigTextError, Entry, EntryPlace, newline_of
from pinakes.toml_text import TomlError, parse_toml

HEADER = re.compile(r"\s*\[\[?\s*(?P<keys>[^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
QUOTES = re.compile(r"\"{3}|'{3}")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """Return the values of a configuration."""
    try:
        return parse_toml(text)
    except TomlError as error:
        raise ConfigTextError(str(error)) from error


def insert(text: str, place: EntryPlace, entry: Entry) -> str:
    """Return the text with an entry: where it was, or at the end."""
    parse(text)
    newline = newline_of(text)
    block = newline.join(_tables(f"{place.section}.{place.name}", entry)) + newline
    lines = text.splitlines(keepends=True)
    spans = _spans(lines, place)
    if spans:
        before, after = _outside(lines, spans)
        return "".join(before) + block + "".join(after)
    ending = "" if not text or text.endswith("\n") else newline
    return text + ending + (newline if text.strip() else "") + block


def removals(text: str, place: EntryPlace) -> list[str]:
    """Return the texts without the entry: also without the blank line and the line ending before it."""
    parse(text)
    lines, newline = text.splitlines(keepends=True), newline_of(text)
    spans = _spans(lines, place)
    if not spans:
        return [text]
    before, after = ("".join(part) for part in _outside(lines, spans))
    if after.strip():
        return [before.removesuffix(newline) + after, before + after]
    return [before.removesuffix(newline).removesuffix(newline), before.removesuffix(newline), before + after]


def _outside(lines: list[str], spans: list[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """Return the lines before the first span, and those after it that are in no other."""
    first = spans[0][0]
    after = [line for index, line in enumerate(lines) if index > first and not any(a <= index < b for a, b in spans)]
    return lines[:first], after


def _spans(lines: list[str], place: EntryPlace) -> list[tuple[int, int]]:
    """Return the lines of the entry's tables; blank lines and comments before the next table belong to that one."""
    headers = list(_iter_headers(lines))
    ends = [*headers[1:], len(lines)][: len(headers)]
    mine = [(start, end) for start, end in zip(headers, ends, strict=True) if _is_of(lines[start], place)]
    return [(start, _trimmed(lines, start, end)) for start, end in _joined(mine)]


def _iter_headers(lines: list[str]) -> Iterator[int]:
    """Yield the lines that begin a table; those in strings of several lines do not."""
    quotes = ""
    for index, line in enumerate(lines):
        if not quotes and HEADER.fullmatch(line.rstrip("\r\n")):
            yield index
        for mark in QUOTES.findall(line):
            quotes = "" if quotes == mark else quotes or mark


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _trimmed(lines: list[str], start: int, end: int) -> int:
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _is_of(header: str, place: EntryPlace) -> bool:
    found = HEADER.fullmatch(header.rstrip("\r\n"))
    keys = [key.strip().strip("\"'") for key in found["keys"].split(".")] if found else []
    return keys[:2] == [place.section, place.name]


def _tables(name: str, table: Entry) -> list[str]:
    """Return the lines of a table: its values, then its subtables."""
    lines = [f"[{name}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += ["", *_tables(f"{name}.{_key(key)}", value)]
    return lines


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    # TOML's basic strings, numbers and booleans are written as in JSON; it also wants DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


TOML = ConfigFormat(parse=parse, insert=insert, removals=removals)
