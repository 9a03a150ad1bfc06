"""The forms in which an id may be given back: as the catalogue has it, and as any tool has shown it."""

import re
from urllib.parse import unquote

from stackroom.model.record import Key, RecordId
from stackroom.model.scope import Scope
from stackroom.shelf.port import ShelfReader

SCHEME = "stackroom://"
"""The beginning of a record's address as a resource."""

LONGEST = 1_000
SAMPLED = 500
"""The number of records whose ids show what numbers are preceded by."""

_IN_LABEL = re.compile(r"\((?:[^()]*, )?([^\s(),]+)\)(?:, also called .*)?$")
_PAGE = re.compile(r"https?://([^/?#\s]+)(/[^?#\s]*)(?:[?#]\S*)?", re.IGNORECASE)
_NUMBERED = re.compile(r"(.*[^\d])\d+")


def find_by_id(reader: ShelfReader, stated: str, *, scope: Scope, catalogue: str = "") -> Key | None:
    """Return the record of `ID`, `CATALOGUE/ID`, `stackroom://CATALOGUE/ID`, or the suggestion of a name, or None."""
    forms = id_forms(stated, catalogue=catalogue)
    found = reader.find(forms, scope=scope) if forms else {}
    return next((found[form] for form in forms if form in found), None)


def find_by_number(reader: ShelfReader, stated: str, *, scope: Scope) -> Key | None:
    """Return the only record whose id is this number after a beginning that ids here have, as `mal-` in `mal-1`."""
    number = stated.strip()
    if not (number.isascii() and number.isdecimal()):
        return None
    ids = reader.ids(reader.scan(scope=scope, limit=SAMPLED))
    beginnings = {match[1] for record_id in ids if (match := _NUMBERED.fullmatch(record_id))}
    found = reader.find([RecordId(f"{beginning}{number}") for beginning in sorted(beginnings)], scope=scope)
    return next(iter(found.values())) if len(found) == 1 else None


def id_forms(stated: str, *, catalogue: str = "") -> list[RecordId]:
    """Return the ids that a text may mean, the likeliest first; without a catalogue, any may precede the id."""
    text = stated.strip()[:LONGEST]
    address = unquote(text.removeprefix(SCHEME)) if text.startswith(SCHEME) else text
    label = _IN_LABEL.search(text)
    bare = address.removeprefix(f"{catalogue}/") if catalogue else address.partition("/")[2]
    forms = [stated[:LONGEST], text, address, bare, label[1] if label else ""]
    return [RecordId(form) for form in dict.fromkeys(forms) if form]


def page_forms(stated: str) -> list[str]:
    """Return the spellings of a page's address, as given first; of a longer address, also its beginnings."""
    match = _PAGE.fullmatch(stated.strip()[:LONGEST])
    if match is None:
        return []
    host, path = match[1], match[2].rstrip("/")
    pieces = path.split("/")
    paths = ["/".join(pieces[:count]) for count in range(len(pieces), max(1, len(pieces) - 2), -1)]
    hosts = dict.fromkeys([host, host.removeprefix("www."), f"www.{host.removeprefix('www.')}"])
    addresses = [f"{scheme}://{one}{way}" for way in paths for one in hosts for scheme in ("https", "http")]
    return [stated.strip(), *addresses]


def example_id(reader: ShelfReader, *, scope: Scope) -> str:
    """Return an id of the catalogue, to show what one looks like; empty where there is no record."""
    return next(iter(reader.ids(reader.scan(scope=scope, limit=1))), "")
