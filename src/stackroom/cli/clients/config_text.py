"""A configuration file as text: one entry is added, replaced or removed, and the result is read back.

Each format edits in its own way (`jsonc`, `round_trip`). What holds for all is here: everything else in the file has
the same values after an edit, and a removal gives back the bytes that the entry was added to, where they are known.
"""

from collections.abc import Callable, Mapping
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
    remove: Callable[[str, EntryPlace], str]
    """The text without the entry, which it has."""


def find_entry(form: ConfigFormat, text: str, place: EntryPlace) -> Any | None:
    """Return the entry that a configuration has, or None."""
    section = form.parse(text).get(place.section)
    return section.get(place.name) if isinstance(section, dict) else None


def add_entry(form: ConfigFormat, text: str, place: EntryPlace, entry: Entry) -> str:
    """Return the text with the entry; everything else in it has the same values."""
    after = form.insert(text, place, entry)
    _require_others_kept(form, text, after, place, entry)
    return after


def remove_entry(form: ConfigFormat, text: str, place: EntryPlace, *, backup: str | None) -> str:
    """Return the text without the entry.

    It is the back-up, or nothing, where adding the entry to that gives the text: then the file is as it was before.
    """
    entry = find_entry(form, text, place)
    if entry is None:
        return text
    for origin in ("" if backup is None else backup, ""):
        if _gives(form, origin, place, entry, text):
            return origin
    after = form.remove(text, place)
    _require_others_kept(form, text, after, place, None)
    return after


def _gives(form: ConfigFormat, text: str, place: EntryPlace, entry: Any, wanted: str) -> bool:
    try:
        return find_entry(form, text, place) is None and form.insert(text, place, entry) == wanted
    except (ConfigTextError, TypeError, AttributeError):  # an entry that somebody edited may not be an object
        return False


def _require_others_kept(form: ConfigFormat, text: str, after: str, place: EntryPlace, entry: Entry | None) -> None:
    if find_entry(form, after, place) != entry or _others(form, after, place) != _others(form, text, place):
        raise ConfigTextError(f"'{place.section}' is laid out in a way that cannot be edited safely")


def _others(form: ConfigFormat, text: str, place: EntryPlace) -> dict[str, Any]:
    """Return the values of a configuration without the entry, and without its section where that is empty."""
    values = dict(form.parse(text))
    section = values.pop(place.section, None)
    rest = {key: value for key, value in section.items() if key != place.name} if isinstance(section, dict) else section
    return {**values, place.section: rest} if rest else values


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def place_of(text: str, offset: int) -> str:
    """Return an offset as people count: 'line 3, column 7'."""
    before = text[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - (before.rfind(chr(10)) + 1) + 1}"
