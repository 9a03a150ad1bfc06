"""The parts of answers that are for pages.

Of a result set its counts, facets and keys; of a record its fields and relations; of a catalogue what it is in short.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from stackroom.catalogue.labels import label_of
from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.generic.browse import CatalogueOverview, FirstRecord, OverviewField
from stackroom.generic.facets import FacetedSet
from stackroom.generic.record import (
    RankedRecord,
    RecordForm,
    fields_of_relations,
    filter_of,
    find_image,
    list_related,
    shape_fields,
    shape_records,
    shape_tile,
)
from stackroom.generic.record_text import table_columns
from stackroom.generic.result_set import (
    ResultSet,
    add_up,
    count_left_out,
    further_keys,
    list_keys,
    only_view,
    search_keys,
)
from stackroom.generic.shapes import Relation, SearchParams
from stackroom.model.hits import Evidence
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE, Scope
from stackroom.tools.catalogue import CatalogueView, address_of
from stackroom.tools.filters import KIND, filters_of
from stackroom.tools.listing import EVERY, is_list, list_in_scope, sortable_fields
from stackroom.tools.media import CallerMedia, MediaKind
from stackroom.tools.merge import CatalogueScopes
from stackroom.tools.reading import plain_reading

MOST_KEYS = 250_000
MOST_PLAYED, MOST_LOOKED_AT = 50, 2_000


def result_parts(params: SearchParams, scoped: CatalogueScopes, found: ResultSet, media: CallerMedia) -> dict[str, Any]:
    """Return the parts of an answer for pages that are asked for."""
    parts: dict[str, Any] = {}
    if "counts" in params.include:
        left_out = [count_left_out(view, scoped.scopes[name]) for name, view in scoped.views.found.items()]
        parts = {
            "only_orders": found.only_orders,
            "listed": found.listed,
            "left_out": add_up(left_out),
            "by_catalogue": dict(found.by_catalogue),
        }
    if "facets" in params.include:
        view = only_view(scoped.views, "facets")
        faceted = FacetedSet(
            view=view,
            scope=scoped.scopes[view.name],
            query="" if is_list(params.query) or found.only_orders else params.query,
            filters=params.filters or {},
            exclude=params.exclude or {},
        )
        parts["facets"] = faceted.count_facets(only=params.facet, like=params.like)
    if "keys" in params.include:
        parts["keys"] = _keys(params, scoped, found)
    if "playable" in params.include:
        name, keys = only_view(scoped.views, "playable").name, _keys(params, scoped, found)[:MOST_LOOKED_AT]
        bare = (key.removeprefix(f"{name}/") for key in keys[: found.total])
        files = (one for one in bare if media.find_file_in(name, one, MediaKind.AUDIO))
        parts["playable"] = list(islice(files, MOST_PLAYED))
    return parts


def _keys(params: SearchParams, scoped: CatalogueScopes, found: ResultSet) -> list[str]:
    """Return the ids of a whole result set, and after them those of all further records with evidence."""
    view = only_view(scoped.views, "keys")
    scope, query = scoped.scopes[view.name], params.query
    if is_list(query):
        keys = list_in_scope(view, scope, sort=params.sort)
    else:
        reading = replace(plain_reading(query, scope), sort=params.sort)
        listed = search_keys(view, reading, may_order=found.only_orders)
        is_answered = listed.evidence is not Evidence.NONE and not listed.only_orders
        further = further_keys(view, query, scope) if is_answered else []
        keys = list(dict.fromkeys((*listed.keys, *further)))
    return [address_of(view.name, record_id) for record_id in view.reader.ids(keys[:MOST_KEYS])]


def draw_record(view: CatalogueView, record: Record, scope: Scope, media: CallerMedia) -> dict[str, Any]:
    """Return the parts of a record for pages."""
    related = list_related(view, record, scope)
    form = RecordForm(media=media)
    return {
        "tile": shape_tile(view.spec, view.name, record, media),
        "fields": shape_fields(view.catalogue, record, related=fields_of_relations(view, related)),
        "relations": [
            Relation(
                name=some.name,
                results=shape_records([RankedRecord(view=view, record=other) for other in some.records], form),
                total=some.total,
            )
            for some in related
        ],
        "has_vectors": view.reader.model is not None,
        "editable": view.spec.editable,
    }


SAMPLES = 5
LATEST_CHANGES = 100
TAGS_SHOWN = 3


def describe_catalogue(view: CatalogueView, scope: Scope, media: CallerMedia) -> CatalogueOverview:
    """Return a catalogue in short; `scope` is that of a list without filters."""
    first = [one.record for one in list_keys(view, plain_reading(EVERY, scope)).page(0, SAMPLES).page]
    return CatalogueOverview(
        summary=view.spec.summary,
        kinds=list(view.spec.kinds),
        listed=view.reader.count(scope),
        left_out=count_left_out(view, scope),
        has_vectors=view.reader.model is not None,
        has_audio=media.has_audio_of(view.name),
        samples=_sample_queries(view, scope, first),
        first=[
            FirstRecord(title=view.spec.title_of(one), kind=one.kind, image=find_image(view.name, one.id, media))
            for one in first
        ],
        changed_at=_changed_at(view, Scope(visibility=scope.visibility)),
        fields=_describe_fields(view.spec),
    )


def _changed_at(view: CatalogueView, seen: Scope) -> str | None:
    """Return when a record that the caller may see was last changed; None if none of the latest changes was of one."""
    sees_all = view.reader.count(seen) == view.reader.count(WHOLE)
    latest = view.catalogue.shelf.history().list_changes(limit=1 if sees_all else LATEST_CHANGES)
    visible = view.reader.find([change.id for change in latest], scope=seen)
    return next((change.at.isoformat() for change in latest if sees_all or change.id in visible), None)


def _describe_fields(spec: CatalogueSpec) -> list[OverviewField]:
    filters, sortable = filters_of(spec), {field.name for field in sortable_fields(spec)}
    kind = [(KIND, filters[KIND])] if KIND in filters else []
    columns = [spec.title_field, *table_columns(spec)]
    named = {field.name for field in columns}
    others = [field for name, field in filters.items() if name != KIND and name not in named]
    return [
        OverviewField(
            field=name,
            label=spec.labels.get(name) or label_of(name),
            type=field.type,
            role=field.role,
            filter=filter_of(field),
            sortable=name in sortable,
            words={value: said for value in field.values if (said := field.in_words(value)) != value},
        )
        for name, field in (*kind, *((field.name, field) for field in (*columns, *others)))
    ]


def _sample_queries(view: CatalogueView, scope: Scope, first: Sequence[Record]) -> list[str]:
    """Return queries to begin with: declared ones, or frequent tags and the names of the best known records."""
    if view.spec.samples:
        return list(view.spec.samples)
    tags = next((field for field in view.spec.column_fields if field.type is FieldType.TAGS and field.facet), None)
    values = [facet.value for facet in view.reader.facets(tags.name, scope=scope)] if tags else []
    return list(dict.fromkeys((*_paired(values), *map(view.spec.title_of, first))))[:SAMPLES]


def _paired(values: Sequence[str]) -> list[str]:
    """Return frequent values, two by two."""
    firsts, seconds = values[0 : 2 * TAGS_SHOWN : 2], values[1 : 2 * TAGS_SHOWN : 2]
    return [" ".join(pair) for pair in zip(firsts, seconds, strict=False)]
