"""A catalogue before anything is asked of it, for pages: its size, its fields, and queries to begin with."""

from collections.abc import Sequence

from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.model.scope import Scope
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.filters import KIND, filters_of
from stackroom.tools.generic.browse_shapes import CatalogueOverview, OverviewField
from stackroom.tools.generic.record import filter_of, table_columns
from stackroom.tools.generic.result_set import count_left_out, list_keys, sortable_fields
from stackroom.tools.media import CallerMedia
from stackroom.tools.record_text import label_of

SAMPLES = 5
TAGS_SHOWN = 3


def describe_catalogue(view: CatalogueView, scope: Scope, media: CallerMedia) -> CatalogueOverview:
    """Return a catalogue in short; `scope` is that of a list without filters."""
    last = view.catalogue.shelf.history().list_changes(limit=1)
    return CatalogueOverview(
        summary=view.spec.summary,
        kinds=list(view.spec.kinds),
        listed=view.reader.count(scope),
        left_out=count_left_out(view, scope),
        has_vectors=view.reader.model is not None,
        has_audio=media.has_files_of(view.name),
        samples=_sample_queries(view, scope),
        changed_at=last[0].at.isoformat() if last else None,
        fields=_describe_fields(view.spec),
    )


def _describe_fields(spec: CatalogueSpec) -> list[OverviewField]:
    filters, sortable = filters_of(spec), {field.name for field in sortable_fields(spec)}
    kind = [(KIND, filters[KIND])] if KIND in filters else []
    columns = [spec.title_field, *table_columns(spec)]
    named = {field.name for field in columns}
    others = [field for name, field in filters.items() if name != KIND and name not in named]
    return [
        OverviewField(
            field=name,
            label=label_of(name),
            type=field.type,
            role=field.role,
            filter=filter_of(field),
            sortable=name in sortable,
        )
        for name, field in (*kind, *((field.name, field) for field in (*columns, *others)))
    ]


def _sample_queries(view: CatalogueView, scope: Scope) -> list[str]:
    """Return queries to begin with: declared ones, or frequent tags and the names of the best known records."""
    if view.spec.samples:
        return list(view.spec.samples)
    tags = next((one for one in view.spec.column_fields if one.type is FieldType.TAGS and one.facet), None)
    values = [one.value for one in view.reader.facets(tags.name, scope=scope)] if tags else []
    titles = [view.spec.title_of(one.record) for one in list_keys(view, scope).page(0, SAMPLES).page]
    return list(dict.fromkeys((*_paired(values), *titles)))[:SAMPLES]


def _paired(values: Sequence[str]) -> list[str]:
    """Return frequent values, two by two."""
    firsts, seconds = values[0 : 2 * TAGS_SHOWN : 2], values[1 : 2 * TAGS_SHOWN : 2]
    return [" ".join(pair) for pair in zip(firsts, seconds, strict=False)]
