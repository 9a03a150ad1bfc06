"""The record that an id or a name means, for a change: a name must be exactly that of one record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinakes.api import InputError, NotFoundError, Record, find_namesakes
from pinakes_catalogues.music.library import MusicLibrary

LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A record, its catalogue, and a note where a name was given."""

    record: Record
    catalogue: str
    notes: tuple[str, ...] = ()


def get_meant(libraries: Mapping[str, MusicLibrary], stated: str, kinds: Sequence[str], *, field: str) -> Meant:
    """Return the record of an id, or the only one of a name; refuse another kind, and a name of several or of none."""
    name, _, rest = stated.partition("/")
    if name in libraries and rest:
        libraries, stated = {name: libraries[name]}, rest
    for catalogue, library in libraries.items():
        record = library.find(stated)
        if record is not None:
            return Meant(record=_of_kind(record, kinds, stated, field), catalogue=catalogue)
    return _named(libraries, stated, kinds, field)


def _of_kind(record: Record, kinds: Sequence[str], stated: str, field: str) -> Record:
    if record.kind not in kinds:
        raise InputError(f"'{field}': '{stated[:200]}' is of the kind {record.kind}; give the id of a {kinds[0]}")
    return record


def _named(libraries: Mapping[str, MusicLibrary], stated: str, kinds: Sequence[str], field: str) -> Meant:
    found = [
        (catalogue, one)
        for catalogue, library in libraries.items()
        for kind in kinds
        for one in find_namesakes(library.reader, library.catalogue.spec, stated, scope=library.scope(kind))
    ]
    if len(found) == 1:
        catalogue, only = found[0]
        note = f"'{stated[:80]}' was taken for {only.label}"
        return Meant(record=only.record, catalogue=catalogue, notes=(note,))
    if found:
        listed = "; ".join(one.label for _, one in found[:LISTED])
        more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
        raise InputError(f"'{field}': several are called '{stated[:80]}'; give the id of one: {listed}{more}")
    hint = next(iter(libraries.values())).hint(kinds, stated)
    raise NotFoundError(f"'{field}': no {' or '.join(kinds)} '{stated[:200]}'{hint}")
