"""Columns of a source that changed since the spec of its catalogue was made: new ones, missing ones, other types.

    CATALOGUES/NAME/columns.json    source → its columns → the type that each had when the source was last added

The first rows are compared with the spec, and with that file: a column that had no field then was left out by choice.
A catalogue without the file is compared with the spec alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter

from stackroom.catalogue.compiler import ROLE_TYPES, LoadedSpec, compile_text
from stackroom.catalogue.infer.declare import infer_declaration
from stackroom.catalogue.infer.fields import InferredField
from stackroom.catalogue.infer.toml import field_in_toml
from stackroom.catalogue.infer.words import catalogue_name
from stackroom.catalogue.profile import profile_columns
from stackroom.catalogue.spec import NUMERIC_TYPES, CatalogueSpec, FieldSpec, FieldType
from stackroom.checksums import dump_checked, load_checked
from stackroom.errors import InputError, SpecError
from stackroom.ingest.column_check import iter_mapped_columns
from stackroom.ingest.mapping import RowMapping, mapping_of_source
from stackroom.ingest.values import flattened_rows, has_path
from stackroom.library import COLUMNS_FILE, replace_file
from stackroom.sources.port import RowSource, id_column_of

COMPARED_ROWS = 2_000
ADVICE = "to take them into the spec: add again with --adopt"
UNREAD_SHARE = 0.2
"""The share of a column's cells that cannot be read as the spec says, from which on it is of another type."""

KEPT: TypeAdapter[dict[str, dict[str, str]]] = TypeAdapter(dict[str, dict[str, str]])
Columns = Mapping[str, str]
"""Column → the type that is inferred for it; empty where it would be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retyped:
    """A field whose column is of another type now."""

    field: FieldSpec
    now: InferredField


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChanges:
    """The differences between the columns of a source and the spec that it is read by."""

    new: tuple[InferredField, ...] = ()
    gone: tuple[str, ...] = ()
    """The columns that fields and ids are read from and no row has."""
    retyped: tuple[Retyped, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self.new or self.gone or self.retyped)

    @property
    def can_be_adopted(self) -> bool:
        """Whether there is anything that a spec can take up."""
        return bool(self.new or self.retyped)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on what is new or of another type; columns that are gone are noted when the rows are read."""
        lines = list(replace(self, gone=()).describe())
        return ("; ".join([*lines, ADVICE]),) if lines else ()

    def describe(self) -> Iterator[str]:
        """Yield a sentence per kind of change."""
        if self.new:
            yield "new columns: " + ", ".join(f"'{one.column}' ({one.type})" for one in self.new)
        if self.gone:
            yield "columns that are gone: " + ", ".join(f"'{column}'" for column in self.gone)
        for one in self.retyped:
            yield f"'{one.now.column}' was {one.field.type}, and is {one.now.type} now"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSource:
    """The first rows of a source, beside the spec of its catalogue."""

    changes: ColumnChanges
    columns: Columns

    def undecided(self, known: Columns) -> Columns:
        """Return the columns to remember where nobody has decided on the changes: they are changes next time too."""
        new = {field.column for field in self.changes.new}
        return {column: known.get(column, kind) for column, kind in self.columns.items() if column not in new}


def compare_columns(
    source: RowSource, loaded: LoadedSpec, mapping: RowMapping, *, known: Columns | None
) -> ComparedSource:
    """Compare the first rows of a source with a spec; `known` are its columns as it was last added, if they are known.

    Where the kind of each row is its own, and so are its columns, nothing is compared.
    """
    mapping = mapping_of_source(mapping, loaded.spec, source.name)
    raw = [row.values for row in islice(source.iter_rows(), COMPARED_ROWS) if not row.problem]
    rows = flattened_rows(raw)
    present = list(dict.fromkeys(column for row in rows for column in row))
    fields = {field.column: field for field in _inferred(rows, loaded.spec.name, id_column_of(source))}
    own = [one for one in loaded.spec.fields.values() if mapping.kind is None or one.is_of(mapping.kind)]
    is_mixed = mapping.kind is None and len(loaded.spec.kinds) > 1
    changes = (
        ColumnChanges()
        if is_mixed
        else ColumnChanges(
            new=tuple(_iter_new(fields.values(), loaded.spec, known or {})),
            gone=tuple(_iter_gone(raw, loaded.spec, own, known)),
            retyped=tuple(_iter_retyped(raw, fields, own, mapping, known)),
        )
    )
    return ComparedSource(
        changes=changes,
        columns={column: str(fields[column].type) if column in fields else "" for column in present},
    )


def note_changes(source: RowSource, loaded: LoadedSpec, mapping: RowMapping, folder: Path) -> tuple[str, ...]:
    """Return a note on the columns that changed since a source was last added; none where that is not known."""
    known = load_columns(folder, source.name) if source.is_whole else None
    if known is None:
        return ()
    return compare_columns(source, loaded, mapping, known=known).changes.notes


