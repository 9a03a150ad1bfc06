"""The layout of a published table, `NAME_documents`: columns that any LanceDB client can read and search.

    id, kind, audiences    as the record has them; no audiences: everybody may see it
    heading, text          its title (a passage's heading), and its running text
    one column per field   of texts, numbers and dates, under the field's name
    vector                 its embedding, null where it has none; the column is missing without a model
    metadata               all fields as one JSON object: the record itself

The schema's metadata has under the key `pinakes` a JSON object: the layout's version, the catalogue's spec, the model
and dimension of the vectors, and a digest of the content.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from pinakes.catalogue.codec import encode_record
from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, Role
from pinakes.model.record import Record, Value
from pinakes.model.scope import WHOLE
from pinakes.model.vectors import Vector
from pinakes.shelf.batches import iter_key_batches
from pinakes.shelf.port import ShelfReader

LAYOUT_VERSION = 1
TABLE_ENDING = "_documents"
PINAKES_KEY = b"pinakes"
TEXTS = pa.list_(pa.string())
FIXED_COLUMNS = {
    "id": pa.string(),
    "kind": pa.string(),
    "audiences": TEXTS,
    "heading": pa.string(),
    "text": pa.string(),
    "metadata": pa.string(),
}
COLUMN_TYPES = {
    FieldType.TEXT: pa.string(),
    FieldType.ENUM: pa.string(),
    FieldType.URL: pa.string(),
    FieldType.DATE: pa.string(),
    FieldType.INT: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.TEXTS: TEXTS,
}
LARGEST_INT = 2**63 - 1


def table_name(name: str) -> str:
    """Return the name of the table that a catalogue is published as."""
    return f"{name}{TABLE_ENDING}"


def find_description(schema: pa.Schema) -> dict[str, Any] | None:
    """Return what a published table says of itself, None for a table that others wrote."""
    described = (schema.metadata or {}).get(PINAKES_KEY)
    return None if described is None else orjson.loads(described)


def build_schema(reader: ShelfReader, spec: CatalogueSpec) -> pa.Schema:
    """Return the columns of a catalogue's table, with its description and the digest of what the reader sees."""
    columns = {**FIXED_COLUMNS, **{field.name: COLUMN_TYPES[field.type] for field in _column_fields(spec)}}
    if reader.model is not None:
        columns["vector"] = pa.list_(pa.float32(), reader.model.dimension)
    described = {
        "layout": LAYOUT_VERSION,
        "catalogue": spec.name,
        "model": reader.model.name if reader.model else None,
        "dimension": reader.model.dimension if reader.model else None,
        "digest": _digest(reader, columns),
    }
    return pa.schema(list(columns.items()), metadata={PINAKES_KEY: orjson.dumps(described)})


def iter_batches(reader: ShelfReader, spec: CatalogueSpec, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield all records that the reader sees, as rows of the table."""
    for records, vectors in _iter_content(reader):
        columns: dict[str, list[Any]] = {
            "id": [record.id for record in records],
            "kind": [record.kind for record in records],
            "audiences": [record.audiences for record in records],
            "heading": [record.get("heading") or spec.title_of(record) for record in records],
            "text": [_text_of(record, spec) for record in records],
            "metadata": [orjson.dumps(orjson.loads(encode_record(record))["fields"]).decode() for record in records],
        }
        for field in _column_fields(spec):
            columns[field.name] = [_storable(record.get(field.name)) for record in records]
        arrays = {name: pa.array(values, type=schema.field(name).type) for name, values in columns.items()}
        if reader.model is not None:
            arrays["vector"] = _vector_array(vectors)
        yield pa.record_batch([arrays[name] for name in schema.names], schema=schema)


def _iter_content(reader: ShelfReader) -> Iterator[tuple[list[Record], Vector]]:
    for keys in iter_key_batches(reader):
        records = reader.fetch(keys, scope=WHOLE)
        yield [records[key] for key in keys], reader.vectors(keys)


def _digest(reader: ShelfReader, columns: dict[str, pa.DataType]) -> str:
    """Return a digest of all that would be published."""
    digest = hashlib.sha256(f"{LAYOUT_VERSION} {reader.model} {list(columns)}".encode())
    for records, vectors in _iter_content(reader):
        for record in records:
            digest.update(record.id.encode() + b"\0" + encode_record(record))
        digest.update(np.ascontiguousarray(vectors).tobytes())
    return digest.hexdigest()


def _column_fields(spec: CatalogueSpec) -> Sequence[FieldSpec]:
    """Return the fields with a column of their own; the body is in `text`."""
    reserved = {*FIXED_COLUMNS, "vector"}
    return [
        field
        for field in spec.fields.values()
        if field.type in COLUMN_TYPES and field.role is not Role.BODY and field.name not in reserved
    ]


def _text_of(record: Record, spec: CatalogueSpec) -> str:
    """Return a record's running text: its `text`, its body, or where it has neither its title."""
    body = spec.field_with_role(Role.BODY)
    found = record.get("text") or (record.get(body.name) if body else None)
    return found if isinstance(found, str) else spec.title_of(record)


def _storable(value: Value) -> Value:
    """Return a value, or nothing for a whole number that no column can hold; `metadata` has it."""
    return None if isinstance(value, int) and abs(value) > LARGEST_INT else value


def _vector_array(vectors: Vector) -> pa.Array:
    values = np.ascontiguousarray(vectors, dtype=np.float32)
    missing = pa.array(~values.any(axis=1))
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1], mask=missing)
