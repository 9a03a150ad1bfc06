"""Resources: content that a client reads by URI, and the records of every catalogue as such. Knows no transport.

A catalogue's records are at `stackroom://CATALOGUE/ID`. A catalogue package may add resources of its own.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from stackroom.catalogue.codec import plain_record
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Flag, Record
from stackroom.model.scope import Scope
from stackroom.search.ids import SCHEME
from stackroom.text.normalise import fold_name
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, parse_address


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContent:
    """The content at a URI: text or bytes."""

    mime_type: str
    text: str | None = None
    blob: bytes | None = None
    flags: tuple[Flag, ...] = ()
    """The places whose text reads like an instruction; set by the gate."""
    notes: tuple[str, ...] = ()
    """Remarks on the content, such as its age; set by the gate."""

    @property
    def size_bytes(self) -> int:
        """The size of the content."""
        return len(self._content)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self._content).hexdigest()

    @property
    def _content(self) -> bytes:
        return self.blob if self.blob is not None else (self.text or "").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentList:
    """A list at a URI, which is read in pages, as JSON."""

    name: str
    """The name of the list in the JSON."""
    total: int
    after: Callable[[str | None], Iterator[tuple[str, Any]]]
    """Yields the items after a cursor, each with the cursor that continues after it; InputError for a wrong cursor."""
    head: Mapping[str, Any] = field(default_factory=dict)
    """Further values beside the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """One entry in a list of resources."""

    uri: str
    name: str
    title: str = ""
    mime_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """Resources that share a URI prefix. It cannot be declared without the action it needs."""

    prefix: str
    """The prefix of its URIs, such as `notes://`."""
    action: Action
    entries: Callable[[Principal], Sequence[ResourceEntry]]
    """Lists resources for a principal; not necessarily all that can be read."""
    read: Callable[[Principal, str], ResourceContent | ContentList | None]
    """Returns the content at a URI without its prefix; None where there is none that the principal may see."""
    template: str = ""
    """An RFC 6570 template for URIs that are not listed, such as `stackroom://{catalogue}/{+id}`."""
    name: str = ""
    """The template's name."""
    description: str = ""
    """The template's description."""
    template_mime_type: str = "application/json"
    """The media type of what the template leads to."""
    is_file: bool = False
    """Whether programs read it as a file: it comes whole unless a read states a budget."""


TITLES_TRIED = 10


def generic_resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the records of every catalogue as resources."""
    by_name = {catalogue.name: catalogue for catalogue in catalogues}

    def read(principal: Principal, rest: str) -> ResourceContent | None:
        """Return the record at `CATALOGUE/ID` as JSON."""
        address = parse_address(SCHEME + rest)
        if address is None or address[0] not in by_name:
            return None
        view, scope = by_name[address[0]].view(), Scope(visibility=principal.visibility)
        record = view.find_record(address[1], scope=scope) or _find_titled(view, address[1], scope)
        if record is None:
            return None
        return ResourceContent(
            mime_type="application/json", text=orjson.dumps(plain_record(record, view.spec)).decode()
        )

    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.ACCESS_CATALOG,
            entries=lambda _principal: [],
            read=read,
            template=SCHEME + "{catalogue}/{+id}",
            name="record",
            description="A record of a catalogue, as JSON.",
        ),
    ]


def _find_titled(view: CatalogueView, title: str, scope: Scope) -> Record | None:
    """Return the record with exactly this title."""
    keys = [match.key for match in view.reader.titles_like(title, scope=scope, limit=TITLES_TRIED)]
    records = view.reader.fetch(keys, scope=scope).values()
    return next((record for record in records if fold_name(view.spec.title_of(record)) == fold_name(title)), None)