def adopt(loaded: LoadedSpec, changes: ColumnChanges) -> LoadedSpec:
    """Return a spec with fields for the new columns, and the types that columns have now; the rest stays as it is."""
    text = loaded.declaration
    _require_free(loaded.spec, changes.retyped)
    for one in changes.retyped:
        text = _with_field(text, one.field, replace(one.now, name=one.field.name, role=_fitting_role(one)))
    taken, roles = set(loaded.spec.fields), {field.role for field in loaded.spec.fields.values()}
    for new in changes.new:
        name = next(name for name in _free_names(new.name) if name not in taken)
        role = new.role if new.role not in roles else None
        taken.add(name)
        roles.add(role)
        text = f"{text.rstrip()}\n\n{field_in_toml(replace(new, name=name, role=role))}\n"
    try:
        return LoadedSpec(spec=compile_text(text, origin="the spec with the changed columns"), declaration=text)
    except SpecError as error:
        raise InputError(f"{error.message}; change the spec by hand: stackroom spec show {loaded.spec.name}") from error


def _require_free(spec: CatalogueSpec, retyped: Sequence[Retyped]) -> None:
    """Refuse to make a text of a number that recommendations count with."""
    counted = {spec.recommend.temporal.field, spec.recommend.popularity.field} if spec.recommend else set()
    for one in retyped:
        if one.field.name in counted and one.now.type not in NUMERIC_TYPES:
            raise InputError(
                f"'{one.field.name}' is {one.now.type} now, and [recommend] needs a number; "
                f"change the spec by hand: stackroom spec show {spec.name}"
            )


def load_columns(folder: Path, source: str) -> Columns | None:
    """Return the columns of a source as it was last added to the catalogue in this folder; None where that is lost.

    For a source that is added for the first time, such as this year's export, the columns of all others are known.
    """
    kept = _load(folder)
    return kept.get(source) or {column: kind for one in kept.values() for column, kind in one.items()} or None


def save_columns(folder: Path, source: str, columns: Columns) -> None:
    """Note the columns of a source."""
    kept = _load(folder)
    if kept.get(source) != columns:
        replace_file(folder / COLUMNS_FILE, dump_checked({**kept, source: columns}, option=orjson.OPT_INDENT_2))


def _load(folder: Path) -> dict[str, dict[str, str]]:
    with suppress(OSError, ValueError):
        return KEPT.validate_python(load_checked((folder / COLUMNS_FILE).read_bytes(), None))
    return {}


def _inferred(rows: Sequence[Mapping[str, Any]], name: str, id_column: str | None) -> Sequence[InferredField]:
    """Return the fields of a fresh proposal that are each read from one column."""
    try:
        fields = infer_declaration(profile_columns(rows), name=catalogue_name(name), id_column=id_column).fields
    except InputError:
        return ()
    return [field for field in fields if not field.template]


def _iter_new(fields: Iterable[InferredField], spec: CatalogueSpec, known: Columns) -> Iterator[InferredField]:
    mapped = set(iter_mapped_columns(spec))
    for field in fields:
        if field.column not in known and not mapped & {field.column, field.column.partition(".")[0]}:
            yield field


def _iter_gone(
    rows: Sequence[Mapping[str, Any]], spec: CatalogueSpec, fields: Sequence[FieldSpec], known: Columns | None
) -> Iterator[str]:
    """Yield the paths that no row has; of rows that differ in their columns, only those that were known."""
    is_uniform = len({tuple(row) for row in rows}) == 1
    paths = (spec.group_path or spec.id_path, *(path for field in fields for path in field.source_paths))
    for path in dict.fromkeys(paths):
        was_there = is_uniform or path in (known or {})
        if path and rows and was_there and not any(has_path(row, path) for row in rows):
            yield path


def _iter_retyped(
    rows: Sequence[Mapping[str, Any]],
    fields: Mapping[str, InferredField],
    own: Sequence[FieldSpec],
    mapping: RowMapping,
    known: Columns | None,
) -> Iterator[Retyped]:
    unread = _count_unread(rows, mapping)
    for field in own:
        now = fields.get(field.source_path)
        if now is None or field.template or field.take or _family(now.type) == _family(field.type):
            continue
        former = (known or {}).get(field.source_path)
        cells = sum(has_path(row, field.source_path) for row in rows)
        is_unread = unread[field.name] >= UNREAD_SHARE * cells > 0
        if is_unread if former is None else _family(former) != _family(now.type):
            yield Retyped(field=field, now=now)


def _count_unread(rows: Sequence[Mapping[str, Any]], mapping: RowMapping) -> Counter[str]:
    unread: Counter[str] = Counter()
    if mapping.read_row is None:
        return unread
    for row in rows:
        with suppress(InputError):
            unread.update(cell.field for cell in mapping.read_row(row).unread)
    return unread


def _family(kind: FieldType | str) -> str:
    """Return what a type is compared by: a column of texts may look like lists in one week and not in the next."""
    if kind in (FieldType.INT, FieldType.FLOAT):
        return "number"
    return str(kind) if kind in (FieldType.DATE, FieldType.JSON, "") else "text"


def _fitting_role(one: Retyped) -> Any:
    role = one.field.role
    return role if role is not None and one.now.type in ROLE_TYPES.get(role, {one.now.type}) else None


def _free_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in range(2, 10_000))


def _with_field(text: str, field: FieldSpec, new: InferredField) -> str:
    """Return a declaration with another table for a field; the lines of comment above it are replaced with it."""
    table = re.compile(rf"(?:^#[^\n]*\n)*^\[fields\.{re.escape(field.name)}\]\n(?:(?!\[|#)[^\n]*\n?)*", re.MULTILINE)
    found = table.search(text)
    if found is None:
        raise InputError(f"the spec has no table [fields.{field.name}] to change; change it by hand")
    return f"{text[: found.start()]}{field_in_toml(new)}\n\n{text[found.end() :]}"
