"""A configuration file as text, in which one entry is added, replaced or removed and everything else is kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]


class ConfigTextError(ValueError):
    """Text that is not of its format, or not laid out so that an entry can be added; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPlace:
    """The place of an entry: a name in a section at the top of the file."""

    section: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFormat:
    """Reads and edits the text of one format; each function raises ConfigTextError."""

    parse: Callable[[str], dict[str, Any]]
    """The values of a file; {} for an empty one."""
    insert: Callable[[str, EntryPlace, Entry], str]
    """The text with the entry, in place of a former one."""
    removals: Callable[[str, EntryPlace], Sequence[str]]
    """The texts without the entry: first those also without the section and blanks that `insert` may have added."""


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def place_of(text: str, offset: int) -> str:
    """Return an offset as people count: 'line 3, column 7'."""
    before = text[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - (before.rfind(chr(10)) + 1) + 1}"
