"""The layout of a published table, `NAME_documents`: columns that any LanceDB client can read and
search.

    id, kind, audiences    as the record has them; no audiences: everybody may see it
    heading, text          its title (a passage's heading), and its running text
    path, first_line, last_line
                           the file and the lines that it is from; null where it is from none
    one column per field   of texts, numbers and dates, under the field's name
    vector                 its embedding, or null; the column is missing without a model
    metadata               all fields as one JSON object: the record itself

The schema's metadata has under the key `stackroom` a JSON object: the layout's version, the name of
the catalogue's spec and, where it is the user's own, its declaration, the model and dimension of
the vectors, and a digest of the rows in any order.
"""

import hashlib
import logging
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import orjson
import pyarrow as pa
from lancedb.table import Table

from stackroom.catalogue.codec import encode_record
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType
from stackroom.errors import InputError, StorageError
from stackroom.model.record import Record, Value
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import Vector
from stackroom.settings import find_place_problem, is_remote
from stackroom.shelf.port import ShelfReader, iter_key_batches

LAYOUT_VERSION = 2
TABLE_ENDING = "_documents"
STACKROOM_KEY = b"stackroom"
TEXTS = pa.list_(pa.string())
FIXED_COLUMNS = {
    **dict.fromkeys(("id", "kind"), pa.string()),
    "audiences": TEXTS,
    **dict.fromkeys(("heading", "text", "path"), pa.string()),
    **dict.fromkeys(("first_line", "last_line"), pa.int64()),
    "metadata": pa.string(),
}
RECORD_COLUMNS = ("id", "kind", "audiences", "metadata")
"""The columns that make a record. With the vectors, they are compared with what was published."""
PLACE_COLUMNS: dict[str, type] = {"path": str, "first_line": int, "last_line": int}
"""Columns of a record's place → the type that a field of the same name must have to fill it."""
COLUMN_TYPES = {
    **dict.fromkeys((FieldType.TEXT, FieldType.ENUM, FieldType.URL, FieldType.DATE), pa.string()),
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
    try:
        described = orjson.loads((schema.metadata or {}).get(STACKROOM_KEY, b"null"))
    except orjson.JSONDecodeError:
        return None
    if not isinstance(described, dict) or not isinstance(described.get("layout"), int):
        return None
    if described["layout"] > LAYOUT_VERSION:
        raise StorageError(
            f"the table was written by a newer version (layout {described['layout']}); update"
            " Stackroom"
        )
    return described


def find_damage(schema: pa.Schema, description: Mapping[str, Any]) -> str | None:
    """Return what a published table lacks to be read back, None where it has all."""
    for name, kind in {"catalogue": str, "model": str | None, "digest": str}.items():
        if not isinstance(description.get(name), kind):
            return f"its description has no valid '{name}'"
    return next(
        (f"it has no column '{name}'" for name in RECORD_COLUMNS if name not in schema.names), None
    )


def build_schema(reader: ShelfReader, spec: CatalogueSpec, *, declaration: str | None) -> pa.Schema:
    """Return the columns of a catalogue's table, with its description and the digest of what the
    reader sees.

    `declaration` is the text of a spec that no package has.
    """
    columns = {
        **FIXED_COLUMNS,
        **{field.name: COLUMN_TYPES[field.type] for field in _column_fields(spec)},
    }
    if reader.model is not None:
        columns["vector"] = pa.list_(pa.float32(), reader.model.dimension)
    described = {
        "layout": LAYOUT_VERSION,
        "catalogue": spec.name,
        "declaration": declaration,
        "model": reader.model and reader.model.name,
        "dimension": reader.model and reader.model.dimension,
        "digest": _digest(reader, columns),
    }
    return pa.schema(list(columns.items()), metadata={STACKROOM_KEY: orjson.dumps(described)})


def iter_batches(
    reader: ShelfReader, spec: CatalogueSpec, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield all records that the reader sees, as rows of the table."""
    for keys in iter_key_batches(reader):
        known, vectors = reader.fetch(keys, scope=WHOLE), reader.vectors(keys)
        records = [known[key] for key in keys]
        columns: dict[str, list[Any]] = {
            "id": [record.id for record in records],
            "kind": [record.kind for record in records],
            "audiences": [record.audiences for record in records],
            "heading": [record.get("heading") or spec.title_of(record) for record in records],
            "text": [_text_of(record, spec) for record in records],
            "metadata": [_metadata_of(record) for record in records],
        }
        for name, kind in PLACE_COLUMNS.items():
            stated = [record.get(name) for record in records]
            columns[name] = [_storable(value) if type(value) is kind else None for value in stated]
        for field in _column_fields(spec):
            columns[field.name] = [_storable(record.get(field.name)) for record in records]
        arrays = {
            name: pa.array(values, type=schema.field(name).type) for name, values in columns.items()
        }
        if reader.model is not None:
            values = np.ascontiguousarray(vectors, dtype=np.float32)
            missing, width = pa.array(~values.any(axis=1)), values.shape[1]
            arrays["vector"] = pa.FixedSizeListArray.from_arrays(
                pa.array(values.ravel()), width, mask=missing
            )
        yield pa.record_batch([arrays[name] for name in schema.names], schema=schema)


def sum_rows(rows: Iterable[tuple[Mapping[str, Any], Vector | None]]) -> str:
    """Return a digest of what makes the records of rows, and of their vectors, that is the same in
    any order.
    """
    total = 0
    for row, vector in rows:
        known = [row["id"], row["kind"], list(row["audiences"] or ()), row["metadata"]]
        values = b"" if vector is None else np.ascontiguousarray(vector, dtype=np.float32).tobytes()
        total += int.from_bytes(hashlib.sha256(orjson.dumps(known) + values).digest())
    return f"{total % 2**256:064x}"


def _digest(reader: ShelfReader, columns: dict[str, pa.DataType]) -> str:
    """Return a digest of all that would be published: of the columns, and of the rows."""

    def iter_rows() -> Iterator[tuple[dict[str, Any], Vector | None]]:
        for keys in iter_key_batches(reader):
            records = reader.fetch(keys, scope=WHOLE)
            for key, vector in zip(keys, reader.vectors(keys), strict=True):
                row = {name: getattr(records[key], name) for name in ("id", "kind", "audiences")}
                has_vector = reader.model is not None and bool(np.any(vector))
                yield (
                    {**row, "metadata": _metadata_of(records[key])},
                    vector if has_vector else None,
                )

    form = hashlib.sha256(f"{LAYOUT_VERSION} {reader.model} {list(columns)}".encode()).hexdigest()
    return f"{form[:16]}-{sum_rows(iter_rows())}"


def _metadata_of(record: Record) -> str:
    """Return all fields of a record as one JSON object."""
    return orjson.dumps(orjson.loads(encode_record(record))["fields"]).decode()


def _column_fields(spec: CatalogueSpec) -> Sequence[FieldSpec]:
    """Return the fields with a column of their own; the body is in `text`."""
    reserved = {*FIXED_COLUMNS, "vector"}
    return [
        field
        for field in spec.fields.values()
        if field.type in COLUMN_TYPES
        and field.role is not FieldRole.BODY
        and field.name not in reserved
    ]


def _text_of(record: Record, spec: CatalogueSpec) -> str:
    """Return a record's running text: its `text`, its body, or where it has neither its title."""
    body = spec.field_with_role(FieldRole.BODY)
    found = record.get("text") or (record.get(body.name) if body else None)
    return found if isinstance(found, str) else spec.title_of(record)


def _storable(value: Value) -> Value:
    """Return a value, or nothing for a whole number that no column can hold; `metadata` has it."""
    return None if isinstance(value, int) and abs(value) > LARGEST_INT else value


LONGEST_REASON = 200
RUST_DETAILS = re.compile(r"[,:]? *(\w+ \{|location: Location|[^ ]*\.rs:\d+).*", re.DOTALL)
RUST_MESSAGE = re.compile(r'message: "([^"]+)"')
KNOWN_CAUSES = (
    (
        re.compile(r"\b(403|forbidden|access[ _]?denied|401|unauthorized)\b", re.IGNORECASE),
        "access is denied",
    ),
    (
        re.compile(r"no[ _]such[ _]bucket|bucket \S* ?not found|NoSuchBucket", re.IGNORECASE),
        "there is no such bucket",
    ),
    (
        re.compile(r"\b503\b|slow ?down|service unavailable", re.IGNORECASE),
        "the store is overloaded or unavailable",
    ),
    (re.compile(r"timed? ?out|deadline", re.IGNORECASE), "the store did not answer in time"),
    (
        re.compile(
            r"connection refused|error sending request|connect error|dns|network_connection",
            re.IGNORECASE,
        ),
        "it cannot be reached",
    ),
)
"""What the client's errors say → its cause in few words, the first that fits."""


def require_allowed(uri: str, *, offline: bool) -> None:
    """Refuse an address that no database can have, and one on the network while offline."""
    if not uri.strip():
        raise InputError(
            "the LanceDB database is missing; a folder or an address such as s3://bucket/path is"
            " right"
        )
    if (problem := find_place_problem(uri)) is not None:
        raise InputError(f"{uri} {problem}")
    if offline and is_remote(uri):
        raise InputError(
            f"{uri}: the database is on the network, which is not used offline; a folder works"
        )


class LanceDatabase:
    """The tables at an address that `lancedb.connect` takes."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with self.failing("opened"):
            self._db = lancedb.connect(uri)

    def list_tables(self) -> list[str]:
        """Return the names of all tables."""
        with self.failing("read"):
            return list(self._db.list_tables().tables)

    def find_table(self, name: str) -> Table | None:
        """Return the newest version of a table, or None where there is none of this name."""
        if name not in self.list_tables():
            return None
        with self.failing("read"):
            return self._db.open_table(name)

    def get_table(self, name: str) -> Table:
        """Return the newest version of a table, or refuse with the names of those there are."""
        table = self.find_table(name)
        if table is None:
            names = ", ".join(self.list_tables()) or "none"
            raise StorageError(f"{self.uri} has no table '{name}'; tables in it: {names}")
        return table

    def replace_table(self, name: str, rows: pa.RecordBatchReader) -> Table:
        """Write a table with these rows, in place of the one of this name; clients read the old
        version until then.
        """
        with self.failing("written"):
            is_there = name in self.list_tables()
            # commit point: clients see all new rows from here on, and none before
            return self._db.create_table(
                name,
                data=rows,
                schema=rows.schema,
                mode="overwrite" if is_there else "create",
                on_bad_vectors="null",
            )

    @contextmanager
    def failing(self, what: str) -> Iterator[None]:
        """Turn LanceDB's errors, which have no class of their own, into a StorageError."""
        try:
            yield
        except (ValueError, RuntimeError, OSError, pa.ArrowException) as error:
            raise StorageError(
                f"{self.uri}: the database cannot be {what}: {_shorten_reason(error)}"
            ) from error


def _shorten_reason(error: Exception) -> str:
    """Return the part of a client's error that tells people something: no paths of sources, no
    nested structures.
    """
    text = str(error)
    cause = next((cause for pattern, cause in KNOWN_CAUSES if pattern.search(text)), None)
    return f"{cause} ({_detail(text)})" if cause else _detail(text)


def _detail(text: str) -> str:
    if (inner := RUST_MESSAGE.search(text)) is not None:
        return inner[1]
    return " ".join(RUST_DETAILS.sub("", text).split())[:LONGEST_REASON]


KEEP_VERSIONS_FOR = timedelta(days=1)
"""How long a version of the table can still be read after it was written, by clients that are in
the middle of it.
"""

logger = logging.getLogger(__name__)


def publish(
    reader: ShelfReader,
    spec: CatalogueSpec,
    uri: str,
    *,
    name: str,
    declaration: str | None,
    progress: Callable[[int], object],
) -> dict[str, Any]:
    """Write all that the reader sees to the catalogue's table, in place of its rows; leave a table
    that is the same.

    Return its name, version and number of rows, and whether it was written. `declaration` is the
    text of a spec that no package has; `progress` is called with the number of rows of each batch.
    """
    database, schema = LanceDatabase(uri), build_schema(reader, spec, declaration=declaration)
    table, is_same = database.find_table(table_name(name)), False
    if table is not None and find_description(table.schema) == find_description(schema):
        # no column was dropped from it since
        is_same = set(schema.names) <= set(table.schema.names)
    if table is None or not is_same:
        # By a file: LanceDB takes rows in from threads of its own, in which reading the catalogue
        # would crash.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as rows:
                for batch in iter_batches(reader, spec, schema):
                    rows.write_batch(batch)
                    progress(batch.num_rows)
            with pa.memory_map(str(path)) as file:
                table = database.replace_table(table_name(name), pa.ipc.open_stream(file))
        try:
            with database.failing("tidied up"):
                table.optimize(cleanup_older_than=KEEP_VERSIONS_FOR)
        except StorageError as error:
            logger.warning("published, but old versions stay: %s", error.message)
    return {
        "table": table_name(name),
        "version": table.version,
        "rows": table.count_rows(),
        "written": not is_same,
    }
