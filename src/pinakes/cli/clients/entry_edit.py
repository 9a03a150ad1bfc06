"""An entry added to a configuration, or removed from it: checked by reading the result back."""

from collections.abc import Iterator
from typing import Any

from pinakes.cli.clients.config_text import ConfigFormat, ConfigTextError, Entry, EntryPlace


def find_entry(form: ConfigFormat, text: str, place: EntryPlace) -> Any | None:
    """Return the entry that a configuration has, or None."""
    section = form.parse(text).get(place.section)
    return section.get(place.name) if isinstance(section, dict) else None


def add_entry(form: ConfigFormat, text: str, place: EntryPlace, entry: Entry) -> str:
    """Return the text with the entry; everything else in it has the same values."""
    after = form.insert(text, place, entry)
    if find_entry(form, after, place) != entry or _others(form, after, place) != _others(form, text, place):
        raise ConfigTextError(f"'{place.section}' is laid out in a way that cannot be edited safely")
    return after


def remove_entry(form: ConfigFormat, text: str, place: EntryPlace, *, backup: str | None) -> str:
    """Return the text without the entry.

    It is the text that the entry was added to, byte for byte, where that can be told: adding the entry to it must give
    `text`. Where several texts qualify, the back-up decides.
    """
    entry = find_entry(form, text, place)
    if entry is None:
        return text
    possible = list(_iter_removals(form, text, place))
    if not possible:
        raise ConfigTextError(f"'{place.section}' is laid out in a way that cannot be edited safely")
    origins = [one for one in possible if _gives(form, one, place, entry, text)]
    return backup if backup is not None and backup in origins else (origins or possible[-1:])[0]


def _iter_removals(form: ConfigFormat, text: str, place: EntryPlace) -> Iterator[str]:
    others = _others(form, text, place)
    for one in form.removals(text, place):
        try:
            if find_entry(form, one, place) is None and _others(form, one, place) == others:
                yield one
        except ConfigTextError:
            continue


def _gives(form: ConfigFormat, text: str, place: EntryPlace, entry: Any, wanted: str) -> bool:
    try:
        return isinstance(entry, dict) and form.insert(text, place, entry) == wanted
    except ConfigTextError:
        return False


def _others(form: ConfigFormat, text: str, place: EntryPlace) -> dict[str, Any]:
    """Return the values of a configuration without the entry, and without its section where that is empty."""
    values = dict(form.parse(text))
    section = values.pop(place.section, None)
    rest = {key: one for key, one in section.items() if key != place.name} if isinstance(section, dict) else section
    return {**values, place.section: rest} if rest else values
