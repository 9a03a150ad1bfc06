"""The records of every catalogue as resources: one by its id or title, and all that have a value of a field.

The generic tools call a record `CATALOGUE/ID`; as a resource its address is `stackroom://CATALOGUE/ID`.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, unquote

import orjson

from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import AnyOf, Scope
from stackroom.search.ids import SCHEME
from stackroom.search.name_arm import SPELLING_FLOOR
from stackroom.shelf.port import ShelfReader
from stackroom.text.normalise import fold_name
from stackroom.text.query import analyse_query
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.resources.resource import ContentList, ResourceContent, ResourceSpec
from stackroom.tools.resources.window import parse_position

VALUES_SCHEME = "stackroom-values://"
COMPLETED = 50
TITLES_TRIED = 10
READ_AT_ONCE = 100


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

    def complete(self, principal: Principal, variable: str, typed: str, others: dict[str, str]) -> list[str]:
        """Complete a catalogue's name or a title; a record can be read by id or by title."""
        if variable == "catalogue":
            return [name for name in self._catalogues if name.startswith(typed)]
        catalogue = self._catalogues.get(others.get("catalogue", ""))
        if catalogue is None or variable != "id" or not typed.strip():
            return []
        reader, scope = catalogue.shelf.reader(), Scope(visibility=principal.visibility)
        alike = reader.titles_like(typed, scope=scope, limit=COMPLETED)
        words = reader.lexical(analyse_query(typed, synonyms={}), scope=scope, limit=COMPLETED).keys.tolist()
        records = reader.fetch([*(match.key for match in alike), *words], scope=scope)
        titles = {key: catalogue.spec.title_of(record) for key, record in records.items()}
        begun = [title for title in titles.values() if fold_name(title).startswith(fold_name(typed))]
        likely = [titles[one.key] for one in alike if one.key in titles and one.likeness >= SPELLING_FLOOR]
        return list(dict.fromkeys([*begun, *likely, *(titles[key] for key in words if key in titles)]))

    def read_values(self, principal: Principal, rest: str) -> ContentList | None:
        """Return the records that have a value of a field: `CATALOGUE/FIELD/VALUE`."""
        name, _, address = rest.partition("/")
        field, _, value = (unquote(part) for part in address.partition("/"))
        catalogue = self._catalogues.get(name)
        if catalogue is None or not _is_countable(catalogue.spec, field):
            return None
        reader = catalogue.shelf.reader()
        scope = Scope(conditions=(AnyOf(field, (value,)),), visibility=principal.visibility)

        def after(cursor: str | None) -> Iterator[tuple[str, Any]]:
            key = parse_position(cursor)
            return _iter_titled(catalogue, reader, scope, None if key is None else Key(key))

        return ContentList(name="records", total=reader.count(scope), after=after)

    def complete_value(self, principal: Principal, variable: str, typed: str, others: dict[str, str]) -> list[str]:
        """Complete a catalogue's name, a field whose values can be counted, or one of its values."""
        catalogue = self._catalogues.get(others.get("catalogue", ""))
        if variable == "catalogue" or catalogue is None:
            return self.complete(principal, variable, typed, others)
        if variable == "field":
            return [
                one for one in catalogue.spec.fields if _is_countable(catalogue.spec, one) and one.startswith(typed)
            ]
        field = others.get("field", "")
        if not _is_countable(catalogue.spec, field):
            return []
        facets = catalogue.shelf.reader().facets(field, scope=Scope(visibility=principal.visibility))
        return [facet.value for facet in facets if facet.value.lower().startswith(typed.lower())]


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
            complete=records.complete,
        ),
        ResourceSpec(
            prefix=VALUES_SCHEME,
            action=Action.ACCESS_CATALOG,
            entries=lambda _principal: [],
            read=records.read_values,
            template=VALUES_SCHEME + "{catalogue}/{field}/{value}",
            name="records with a value",
            description="The records of a catalogue that have this tag or value, as JSON.",
            complete=records.complete_value,
        ),
    ]


def _find_titled(view: CatalogueView, title: str, scope: Scope) -> Record | None:
    """Return the record with exactly this title."""
    keys = [match.key for match in view.reader.titles_like(title, scope=scope, limit=TITLES_TRIED)]
    records = view.reader.fetch(keys, scope=scope).values()
    return next((one for one in records if fold_name(view.spec.title_of(one)) == fold_name(title)), None)


def _iter_titled(
    catalogue: OpenCatalogue, reader: ShelfReader, scope: Scope, after: Key | None
) -> Iterator[tuple[str, Any]]:
    """Yield the records of a scope after a key, each with its key, as id and title."""
    while keys := reader.scan(scope=scope, after=after, limit=READ_AT_ONCE):
        for key, record in reader.fetch(keys, scope=scope).items():
            title = catalogue.spec.title_of(record)
            yield str(key), {"id": address_of(catalogue.name, record.id), "title": title}
        after = keys[-1]


def _is_countable(spec: CatalogueSpec, field: str) -> bool:
    return field in spec.fields and spec.fields[field].facet
