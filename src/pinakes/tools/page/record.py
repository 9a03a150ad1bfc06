"""One record as the page shows it: its fields by role, its relations, where it is from, and how it may be edited."""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from pinakes.catalogue.codec import plain_record
from pinakes.catalogue.spec import FieldSpec, FieldType, FilterKind, texts_of
from pinakes.errors import NotFoundError
from pinakes.model.principal import Principal
from pinakes.model.record import Record
from pinakes.model.scope import Scope
from pinakes.search.conditions import is_adult
from pinakes.tools.catalogue import CatalogueView, OpenCatalogue
from pinakes.tools.edits.tool import EDIT_TOOL
from pinakes.tools.media import CallerMedia
from pinakes.tools.page.hits import label_of, shape_hit
from pinakes.tools.page.related import RelatedRecords, fields_of_relations, list_related
from pinakes.tools.provenance import find_place
from pinakes.tools.record_text import has_value, short_value, with_unit
from pinakes.tools.resources.records import address_of
from pinakes.tools.scopes import shown_scope
from pinakes.tools.spec import ToolSpec

SIMILAR_SHOWN = 8


def show_record(
    catalogue: OpenCatalogue, tools: Iterable[ToolSpec], principal: Principal, media: CallerMedia, stated: str
) -> dict[str, Any]:
    """Return a record with its relations; raise NotFoundError where there is none that the caller may see."""
    view, scope = catalogue.view(), Scope(visibility=principal.visibility)
    record = require_shown(view, stated, scope)
    related = list_related(view, record, scope)
    return {
        "hit": shape_hit(catalogue, record, media),
        "fields": _fields(view, record, left_out=fields_of_relations(view, related)),
        "relations": [_relation(catalogue, one, media) for one in related],
        "origin": find_place(catalogue, record),
        "has_vectors": view.reader.model is not None,
        "edit": _edit_form(catalogue, record, tools),
        "call": {"name": "fetch", "arguments": {"id": address_of(catalogue.name, record.id)}},
    }


def show_similar(
    catalogue: OpenCatalogue, principal: Principal, media: CallerMedia, stated: str, *, limit: int = SIMILAR_SHOWN
) -> dict[str, Any]:
    """Return the records nearest in meaning to one; none where it has no vector, adult ones only for an adult one."""
    view, scope = catalogue.view(), Scope(visibility=principal.visibility)
    record = require_shown(view, stated, scope)
    reader, call = view.reader, {"id": address_of(catalogue.name, record.id), "limit": limit}
    vectors = reader.vectors(list(reader.find([record.id], scope=scope).values()))
    hits: list[dict[str, Any]] = []
    within = scope if is_adult(record, view.spec) else shown_scope(view, principal.visibility)
    if reader.model is not None and np.any(vectors):
        (ranking,) = reader.nearest(vectors, scope=within, limit=limit + 1)
        records = reader.fetch(ranking.keys.tolist(), scope=scope)
        near = [(records[one.key], one.score) for one in ranking.best if one.key in records]
        hits = [
            {**shape_hit(catalogue, other, media), "score": round(score, 4)}
            for other, score in near
            if other.id != record.id
        ]
    return {"hits": hits[:limit], "call": {"name": "similar", "arguments": call}}


def require_shown(view: CatalogueView, stated: str, scope: Scope) -> Record:
    """Return the record of an id that the caller may see."""
    record = view.find_stated(stated, scope=scope)
    if record is None:
        raise NotFoundError(view.describe_id(stated, scope=scope))
    return record


def _fields(view: CatalogueView, record: Record, *, left_out: Collection[str]) -> list[dict[str, Any]]:
    plain = plain_record(record, view.spec)
    return [
        {
            "field": field.name,
            "label": label_of(field.name),
            "role": field.role,
            "type": field.type,
            "filter": filter_of(field),
            "value": plain.get(field.name),
            "text": _text(record, field),
        }
        for field in view.spec.fields.values()
        if field.shown and has_value(record, field) and field.name not in left_out
    ]


def _text(record: Record, field: FieldSpec) -> str:
    value = record.get(field.name)
    return short_value(value, field) if field.is_numeric else with_unit(", ".join(texts_of(value)), field)


def filter_of(field: FieldSpec) -> str | None:
    """Return how the page filters by a field: by values, by a range, or not at all."""
    if field.filter is None:
        return None
    return "range" if field.filter is FilterKind.RANGE else "values"


def _relation(catalogue: OpenCatalogue, related: RelatedRecords, media: CallerMedia) -> dict[str, Any]:
    hits = [shape_hit(catalogue, one, media) for one in related.records]
    return {"name": related.name, "hits": hits, "total": related.total}


def _edit_form(catalogue: OpenCatalogue, record: Record, tools: Iterable[ToolSpec]) -> dict[str, Any] | None:
    """Return the call that edits a record, and its fields with their values now; None where the caller may not."""
    tool = next((tool for tool in tools if tool.name == EDIT_TOOL), None)
    if tool is None or not catalogue.spec.editable:
        return None
    named = {"catalogue": catalogue.name} if "catalogue" in tool.params.model_fields else {}
    plain = plain_record(record, catalogue.spec)
    by_name = {relation.field for relation in catalogue.spec.relations if relation.copies}
    return {
        "name": tool.name,
        "arguments": {**named, "id": record.id, "kind": record.kind},
        "fields": [
            _edited(field, plain.get(field.name))
            for field in catalogue.spec.fields.values()
            if field.shown and field.is_of(record.kind) and field.type is not FieldType.JSON
            if field.name not in by_name
        ],
    }


def _edited(field: FieldSpec, value: Any) -> dict[str, Any]:
    return {
        "field": field.name,
        "label": label_of(field.name),
        "type": field.type,
        "role": field.role,
        "required": field.required,
        "values": list(field.values),
        "description": field.description,
        "value": value,
    }
