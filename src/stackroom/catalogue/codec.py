"""Records as JSON, for shelves and packs: `encode_record` and back; and the digest of the text that
is embedded.
"""

import hashlib
from functools import partial
from operator import itemgetter
from typing import Any

import orjson

from stackroom.catalogue.spec import CatalogueSpec, FieldType, embedding_text
from stackroom.errors import StorageError
from stackroom.model.record import DEFAULT_KIND, Record, RecordId, Tag


def encode_record(record: Record) -> bytes:
    """Return the record as JSON; the same record always gives the same bytes."""
    document: dict[str, Any] = {"fields": dict(record.fields)}
    if None in record.fields.values():
        document["fields"] = {
            name: value for name, value in record.fields.items() if value is not None
        }
    if record.kind != DEFAULT_KIND:
        document["kind"] = record.kind
    if record.audiences:
        document["audiences"] = record.audiences
    return orjson.dumps(document, default=_plain, option=orjson.OPT_SORT_KEYS)


def decode_record(record_id: RecordId, body: bytes, spec: CatalogueSpec) -> Record:
    """Return the record written as `body`."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        message = (
            f"record '{record_id}' of catalogue '{spec.name}' is damaged: {error}; run: stackroom"
            " doctor"
        )
        raise StorageError(message) from error
    fields = document["fields"]
    for name, value in fields.items():
        # most are not, and every record that is fetched comes through here
        if isinstance(value, list) and (field := spec.fields.get(name)):
            if field.type is FieldType.TAGS:
                fields[name] = _tags(value)
            elif field.type is not FieldType.JSON:
                fields[name] = tuple(value)
    return Record(
        id=record_id,
        kind=document.get("kind", DEFAULT_KIND),
        fields=fields,
        audiences=tuple(document.get("audiences", ())),
    )


_new_tag = partial(tuple.__new__, Tag)
"""Makes a tag of a pair, in half the time of a call of its class: every record that is fetched has
some.
"""
_pair_of = itemgetter("category", "value")


def _tags(items: list[Any]) -> tuple[Tag, ...]:
    """Return the tags; a plain text, stored before the spec made the field `tag[]`, has no
    category.
    """
    try:
        return tuple(map(_new_tag, map(_pair_of, items)))
    except TypeError:
        return tuple(Tag("", str(item)) for item in items)


def _plain(value: Any) -> Any:
    if isinstance(value, Tag):
        return {"category": value.category, "value": value.value}
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


def plain_record(record: Record, spec: CatalogueSpec) -> dict[str, Any]:
    """Return a record as plain values: its id, its kind, and the fields that answers show."""
    document: dict[str, Any] = orjson.loads(encode_record(record))
    hidden = {field.name for field in spec.fields.values() if not field.shown}
    shown = {name: value for name, value in document["fields"].items() if name not in hidden}
    return {"id": record.id, "kind": record.kind, **shown}


def digest_of(text: str) -> bytes:
    """Return the key under which the vector of a text is kept."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).digest()


def find_digest(record: Record, spec: CatalogueSpec) -> bytes | None:
    """Return the digest of the text that is embedded for a record; None where there is no text."""
    text = embedding_text(spec.embed, record) if spec.embed else ""
    return digest_of(text) if text else None
