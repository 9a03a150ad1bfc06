"""A record in the one form that every view of the page shows: names, a line, a few fields, a text and a picture."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, Role
from pinakes.model.hits import Evidence
from pinakes.model.record import Record
from pinakes.tools.budget import shorten
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.media import CallerMedia, MediaKind
from pinakes.tools.record_text import (
    BETWEEN_FIELDS,
    SNIPPET_CHARS,
    body_of,
    find_page,
    has_value,
    short_value,
    told_fields,
)
from pinakes.tools.resources.records import address_of

MEDIA_PATH = "/v1/media"
LINE_ROLES = (Role.PEOPLE, Role.TIME)
"""The roles whose values make the line below a title."""


def shape_hit(
    catalogue: OpenCatalogue, record: Record, media: CallerMedia, *, strength: float | None = None
) -> dict[str, Any]:
    """Return a record as a hit; one that was searched for has the strength of the evidence that it answers."""
    return {
        **shape_record(catalogue.spec, catalogue.name, record),
        "image": find_media(catalogue, record, media, MediaKind.COVER),
        "audio": find_media(catalogue, record, media, MediaKind.AUDIO) is not None,
        "score": None if strength is None else round(strength, 4),
        "evidence": None if strength is None else Evidence.of(strength),
    }


def shape_record(spec: CatalogueSpec, catalogue: str, record: Record) -> dict[str, Any]:
    """Return a record as a hit without files; its catalogue need not exist yet."""
    line = [field for role in LINE_ROLES if (field := spec.field_with_role(role)) and has_value(record, field)]
    told = [field for field in told_fields(record, spec) if field not in line]
    return {
        "key": address_of(catalogue, record.id),
        "catalogue": catalogue,
        "id": record.id,
        "kind": record.kind,
        "title": spec.title_of(record),
        "subtitle": _line(record, spec, line),
        "text": shorten(" ".join(body_of(record, spec).split()), SNIPPET_CHARS),
        "fields": [shape_field(record, field) for field in told],
        "image": None,
        "audio": False,
        "score": None,
        "evidence": None,
        "url": find_page(record, spec),
    }


def shape_field(record: Record, field: FieldSpec) -> dict[str, str]:
    """Return a field of a record with its label, on part of a line."""
    return {"field": field.name, "label": label_of(field.name), "value": short_value(record.get(field.name), field)}


def label_of(name: str) -> str:
    """Return the name of a field in words: `release_date` is `Release date`."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def find_media(catalogue: OpenCatalogue, record: Record, media: CallerMedia, kind: MediaKind) -> str | None:
    """Return the address of a file of a record on this server; None where it has none."""
    if media.find_file_in(catalogue.name, record.id, kind) is None:
        return None
    return f"{MEDIA_PATH}/{quote(catalogue.name, safe='')}/{kind}/{quote(record.id)}"


def with_signals(hit: Mapping[str, Any], signals: Mapping[str, float]) -> dict[str, Any]:
    """Return a recommended hit with the signals that it was chosen by."""
    return {**hit, "signals": {name: round(value, 4) for name, value in signals.items()}}


def _line(record: Record, spec: CatalogueSpec, fields: Iterable[FieldSpec]) -> str:
    kind = label_of(record.kind) if len(spec.kinds) > 1 else ""
    return BETWEEN_FIELDS.join(
        part for part in (kind, *(short_value(record.get(field.name), field) for field in fields)) if part
    )
