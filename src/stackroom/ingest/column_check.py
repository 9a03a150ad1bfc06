"""Detection of fields that stay empty because no row has their column, such as one that was renamed."""

from collections.abc import Iterator, Mapping
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec
from stackroom.ingest.values import has_path

NAMED_COLUMNS = 10


class ColumnCheck:
    """Collects the columns of rows until a column for each field was seen."""

    def __init__(self, spec: CatalogueSpec, *, kind: str | None = None) -> None:
        self._spec = spec
        self._missing = tuple(field for field in spec.fields.values() if kind is None or field.is_of(kind))
        self._columns: dict[str, None] = {}

    def observe(self, row: Mapping[str, Any]) -> None:
        """Record the columns of a row."""
        if self._missing:
            self._columns.update(dict.fromkeys(row))
            self._missing = tuple(
                field for field in self._missing if not any(has_path(row, path) for path in field.source_paths)
            )

    def find_note(self) -> str | None:
        """Return a note on fields without a column and columns without a field, or None if every field has a column."""
        if not self._missing or not self._columns:
            return None
        fields = ", ".join(f"'{field.name}' (from {_named(field)})" for field in self._missing)
        note = f"no row has a column for these fields: {fields}"
        mapped = set(iter_mapped_columns(self._spec))
        free = [f"'{column}'" for column in self._columns if column not in mapped]
        if not free:
            return note
        more = f" and {len(free) - NAMED_COLUMNS} more" if len(free) > NAMED_COLUMNS else ""
        return f"{note}; no field takes these columns: {', '.join(free[:NAMED_COLUMNS])}{more}"


def iter_mapped_columns(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the names of the columns that the fields, the id and the kind are read from."""
    fields = (path for field in spec.fields.values() for path in field.source_paths)
    ids = (part.column for part in spec.id_template)
    for path in (spec.id_path, *ids, spec.kind_path, spec.group_path, *fields):
        yield path
        yield from (name.split(".")[0].removesuffix("[]") for name in path.split())


def _named(field: FieldSpec) -> str:
    return ", ".join(f"'{path}'" for path in field.source_paths)
