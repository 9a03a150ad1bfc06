"""The records and vectors of a pack, written to and read from two files.

There is one entry per record, in order of ids. `records.jsonl` has one JSON object per line: {"id",
"audiences"?, "fields", "kind"?}. `embeddings.parquet` has the columns `id`, `text_sha256` (the
SHA-256 of the text that was embedded) and `embedding` (32-bit floats, as the model made them),
neither compressed nor by dictionary, so that a patch finds what stayed the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import arro3.core as arrow
import numpy as np
import orjson
from arro3.io import write_parquet

from stackroom.catalogue.codec import decode_record, encode_record, find_digest
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError, StorageError
from stackroom.ingest.mapping import require_fitting
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import Vector
from stackroom.packs.manifest import (
    EMBEDDINGS_FILE,
    RECORDS_FILE,
    Manifest,
    PackFile,
)
from stackroom.packs.patches import iter_content
from stackroom.shelf.port import Embedding, Put, ShelfReader, iter_key_batches
from stackroom.sources.parquet_rows import ParquetRows

BATCH_RECORDS = 2_048
BUILD_AGAIN = "build the pack again, or ask its publisher to"
DIGEST_BYTES = 32
MAX_LINE_BYTES = 64 << 20
ID, TEXT_DIGEST, VECTOR = "id", "text_sha256", "embedding"
WRITER = "stackroom"


class PackedVector(NamedTuple):
    """The vector of a record, as the model made it, and the digest of the text that was
    embedded.
    """

    digest: bytes
    values: Vector


class PackEntry(NamedTuple):
    """A record of a pack: its id, its other members as `encode_record` writes them, and its vector,
    if it has one.
    """

    id: RecordId
    body: bytes
    vector: PackedVector | None = None

    @property
    def line(self) -> bytes:
        """Its line of `records.jsonl`."""
        return _line_start(self.id) + self.body[1:] + b"\n"

    def is_same(self, other: "PackEntry") -> bool:
        """Tell whether record and vector are the same."""
        vectors = [
            vector and (vector.digest, vector.values.tobytes())
            for vector in (self.vector, other.vector)
        ]
        return self.body == other.body and vectors[0] == vectors[1]

    def decode(self, spec: CatalogueSpec) -> Record:
        """Return the record; refuse one that does not fit the spec."""
        try:
            record = decode_record(self.id, self.body, spec)
            require_fitting(record, spec)
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            problem = error if isinstance(error, InputError) else f"it is malformed ({error!r:.80})"
            raise StorageError(
                f"record '{self.id:.80}' of the release does not fit its spec: {problem};"
                f" {BUILD_AGAIN}"
            ) from error
        return record

    def build_put(self, spec: CatalogueSpec) -> Put:
        """Return the put of the record; a vector of another text than the spec composes is left
        out, and made later.
        """
        record = self.decode(spec)
        digest = find_digest(record, spec)
        if digest is None:
            return Put(record=record)
        values = (
            self.vector.values if self.vector is not None and self.vector.digest == digest else None
        )
        return Put(record=record, embedding=Embedding(digest=digest, vector=values))


def iter_shelf(reader: ShelfReader, spec: CatalogueSpec) -> Iterator[list[PackEntry]]:
    """Yield the records of a snapshot in order of their ids; refuse a catalogue with records that
    cannot be read.
    """
    known = [
        pair
        for keys in iter_key_batches(reader)
        for pair in zip(reader.ids(keys), keys, strict=True)
    ]
    keys = [key for _, key in sorted(known)]
    for first in range(0, len(keys), BATCH_RECORDS):
        batch = keys[first : first + BATCH_RECORDS]
        records = reader.fetch(batch, scope=WHOLE)
        if lost := len(batch) - len(records):
            raise StorageError(
                f"'{spec.name}': {lost} of its records cannot be read; stackroom doctor says what"
                " to do"
            )
        vectors = _read_vectors(reader, spec, records)
        yield [
            PackEntry(records[key].id, encode_record(records[key]), vectors.get(key))
            for key in batch
        ]


def _read_vectors(
    reader: ShelfReader, spec: CatalogueSpec, records: Mapping[Key, Record]
) -> dict[Key, PackedVector]:
    """Return the vectors of the texts that records have in the snapshot."""
    digests = {
        key: digest for key, record in records.items() if (digest := find_digest(record, spec))
    }
    stored = reader.stored_vectors(list(dict.fromkeys(digests.values())))
    return {
        key: PackedVector(digest, stored[digest])
        for key, digest in digests.items()
        if digest in stored
    }


def write_embeddings(batches: Iterable[Sequence[PackEntry]], path: Path, dimension: int) -> None:
    """Write the vectors of entries, which come in order of their ids."""
    items = arrow.Field("item", arrow.DataType.float32(), nullable=False)
    columns = {
        ID: arrow.DataType.utf8(),
        TEXT_DIGEST: arrow.DataType.binary(DIGEST_BYTES),
        VECTOR: arrow.DataType.list(items, dimension),
    }
    schema = arrow.Schema([arrow.Field(name, kind) for name, kind in columns.items()])
    failures: list[Exception] = []

    def iter_rows() -> Iterator[arrow.RecordBatch]:
        try:
            for batch in batches:
                packed = [(entry.id, entry.vector) for entry in batch if entry.vector is not None]
                if packed:
                    ids = arrow.Array([record_id for record_id, _ in packed], type=columns[ID])
                    digests = arrow.Array(
                        [vector.digest for _, vector in packed], type=columns[TEXT_DIGEST]
                    )
                    values = np.concatenate([vector.values for _, vector in packed]).astype(
                        np.float32, copy=False
                    )
                    lists = arrow.fixed_size_list_array(
                        arrow.Array.from_numpy(values), dimension, type=columns[VECTOR]
                    )
                    yield arrow.RecordBatch.from_arrays([ids, digests, lists], schema=schema)
        except Exception as error:  # the library would replace it by one of its own
            failures.append(error)

    write_parquet(
        arrow.RecordBatchReader.from_batches(schema, iter_rows()),
        str(path),
        compression="uncompressed",
        dictionary_enabled=False,
        skip_arrow_metadata=True,
        created_by=WRITER,
    )
    if failures:
        raise failures[0]


def iter_entries(manifest: Manifest, paths: Mapping[str, Path]) -> Iterator[PackEntry]:
    """Yield all records of a pack with their vectors; refuse files that do not have what the
    manifest says.
    """
    vectors = _iter_vectors(manifest, paths)
    vector = next(vectors, None)
    count = 0
    lines = _iter_lines(paths[RECORDS_FILE], manifest.get_file(RECORDS_FILE))
    for record_id, body in _in_order(map(_parse_line, lines), RECORDS_FILE):
        own = vector[1] if vector is not None and vector[0] == record_id else None
        yield PackEntry(record_id, body, own)
        vector = next(vectors, None) if own else vector
        count += 1
    if vector is not None:
        raise StorageError(
            f"{EMBEDDINGS_FILE} has a vector of '{vector[0]:.80}', which is not among the records;"
            f" {BUILD_AGAIN}"
        )
    _require_as_many(count, manifest.records, RECORDS_FILE, "records")


def _iter_vectors(
    manifest: Manifest, paths: Mapping[str, Path]
) -> Iterator[tuple[RecordId, PackedVector]]:
    path = paths.get(EMBEDDINGS_FILE)
    if path is None or manifest.dimension is None:
        return
    count = 0
    parsed = (_parse_batch(batch, manifest.dimension) for batch in ParquetRows(path).iter_batches())
    try:
        for vector in _in_order(chain.from_iterable(parsed), EMBEDDINGS_FILE):
            yield vector
            count += 1
    except InputError as error:
        raise StorageError(error.message) from error
    _require_as_many(count, manifest.embeddings, EMBEDDINGS_FILE, "vectors")


def _require_as_many(count: int, stated: int, name: str, what: str) -> None:
    if count != stated:
        raise StorageError(
            f"{name} has {count} {what}, and the manifest says {stated}; {BUILD_AGAIN}"
        )


def iter_differences(
    old: Iterator[PackEntry], new: Iterator[PackEntry]
) -> Iterator[tuple[PackEntry | None, PackEntry | None]]:
    """Yield the entries that differ between two packs, in order of ids: before and after; None if
    it is not there.
    """
    before, after = next(old, None), next(new, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before.id < after.id):
            yield before, None
            before = next(old, None)
        elif before is None or after.id < before.id:
            yield None, after
            after = next(new, None)
        else:
            if not before.is_same(after):
                yield before, after
            before, after = next(old, None), next(new, None)


def _iter_lines(path: Path, file: PackFile) -> Iterator[bytes]:
    """Yield the lines of a file; refuse one that no record has."""
    rest = b""
    for chunk in iter_content(path, file):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise StorageError(
                f"{path} is damaged: a line has more than {MAX_LINE_BYTES:,} bytes; {BUILD_AGAIN}"
            )
        yield from lines
    if rest:
        raise StorageError(f"{path} is damaged: its last line has no end; {BUILD_AGAIN}")


def _in_order(entries: Iterable[tuple[RecordId, Any]], name: str) -> Iterator[tuple[RecordId, Any]]:
    """Yield the entries of a file; refuse ids that are not in order, or come twice."""
    last = ""
    for entry in entries:
        if last >= entry[0] and last:
            raise StorageError(
                f"{name} is damaged: '{entry[0]:.80}' follows '{last:.80}'; {BUILD_AGAIN}"
            )
        yield entry
        last = entry[0]


def _line_start(record_id: RecordId) -> bytes:
    return b'{"id":' + orjson.dumps(record_id) + b","


def _parse_line(line: bytes) -> tuple[RecordId, bytes]:
    try:
        members = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise StorageError(
            f"{RECORDS_FILE} is damaged: {error}: {line[:100]!r}; {BUILD_AGAIN}"
        ) from error
    record_id = members.get("id") if isinstance(members, dict) else None
    if not isinstance(record_id, str) or not isinstance(members.get("fields"), dict):
        raise StorageError(
            f"{RECORDS_FILE} is damaged: a line has no 'id' or no 'fields': {line[:100]!r};"
            f" {BUILD_AGAIN}"
        )
    start = _line_start(RecordId(record_id))
    if not line.startswith(start):
        raise StorageError(
            f"{RECORDS_FILE} is damaged: the line of '{record_id:.80}' does not begin with its id;"
            f" {BUILD_AGAIN}"
        )
    return RecordId(record_id), b"{" + line[len(start) :]


def _parse_batch(
    batch: arrow.RecordBatch, dimension: int
) -> Iterator[tuple[RecordId, PackedVector]]:
    try:
        ids, digests = batch.column(ID).to_pylist(), batch.column(TEXT_DIGEST).to_pylist()
        values = arrow.list_flatten(batch.column(VECTOR)).to_numpy().reshape(len(ids), dimension)
    except Exception as error:  # the library has no exception class of its own
        raise StorageError(
            f"{EMBEDDINGS_FILE} is not a table of vectors of {dimension} numbers: {error};"
            f" {BUILD_AGAIN}"
        ) from error
    if values.dtype != np.float32 or not np.isfinite(values).all():
        raise StorageError(
            f"{EMBEDDINGS_FILE} is damaged: some values are not finite 32-bit floats; {BUILD_AGAIN}"
        )
    for record_id, digest, vector in zip(ids, digests, values, strict=True):
        if not isinstance(record_id, str) or not isinstance(digest, bytes):
            raise StorageError(
                f"{EMBEDDINGS_FILE} is damaged: a vector has no id or no digest of its text;"
                f" {BUILD_AGAIN}"
            )
        yield RecordId(record_id), PackedVector(digest, vector)
