"""Columns that a table lost since its catalogue was built: renamed ones are recognised by their values.

The spec of a catalogue with one source is changed accordingly: a field is read from the column's new name, and one
whose column is gone goes as well, unless another part of the spec needs it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import orjson

from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, texts_of
from stackroom.errors import InputError, SpecError
from stackroom.ingest.column_check import iter_mapped_columns
from stackroom.ingest.values import READERS, has_path, value_at
from stackroom.library import Installed
from stackroom.model.scope import WHOLE
from stackroom.sources.port import RowSource
from stackroom.text.cells.values import is_nothing

COMPARED = 500
"""How many rows and records are compared."""
LEAST_ALIKE = 0.8
"""The share of a column's values that the field has as well."""
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostColumns:
    """The fields whose column a table no longer has: the new name of each that was renamed, and those that are gone."""

    renamed: Mapping[str, str]
    gone: Sequence[str]

    def adapt(self, loaded: LoadedSpec) -> LoadedSpec:
        """Return the spec with the new names, and without the fields that are gone and not needed."""
        adapted = loaded
        for name, column in self.renamed.items():
            adapted = _changed(adapted, name, partial(_with_path, column))
        for name in self.gone:
            try:
                adapted = _changed(adapted, name, lambda _block: "")
            except SpecError:
                continue
        return adapted


def find_lost_columns(workshop: Workshop, source: RowSource, place: Installed, spec: CatalogueSpec) -> LostColumns:
    """Return what became of the columns that a catalogue's fields are read from, if a table is its only source."""
    is_only = source.is_whole and place.sources == (source.name,) and place.is_complete
    rows = [row.values for row in islice(source.iter_rows(), COMPARED) if not row.problem] if is_only else []
    lost = [field for field in spec.fields.values() if rows and _is_lost(field, rows)]
    if not lost:
        return LostColumns(renamed={}, gone=())
    mapped = set(iter_mapped_columns(spec))
    free = [column for column in dict.fromkeys(name for row in rows for name in row) if column not in mapped]
    with closing(workshop.open_shelf(place)) as shelf:
        reader = shelf.reader()
        records = reader.fetch(reader.scan(scope=WHOLE, limit=COMPARED), scope=WHOLE).values()
        known = {field.name: {text for one in records for text in texts_of(one.get(field.name))} for field in lost}
    renamed: dict[str, str] = {}
    for field in lost:
        alike = {column: _share_of_known(column, rows, field, known[field.name]) for column in free}
        best = max(alike, key=lambda column: alike[column], default=None)
        if best is not None and alike[best] >= LEAST_ALIKE:
            renamed[field.name] = best
            free.remove(best)
    gone = [field.name for field in lost if field.name not in renamed and not field.role]
    return LostColumns(renamed=renamed, gone=gone)


def _is_lost(field: FieldSpec, rows: Rows) -> bool:
    """Tell whether no row has the one column that a field is read from; that of a title may make ids, and stays."""
    is_single = not field.template and not field.marked and field.role is not FieldRole.TITLE
    return is_single and not any(has_path(row, field.source_path) for row in rows)


def _share_of_known(column: str, rows: Rows, field: FieldSpec, known: set[str]) -> float:
    """Return the share of a column's values that a field has had."""
    cells = [cell for row in rows if not is_nothing(cell := value_at(row, column))]
    try:
        texts = [text for cell in cells for text in texts_of(READERS[field.type](cell, field))]
    except InputError:
        return 0.0
    return sum(text in known for text in texts) / len(texts) if texts else 0.0


def _changed(loaded: LoadedSpec, name: str, change: Callable[[str], str]) -> LoadedSpec:
    """Return a spec with the table of one field changed."""
    block = re.compile(rf"(?:^#[^\n]*\n)?^\[fields\.{name}\]\n(?:(?!\[|#).*\n?)*", re.MULTILINE)
    text = block.sub(lambda found: change(found[0]), loaded.declaration, count=1)
    text = text if f"[fields.{name}]" in text else text.replace(f". {{{name}}}", "")
    return LoadedSpec(spec=compile_text(text, origin="the catalogue's spec"), declaration=text)


def _with_path(column: str, block: str) -> str:
    header, _, rest = block.partition("]\n")
    kept = "".join(line for line in rest.splitlines(keepends=True) if not line.startswith("path = "))
    return f"{header}]\npath = {orjson.dumps(column).decode()}\n{kept}"
