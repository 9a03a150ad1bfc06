"""A result set of one catalogue, or of all, in the form that the page reads."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from pinakes.model.hits import Evidence, describe_degraded
from pinakes.model.principal import Principal
from pinakes.model.record import Record
from pinakes.model.scope import Scope
from pinakes.tools.catalogue import CatalogueView, OpenCatalogue, ask_each, unread_notes
from pinakes.tools.explore.call import find_call
from pinakes.tools.explore.facets import FacetedSet
from pinakes.tools.explore.overview import describe_catalogue, describe_fields, table_columns
from pinakes.tools.explore.request import MOST_HITS, Explored
from pinakes.tools.explore.result_set import ResultSet, find_further, find_results
from pinakes.tools.explore.understood import UnderstoodQuery, understand_query
from pinakes.tools.filters import includes_adult, parse_exclusions, parse_filters, require_excludable
from pinakes.tools.media import CallerMedia
from pinakes.tools.merge import search_scopes
from pinakes.tools.page.hits import shape_field, shape_hit
from pinakes.tools.resources.records import address_of
from pinakes.tools.scopes import Asked, scope_each, scope_of
from pinakes.tools.spec import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The caller who reads a page, and the files of records that they may see."""

    principal: Principal
    media: CallerMedia
    tools: Sequence[ToolSpec] = ()
    """The tools that they may call."""


def explore_catalogue(catalogue: OpenCatalogue, asked: Explored, reader: Reader) -> dict[str, Any]:
    """Return the parts of a result set that are asked for."""
    view, visibility = catalogue.view(), reader.principal.visibility
    understood = understand_query(view, asked, Scope(visibility=visibility))
    scope, notes = scope_of(view, _asked(view, understood, reader.principal))
    about = {
        "query": understood.query,
        "filters": dict(understood.filters),
        "exclude": dict(understood.exclude),
        "sort": asked.sort,
        "understood": [one.plain() for one in understood.understood],
        "call": find_call(reader.tools, view.name, understood, limit=asked.limit),
    }
    parts = [part(view, understood, scope, asked, reader) for name, part in _PARTS.items() if name in asked.parts]
    whole = {key: value for one in parts for key, value in one.items()}
    return {**about, **whole, "notes": [*understood.notes, *notes, *whole.get("notes", ())]}


def search_everywhere(
    catalogues: Sequence[OpenCatalogue], asked: Explored, reader: Reader, *, pool: Executor | None = None
) -> dict[str, Any]:
    """Return the hits of all catalogues, merged by how well they answer, and how many each of them has."""
    views = ask_each({one.name: one for one in catalogues}, OpenCatalogue.view)
    query, limit = asked.query, min(asked.limit, MOST_HITS)
    scoped = scope_each(views, Asked(query=query, visibility=reader.principal.visibility))
    found = search_scopes(scoped.views, scoped.scopes, query, limit=max(limit, 10), pool=pool)
    return {
        "query": query,
        "evidence": found.evidence,
        "total": found.total_matches,
        "catalogues": [
            {"name": name, "title": scoped.views.found[name].spec.title, "total": page.total_matches}
            for name, page in found.pages.items()
        ],
        "hits": [
            shape_hit(item.view.catalogue, item.hit.record, reader.media, strength=item.hit.score)
            for item in found.first(limit)
        ],
        "notes": unread_notes(found.unread),
        "call": find_call(reader.tools, None, UnderstoodQuery(query=query, filters={}, exclude={}), limit=limit),
    }


def list_overviews(catalogues: Sequence[OpenCatalogue], reader: Reader) -> list[dict[str, Any]]:
    """Return every catalogue in short; one that cannot be read is left out."""
    views = ask_each({one.name: one for one in catalogues}, OpenCatalogue.view)
    overviews = ask_each(views.found, lambda view: _overview(view, reader))
    return list(overviews.found.values())


def _overview(view: CatalogueView, reader: Reader) -> dict[str, Any]:
    last = view.catalogue.shelf.history().list_changes(limit=1)
    changed_at = last[0].at.isoformat() if last else None
    return {**describe_catalogue(view, reader.principal.visibility, reader.media), "changed_at": changed_at}


def _asked(view: CatalogueView, understood: UnderstoodQuery, principal: Principal) -> Asked:
    filters, exclude = understood.filters, understood.exclude
    require_excludable(exclude, [view.spec])
    return Asked(
        query=understood.query,
        visibility=principal.visibility,
        conditions=lambda spec: [*parse_filters(filters, spec), *parse_exclusions(exclude, spec)],
        with_adult=lambda spec: includes_adult(filters, spec),
    )


def _hits_part(
    view: CatalogueView, understood: UnderstoodQuery, scope: Scope, asked: Explored, reader: Reader
) -> dict[str, Any]:
    end = asked.start + asked.limit
    found = find_results(view, understood.query, scope, sort=asked.sort, reach=end, only_orders=understood.only_orders)
    hits = [_hit(found, record, strength, asked, reader) for record, strength in found.read(asked.start, asked.limit)]
    return {
        "evidence": found.evidence if understood.query else None,
        "only_orders": understood.only_orders and found.evidence is Evidence.NONE,
        "total": found.total,
        "listed": found.listed,
        "has_more": found.listed > end,
        "cursor": str(end) if found.listed > end else None,
        "hits": hits,
        "notes": [describe_degraded(found.degraded)] if found.degraded else [],
    }


def _hit(found: ResultSet, record: Record, strength: float | None, asked: Explored, reader: Reader) -> dict[str, Any]:
    hit = shape_hit(found.view.catalogue, record, reader.media, strength=strength)
    if not asked.has_cells:
        return hit
    columns = table_columns(found.view.spec)
    return {**hit, "cells": {field.name: shape_field(record, field)["value"] for field in columns}}


def _catalogue_part(
    view: CatalogueView, _understood: UnderstoodQuery, _scope: Scope, _asked: Explored, reader: Reader
) -> dict[str, Any]:
    overview = describe_catalogue(view, reader.principal.visibility, reader.media)
    return {"catalogue": {**overview, "fields": describe_fields(view.spec)}}


def _facets_part(
    view: CatalogueView, understood: UnderstoodQuery, scope: Scope, asked: Explored, _reader: Reader
) -> dict[str, Any]:
    faceted = FacetedSet(view, understood, scope)
    return {"facets": faceted.count_facets(only=asked.facet, like=asked.like), "counted": len(faceted.keys)}


def _keys_part(
    view: CatalogueView, understood: UnderstoodQuery, scope: Scope, asked: Explored, _reader: Reader
) -> dict[str, Any]:
    found = find_results(view, understood.query, scope, sort=asked.sort, only_orders=understood.only_orders)
    is_answered = understood.query and found.evidence is not Evidence.NONE
    further = find_further(view, understood.query, scope) if is_answered else []
    keys = list(dict.fromkeys((*found.keys, *further)))[: asked.limit]
    return {"keys": [address_of(view.name, one) for one in view.reader.ids(keys)], "total": found.total}


_PARTS = {"catalogue": _catalogue_part, "hits": _hits_part, "facets": _facets_part, "keys": _keys_part}
