"""The parts of answers that are for pages.

Of a result set its counts, facets and keys; of a catalogue what it is in short.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.generic.browse import BrowsedCatalogue, CatalogueOverview, FirstRecord, OverviewField
from stackroom.generic.facets import FacetedSet
from stackroom.generic.record import describe_field, find_image, table_columns
from stackroom.generic.result_set import ResultSet, count_left_out, list_ids, list_keys, only_view
from stackroom.generic.shapes import SearchParams
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE, Scope
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.filters import KIND, filters_of
from stackroom.tools.listing import EVERY, is_list, sortable_fields
from stackroom.tools.media import CallerMedia, MediaKind
from stackroom.tools.merge import CatalogueScopes
from stackroom.tools.reading import plain_reading

MOST_PLAYED, MOST_LOOKED_AT = 50, 2_000


def result_parts(params: SearchParams, scoped: CatalogueScopes, found: ResultSet, media: CallerMedia) -> dict[str, Any]:
    """Return the parts of an answer for pages that are asked for."""
    parts: dict[str, Any] = {}
    if "counts" in params.include:
        parts = {
            "only_orders": found.only_orders,
            "listed": found.listed,
            "left_out": count_left_out(scoped.views.found, scoped.scopes),
            "by_catalogue": dict(found.by_catalogue),
        }
    if "facets" in params.include:
        view = only_view(scoped.views, "facets")
        query = "" if is_list(params.query) or found.only_orders else params.query
        faceted = FacetedSet(view=view, scope=scoped.scopes[view.name], query=query, params=params)
        parts["facets"] = faceted.count_facets()
    if "keys" in params.include:
        view = only_view(scoped.views, "keys")
        parts["keys"] = list_ids(view, scoped.scopes[view.name], params, found)
    if "playable" in params.include:
        view = only_view(scoped.views, "playable")
        ids = list_ids(view, scoped.scopes[view.name], params, found)[:MOST_LOOKED_AT]
        bare = (one.removeprefix(f"{view.name}/") for one in ids[: found.total])
        files = (one for one in bare if media.find_file_in(view.name, one, MediaKind.AUDIO))
        parts["playable"] = list(islice(files, MOST_PLAYED))
    return parts


SAMPLES = 5
LATEST_CHANGES = 100
TAGS_SHOWN = 3


def describe_catalogue(view: CatalogueView, scope: Scope, media: CallerMedia) -> BrowsedCatalogue:
    """Return a catalogue in short; `scope` is that of a list without filters."""
    first = [one.record for one in list_keys(view, plain_reading(EVERY, scope)).page(0, SAMPLES).page]
    title_of, seen = view.spec.title_of, Scope(visibility=scope.visibility)
    overview = CatalogueOverview(
        summary=view.spec.summary,
        kinds=list(view.spec.kinds),
        listed=view.reader.count(scope),
        left_out=count_left_out({view.name: view}, {view.name: scope}),
        has_vectors=view.reader.model is not None,
        has_audio=media.has_audio_of(view.name),
        samples=_sample_queries(view, scope, first),
        first=[
            FirstRecord(title=title_of(one), kind=one.kind, image=find_image(view.name, one.id, media)) for one in first
        ],
        changed_at=_changed_at(view, seen),
        fields=_describe_fields(view.spec),
    )
    return BrowsedCatalogue(
        name=view.name, title=view.spec.title, records=view.reader.count(seen), fields=[], overview=overview
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
            **describe_field(spec, name, field),
            sortable=name in sortable,
            words={value: said for value in field.values if (said := field.in_words(value)) != value},
        )
        for name, field in (*kind, *((field.name, field) for field in (*columns, *others)))
    ]


def _sample_queries(view: CatalogueView, scope: Scope, first: Sequence[Record]) -> list[str]:
    """Return queries to begin with: declared ones, or frequent tags in pairs and names of the best known records."""
    if view.spec.samples:
        return list(view.spec.samples)
    tags = next((field for field in view.spec.column_fields if field.type is FieldType.TAGS and field.facet), None)
    facets = view.reader.facets(tags.name, scope=scope) if tags else []
    pairs = zip(facets[0 : 2 * TAGS_SHOWN : 2], facets[1 : 2 * TAGS_SHOWN : 2], strict=False)
    paired = [f"{one.value} {other.value}" for one, other in pairs]
    return list(dict.fromkeys((*paired, *map(view.spec.title_of, first))))[:SAMPLES]
