"""Rows of a LanceDB table, published by Stackroom or written by others, with their vectors.

Its name as a source is `lancedb:DATABASE#TABLE`: a folder or an address such as `s3://bucket/path`,
and the table.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from stackroom.errors import InputError, StorageError
from stackroom.model.vectors import ModelId
from stackroom.settings import Settings, is_remote
from stackroom.sources.file_rows import plain_value
from stackroom.sources.lance import layout
from stackroom.sources.location import TABLE_PREFIX
from stackroom.sources.port import EncodedRecord, Readings, RowSource, SourceRow, SourceVector


class LanceRows(RowSource):
    """Implements `RowSource` for a table, at the version that is the newest when it opens.

    All rows are copied to this machine and compared with what was published before the first is
    yielded: a database that fails in between changes nothing.
    """

    is_one_step = True
    notes: tuple[str, ...] = ()

    def __init__(
        self, database: layout.LanceDatabase, table: str, *, default_model: str = ""
    ) -> None:
        self._database = database
        self._table = database.get_table(table)
        self._default_model = default_model
        self.description: Mapping[str, Any] | None = layout.find_description(self._table.schema)
        """The description that Stackroom published with the table; None where another program wrote
        it.
        """
        if self.description is not None and (
            damage := layout.find_damage(self._table.schema, self.description)
        ):
            raise InputError(f"{self.name}: {damage}; publish the catalogue again")

    @property
    def name(self) -> str:
        """The database and the table, marked as no file."""
        return f"{TABLE_PREFIX}{self._database.uri}#{self._table.name}"

    @property
    def version(self) -> int:
        """The version of the table."""
        return int(self._table.version)

    def recall(self, _readings: Readings) -> str:
        """Return the table's version with its time: a table that was made anew counts its versions
        from 1.
        """
        with self._database.failing("read"):
            written = {
                version["version"]: version["timestamp"] for version in self._table.list_versions()
            }
        if self.version not in written:
            raise StorageError(
                f"{self.name}: version {self.version} was removed while it was read; try again"
            )
        return f"{self.version} {written[self.version].isoformat()}"

    def count_rows(self) -> int | None:
        """Return how many rows the table has."""
        with self._database.failing("read"):
            return int(self._table.count_rows())

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows, with their vectors where it is known which model made them."""
        model = self.find_model()
        catalogue = self.description["catalogue"] if self.description is not None else None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.arrow"
            self._copy(path)
            self._require_whole(path)
            with _batches_in(path) as batches:
                numbered = enumerate(
                    (row for batch in batches for row in _iter_values(batch)), start=1
                )
                for number, values in islice(numbered, start, None):
                    vector = values.pop("vector", None)
                    known = (
                        None
                        if vector is None or model is None
                        else SourceVector(model=model, values=vector)
                    )
                    if catalogue is None:
                        yield _foreign_row(number, values, known)
                    else:
                        yield _published_row(number, values, known, catalogue)

    def find_model(self) -> ModelId | None:
        """Return the model of the vectors: as published, or the default one."""
        if not _has_vectors(self._table.schema):
            return None
        name = (self.description or {}).get("model") or self._default_model
        return (
            ModelId(name=name, dimension=self._table.schema.field("vector").type.list_size)
            if name
            else None
        )

    def _copy(self, path: Path) -> None:
        """Write all rows to a file; refuse where they are not as many as the table says."""
        copied = 0
        with self._database.failing("read"):
            expected = self._table.count_rows()
            reader = self._table.search().to_batches()
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, reader.schema) as copy:
                for batch in reader:
                    copy.write_batch(batch)
                    copied += batch.num_rows
        if copied != expected:
            raise StorageError(
                f"{self.name}: only {copied} of {expected} rows were read; nothing was changed"
            )

    def _require_whole(self, path: Path) -> None:
        """Refuse a copy that is not what the table has.

        Rows that are not those that were published may have been changed by another program since:
        then a second reading gives the same again.
        """
        published = str(self.description["digest"]).partition("-")[2] if self.description else None
        if published is None or (read := _sum_of(path)) == published:
            return
        self._copy(path)
        if _sum_of(path) != read:
            raise StorageError(
                f"{self.name}: it has other rows at each reading; nothing was changed"
            )
        self.notes = ("the table was changed by another program since it was published",)


