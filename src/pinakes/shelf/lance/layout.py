"""How records lie in LanceDB: the columns of the documents table, and rows on their way into it.

key, change_no                 the record's handle, and the change that wrote this row
id, kind, audiences            as the record has them; a record for everybody has the audience '*'
body                           the whole record, encoded: the truth, from which all that follows is derived
digest, vector                 the record's embedding, both null where it has none; no `vector` without a model
names                          what the record is called
tokens, tokens_FIELD           the analyser's tokens of all searched fields, and of each boosted one
term_FIELD, label_FIELD        the folded values of a filter or facet, and how each was written
number_FIELD                   the value of a numeric one
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec
from pinakes.model.record import Key, Record
from pinakes.model.scope import PUBLIC
from pinakes.model.vectors import Vector
from pinakes.shelf.terms import entries_of, number_of, text_tokens

LAYOUT_VERSION = 1

TEXTS = pa.list_(pa.string())
LABELS = pa.list_(pa.struct([("category", pa.string()), ("value", pa.string())]))
FIXED_COLUMNS = {
    "key": pa.int64(),
    "change_no": pa.int64(),
    "id": pa.string(),
    "kind": pa.string(),
    "audiences": TEXTS,
    "body": pa.binary(),
    "digest": pa.binary(),
    "names": TEXTS,
}
NOT_INDEXED = ("body", "digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A record as it is kept: under its key, with the change that wrote it and the embedding it has."""

    key: Key
    change_no: int
    record: Record
    body: bytes
    digest: bytes | None
    vector: Vector | None


def token_column(field: str) -> str:
    """Return the column with a boosted field's tokens."""
    return f"tokens_{field}"


def term_column(field: str) -> str:
    """Return the column with a field's folded values."""
    return f"term_{field}"


def label_column(field: str) -> str:
    """Return the column with a field's values as they were written."""
    return f"label_{field}"


def number_column(field: str) -> str:
    """Return the column with a field's number."""
    return f"number_{field}"


def token_columns(spec: CatalogueSpec) -> dict[str, Sequence[FieldSpec]]:
    """Return each column of tokens with the fields whose text is in it."""
    boosted = {token_column(field.name): (field,) for field in spec.boosted_fields}
    return {"tokens": spec.searched_fields, **boosted}


def value_fields(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields with a column of terms."""
    return [field for field in spec.column_fields if not field.is_numeric]


def numeric_fields(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields with a column of numbers."""
    return [field for field in spec.column_fields if field.is_numeric]


def documents_schema(spec: CatalogueSpec, *, dimension: int | None) -> pa.Schema:
    """Return the columns of the documents table."""
    columns = {**FIXED_COLUMNS, **dict.fromkeys(token_columns(spec), pa.string())}
    for field in value_fields(spec):
        columns |= {term_column(field.name): TEXTS, label_column(field.name): LABELS}
    columns |= {number_column(field.name): pa.float64() for field in numeric_fields(spec)}
    if dimension is not None:
        columns["vector"] = pa.list_(pa.float32(), dimension)
    return pa.schema(list(columns.items()))


def indexed_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that a view is built from: all but the records themselves."""
    return [name for name in schema.names if name not in NOT_INDEXED]


def documents_table(rows: Sequence[DocumentRow], spec: CatalogueSpec, *, dimension: int | None) -> pa.Table:
    """Return the rows as LanceDB takes them."""
    schema = documents_schema(spec, dimension=dimension)
    columns = {name: pa.array(values, type=schema.field(name).type) for name, values in _columns(rows, spec).items()}
    if dimension is not None:
        columns["vector"] = _vector_array([row.vector for row in rows], dimension)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _columns(rows: Sequence[DocumentRow], spec: CatalogueSpec) -> dict[str, list[Any]]:
    """Return the values of every column but the vectors."""
    records = [row.record for row in rows]
    columns: dict[str, list[Any]] = {
        "key": [row.key for row in rows],
        "change_no": [row.change_no for row in rows],
        "id": [record.id for record in records],
        "kind": [record.kind for record in records],
        "audiences": [record.audiences or (PUBLIC,) for record in records],
        "body": [row.body for row in rows],
        "digest": [row.digest for row in rows],
        "names": [spec.names_of(record) for record in records],
    }
    for name, fields in token_columns(spec).items():
        columns[name] = [" ".join(text_tokens(record, fields)) for record in records]
    for field in value_fields(spec):
        columns |= _value_columns(records, field.name)
    for field in numeric_fields(spec):
        columns[number_column(field.name)] = [number_of(record, field) for record in records]
    return columns


def _value_columns(records: Iterable[Record], field: str) -> dict[str, list[Any]]:
    entries = [entries_of(record, field) for record in records]
    labels = [[{"category": category, "value": value} for _, category, value in some] for some in entries]
    return {term_column(field): [[term for term, _, _ in some] for some in entries], label_column(field): labels}


def _vector_array(vectors: Sequence[Vector | None], dimension: int) -> pa.Array:
    values = np.zeros((len(vectors), dimension), dtype=np.float32)
    for place, vector in enumerate(vectors):
        if vector is not None:
            values[place] = vector
    missing = pa.array([vector is None for vector in vectors], type=pa.bool_())
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), dimension, mask=missing)
