"""A catalogue before anything is asked of it, as the page shows it: title, size, fields, and queries to begin with."""

from collections.abc import Sequence
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, Role
from pinakes.catalogue.telling import telling_fields
from pinakes.model.scope import Scope, Visibility
from pinakes.tools.catalogue import CatalogueView
from pinakes.tools.explore.result_set import find_results, sortable_fields
from pinakes.tools.filters import KIND, filters_of
from pinakes.tools.media import CallerMedia
from pinakes.tools.page.hits import label_of
from pinakes.tools.page.record import filter_of
from pinakes.tools.scopes import shown_scope

SAMPLES = 5
TAGS_SHOWN = 3
NOT_IN_TABLES = (FieldType.JSON, FieldType.URL)
NOT_CELLS = (Role.TITLE, Role.BODY)
MOST_COLUMNS = 12


def describe_catalogue(view: CatalogueView, visibility: Visibility, media: CallerMedia) -> dict[str, Any]:
    """Return a catalogue in short."""
    spec = view.spec
    return {
        "name": view.name,
        "title": spec.title,
        "summary": spec.summary,
        "records": view.reader.count(Scope(visibility=visibility)),
        "kinds": list(spec.kinds),
        "has_map": view.reader.model is not None,
        "has_vectors": view.reader.model is not None,
        "has_audio": media.has_files_of(view.name),
        "samples": sample_queries(view, visibility),
    }


def describe_fields(spec: CatalogueSpec) -> list[dict[str, Any]]:
    """Return the fields that can be shown in a table, filtered by or sorted by, the most telling first."""
    filters, sortable = filters_of(spec), {field.name for field in sortable_fields(spec)}
    kind = [(KIND, filters[KIND])] if KIND in filters else []
    columns = [spec.title_field, *table_columns(spec)]
    named = {field.name for field in columns}
    others = [field for name, field in filters.items() if name != KIND and name not in named]
    return [
        {
            "field": name,
            "label": label_of(name),
            "type": field.type.value,
            "role": field.role.value if field.role else None,
            "filter": filter_of(field),
            "sortable": name in sortable,
        }
        for name, field in (*kind, *((field.name, field) for field in (*columns, *others)))
    ]


def table_columns(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that a table has columns for beside the title, the most telling first."""
    shown = [field for field in spec.fields.values() if field.shown and field.type not in NOT_IN_TABLES]
    telling = [field for field in telling_fields(spec) if field in shown]
    rest = [field for field in shown if field not in telling and field.needs_column and field.role not in NOT_CELLS]
    return [*telling, *rest][:MOST_COLUMNS]


def sample_queries(view: CatalogueView, visibility: Visibility) -> list[str]:
    """Return queries to begin with: declared ones, or frequent tags and the names of the best known records."""
    if view.spec.samples:
        return list(view.spec.samples)
    scope = shown_scope(view, visibility)
    tags = next((one for one in view.spec.column_fields if one.type is FieldType.TAGS and one.facet), None)
    values = [one.value for one in view.reader.facets(tags.name, scope=scope)] if tags else []
    found = find_results(view, "", scope)
    titles = [view.spec.title_of(record) for record, _ in found.read(0, SAMPLES)]
    return list(dict.fromkeys((*_paired(values), *titles)))[:SAMPLES]


def _paired(values: Sequence[str]) -> list[str]:
    """Return frequent values, two by two."""
    return [
        " ".join(pair) for pair in zip(values[0 : 2 * TAGS_SHOWN : 2], values[1 : 2 * TAGS_SHOWN : 2], strict=False)
    ]
