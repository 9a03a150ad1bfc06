"""Fields as callers spell them: another case, the singular of a list, `title` or `name` for the title."""

from collections.abc import Mapping
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec, FieldType
from pinakes.ingest.edits.relations import relations_of
from pinakes.text.spelling import meant

LISTS = (FieldType.TEXTS, FieldType.TAGS)
TITLES = ("title", "name")


def spelt_fields(given: Mapping[str, Any], kind: str, spec: CatalogueSpec) -> dict[str, Any]:
    """Return the given values by the names of the kind's fields; a name that means none, or one given too, stays."""
    own = [field.name for field in spec.fields.values() if field.is_of(kind)]
    spelt: dict[str, Any] = {}
    for name, value in given.items():
        field = _field_meant(name, own, spec)
        if field in given and field != name:
            field = name
        spelt[field] = _as_list(value, name, field, kind, spec) if field in own else value
    return spelt


def _field_meant(name: str, own: list[str], spec: CatalogueSpec) -> str:
    """Return the field that a name means."""
    found = meant(name, own)
    if found in own:
        return found
    plural = meant(f"{name}s", own)
    if plural in own and spec.fields[plural].type in LISTS:
        return plural
    return spec.title_field.name if name.lower() in TITLES else name


def _as_list(value: Any, name: str, field: str, kind: str, spec: CatalogueSpec) -> Any:
    """Return a value as the field holds it: one text given for a list, where one may be meant, and the reverse."""
    related = {one for relation in relations_of(kind, spec) for one in (relation.field, relation.copies)}
    is_list = spec.fields[field].type in LISTS
    if is_list and isinstance(value, str) and (field in related or name != field):
        return [value]
    if not is_list and field in related and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value
