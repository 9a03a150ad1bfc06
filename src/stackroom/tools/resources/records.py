"""The records of every catalogue as resources, by id or title.

The generic tools call a record `CATALOGUE/ID`; as a resource its address is `stackroom://CATALOGUE/ID`.
"""

from collections.abc import Sequence
from urllib.parse import quote, unquote

import orjson

from stackroom.catalogue.codec import plain_record
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Scope
from stackroom.search.ids import SCHEME
from stackroom.text.normalise import fold_name
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.resources.resource import ResourceContent, ResourceSpec

TITLES_TRIED = 10


def address_of(catalogue: str, record_id: RecordId) -> str:
    """Return the id of a record in the generic tools."""
    return f"{catalogue}/{record_id}"


def uri_of(catalogue: str, record_id: RecordId) -> str:
    """Return the resource URI of a record."""
    return f"{SCHEME}{catalogue}/{quote(record_id, safe='/')}"


def parse_address(address: str) -> tuple[str, RecordId] | None:
    """Parse `CATALOGUE/ID` or a URI; None where it is neither."""
    is_uri = address.startswith(SCHEME)
    catalogue, slash, record_id = address.removeprefix(SCHEME).partition("/")
    if not catalogue or not slash or not record_id:
        return None
    return catalogue, RecordId(unquote(record_id) if is_uri else record_id)


class RecordResources:
    """Record resources over these catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue]) -> None:
        self._catalogues = {catalogue.name: catalogue for catalogue in catalogues}

    def read(self, principal: Principal, rest: str) -> ResourceContent | None:
        """Return the record at `CATALOGUE/ID` as JSON."""
        address = parse_address(SCHEME + rest)
        if address is None or address[0] not in self._catalogues:
            return None
        view, scope = self._catalogues[address[0]].view(), Scope(visibility=principal.visibility)
        record = view.find_record(address[1], scope=scope) or _find_titled(view, address[1], scope)
        if record is None:
            return None
        return ResourceContent(
            mime_type="application/json", text=orjson.dumps(plain_record(record, view.spec)).decode()
        )


def generic_resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the records of every catalogue as resources."""
    records = RecordResources(catalogues)
    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.ACCESS_CATALOG,
            entries=lambda _principal: [],
            read=records.read,
            template=SCHEME + "{catalogue}/{+id}",
            name="record",
            description="A record of a catalogue, as JSON.",
        ),
    ]


def _find_titled(view: CatalogueView, title: str, scope: Scope) -> Record | None:
    """Return the record with exactly this title."""
    keys = [match.key for match in view.reader.titles_like(title, scope=scope, limit=TITLES_TRIED)]
    records = view.reader.fetch(keys, scope=scope).values()
    return next((one for one in records if fold_name(view.spec.title_of(one)) == fold_name(title)), None)
