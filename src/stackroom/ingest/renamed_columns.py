"""Columns that a table lost since its catalogue was built: renamed ones are recognised by their
values.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

import tomlkit
from tomlkit.items import Table

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, texts_of
from stackroom.errors import InputError
from stackroom.ingest.mapping import iter_mapped_columns
from stackroom.ingest.values import READERS, has_path, value_at
from stackroom.library import Installed
from stackroom.model.scope import WHOLE
from stackroom.shelf.opening import SpecLibrary
from stackroom.sources.port import RowSource
from stackroom.text.cells.values import is_nothing

COMPARED = 500
LEAST_ALIKE = 0.8  # the share of a column's values that the field has as well
Rows = Sequence[Mapping[str, Any]]


def find_renamed_columns(
    library: SpecLibrary, source: RowSource, place: Installed, spec: CatalogueSpec
) -> dict[str, str]:
    """Return the fields whose column a table no longer has, with its new name, if the table is the
    only source of a catalogue.
    """
    is_only = source.is_whole and place.sources == (source.name,) and place.is_complete
    rows = (
        [row.values for row in islice(source.iter_rows(), COMPARED) if not row.problem]
        if is_only
        else []
    )
    lost = [
        field
        for field in spec.fields.values()
        if rows
        and not field.template
        and not field.marked
        and field.role is not FieldRole.TITLE  # which may make ids
        and not any(has_path(row, field.source_path) for row in rows)
    ]
    if not lost:
        return {}
    mapped = set(iter_mapped_columns(spec))
    free = [
        column
        for column in dict.fromkeys(name for row in rows for name in row)
        if column not in mapped
    ]
    with closing(library.open_shelf(place)) as shelf:
        reader = shelf.reader()
        records = reader.fetch(reader.scan(scope=WHOLE, limit=COMPARED), scope=WHOLE).values()
        known = {
            field.name: {text for one in records for text in texts_of(one.get(field.name))}
            for field in lost
        }
    renamed: dict[str, str] = {}
    for field in lost:
        alike = {column: _share_of_known(column, rows, field, known[field.name]) for column in free}
        best = max(alike, key=lambda column: alike[column], default=None)
        if best is not None and alike[best] >= LEAST_ALIKE:
            renamed[field.name] = best
            free.remove(best)
    return renamed


def _share_of_known(column: str, rows: Rows, field: FieldSpec, known: set[str]) -> float:
    """Return the share of a column's values that a field has had."""
    cells = [cell for row in rows if not is_nothing(cell := value_at(row, column))]
    try:
        texts = [text for cell in cells for text in texts_of(READERS[field.type](cell, field))]
    except InputError:
        return 0.0
    return sum(text in known for text in texts) / len(texts) if texts else 0.0


def with_columns(loaded: LoadedSpec, columns: Mapping[str, str]) -> LoadedSpec:
    """Return a spec with fields that are read from other columns; comments and order are kept."""
    document: Any = tomlkit.parse(loaded.declaration)
    for name, column in columns.items():
        field = document["fields"][name]
        after = _take_comments(field)
        field["path"] = column
        _innermost(field).extend(after)
    return LoadedSpec.of(tomlkit.dumps(document), origin="the catalogue's spec")


def _take_comments(table: Any) -> list[Any]:
    """Take the comments and blank lines from the end of a table, which are about what follows."""
    body = _innermost(table)
    taken: list[Any] = []
    while body and body[-1][0] is None:
        taken.insert(0, body.pop())
    return taken


def _innermost(table: Any) -> list[Any]:
    """Return the keys and values of a table, or of the last table in it; empty for one in a single
    line.
    """
    body: list[Any] = table.value.body if isinstance(table, Table) else []
    return _innermost(body[-1][1]) if body and isinstance(body[-1][1], Table) else body