@contextmanager
def _batches_in(path: Path) -> Iterator[Iterator[pa.RecordBatch]]:
    with pa.memory_map(str(path)) as file:
        copied = pa.ipc.open_file(file)
        yield (copied.get_batch(number) for number in range(copied.num_record_batches))


def _sum_of(path: Path) -> str:
    """Return the digest of the rows in a copy."""
    with _batches_in(path) as batches:
        wanted = (*layout.RECORD_COLUMNS, "vector")
        chosen = (
            batch.select([name for name in wanted if name in batch.schema.names])
            for batch in batches
        )
        rows = (row for batch in chosen for row in _iter_values(batch))
        return layout.sum_rows(
            ({**dict.fromkeys(layout.RECORD_COLUMNS), **row}, row.get("vector")) for row in rows
        )


def _iter_values(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield each row's values, its vector as an array."""
    vectors = (
        batch.column("vector").to_numpy(zero_copy_only=False)
        if _has_vectors(batch.schema)
        else None
    )
    others = batch.drop_columns(["vector"]) if vectors is not None else batch
    for number, row in enumerate(others.to_pylist()):
        values = {name: plain_value(value) for name, value in row.items() if value is not None}
        if vectors is not None and vectors[number] is not None:
            values["vector"] = np.asarray(vectors[number], dtype=np.float32)
        yield values


def _published_row(
    number: int, values: dict[str, Any], vector: SourceVector | None, catalogue: str
) -> SourceRow:
    """Return the row of a record as it was published; one that another program has damaged is a
    problem.
    """
    fields = _metadata_of(values.get("metadata"))
    if not fields or not {"id", "kind"} <= values.keys():
        return SourceRow(
            place=f"row {number}", problem="its columns id, kind and metadata are not a record"
        )
    body = {"fields": fields, "kind": values["kind"], "audiences": values.get("audiences", ())}
    record = EncodedRecord(catalogue=catalogue, id=values["id"], body=orjson.dumps(body))
    return SourceRow(
        place=values["id"], values={"id": values["id"], **fields}, record=record, vector=vector
    )


def _foreign_row(number: int, values: dict[str, Any], vector: SourceVector | None) -> SourceRow:
    """Return a row of a table that others wrote, with the entries of its `metadata` merged into its
    columns.
    """
    more = _metadata_of(values.get("metadata"))
    place = str(values.get("id") or f"row {number}")
    merged = {
        **more,
        **{name: value for name, value in values.items() if name != "metadata" or not more},
    }
    return SourceRow(place=place, values=merged, vector=vector, is_chunk=True)


def _metadata_of(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return {}
    return value if isinstance(value, dict) else {}


def _has_vectors(schema: pa.Schema) -> bool:
    """Tell whether the column `vector` is one of embeddings."""
    if "vector" not in schema.names:
        return False
    kind = schema.field("vector").type
    return bool(pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type))


class LancePlace:
    """The collections of a database; refuses one that cannot be used, or a folder that is not
    there.
    """

    def __init__(self, place: str, settings: Settings) -> None:
        layout.require_allowed(place, offline=settings.offline)
        if not is_remote(place) and not Path(place).is_dir():
            raise StorageError(
                f"{place}: no such folder; to write a collection to it, run: stackroom publish NAME"
                f" {place}"
            )
        self._database, self._model = layout.LanceDatabase(place), settings.collections.model

    def list_collections(self) -> list[str]:
        """Return the names of the collections that have a table, sorted."""
        tables, ending = self._database.list_tables(), layout.TABLE_ENDING
        return sorted(table.removesuffix(ending) for table in tables if table.endswith(ending))

    def open(self, name: str) -> LanceRows:
        """Return the rows of a collection's table, at its newest version."""
        return LanceRows(self._database, layout.table_name(name), default_model=self._model)
