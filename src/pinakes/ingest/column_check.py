"""Which fields get nothing because no row has their column: a column that was renamed, or left out of a file."""

from collections.abc import Iterator, Mapping
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.ingest.paths import has_path

NAMED_COLUMNS = 10


class ColumnCheck:
    """Looks at rows whose fields stand where the spec says, until each field's column was seen."""

    def __init__(self, spec: CatalogueSpec, *, kind: str | None = None) -> None:
        self._spec = spec
        self._missing = tuple(field for field in spec.fields.values() if kind is None or field.is_of(kind))
        self._columns: dict[str, None] = {}

    def look_at(self, row: Mapping[str, Any]) -> None:
        """Note what a row has."""
        if self._missing:
            self._columns.update(dict.fromkeys(row))
            self._missing = tuple(field for field in self._missing if not has_path(row, field.source_path))

    def find_note(self) -> str | None:
        """Return which fields no row had a column for, and which columns no field takes; None where all is well."""
        if not self._missing or not self._columns:
            return None
        fields = ", ".join(f"'{field.name}' (from '{field.source_path}')" for field in self._missing)
        note = f"no row has a column for these fields: {fields}"
        taken = set(self._iter_taken())
        free = [f"'{column}'" for column in self._columns if column not in taken]
        if not free:
            return note
        more = f" and {len(free) - NAMED_COLUMNS} more" if len(free) > NAMED_COLUMNS else ""
        return f"{note}; no field takes these columns: {', '.join(free[:NAMED_COLUMNS])}{more}"

    def _iter_taken(self) -> Iterator[str]:
        """Yield the names of the columns that the fields, the id and the kind are read from."""
        for path in (
            self._spec.id_path,
            self._spec.kind_path,
            *(field.source_path for field in self._spec.fields.values()),
        ):
            yield path
            yield from (name.split(".")[0].removesuffix("[]") for name in path.split())
