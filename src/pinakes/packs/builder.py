"""Building and checking packs: a catalogue as files to ship.

    pack/manifest.json         counts, model, dimension, and the sha256 and size of every other file
    pack/catalogue.toml        the declaration
    pack/records.jsonl.zst     one record per line: {"id", "kind"?, "fields", "audiences"?}
    pack/embeddings.parquet    id, embedding (list of float32)

A pack is written under another name and then moved into place, so that it is never incomplete.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import orjson
import zstandard
from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema, fixed_size_list_array
from arro3.io import write_parquet
from numpy.typing import NDArray

from pinakes.catalogue.codec import encode_record
from pinakes.errors import BusyError, StorageError
from pinakes.model.record import RecordId
from pinakes.model.scope import WHOLE
from pinakes.model.vectors import Vector
from pinakes.net.checksum import sha256_of
from pinakes.shelf.batches import iter_key_batches
from pinakes.shelf.port import ShelfReader

MANIFEST = "manifest.json"
RECORDS = "records.jsonl.zst"
EMBEDDINGS = "embeddings.parquet"
DECLARATION = "catalogue.toml"
FORMAT = 1
LOCK_TIMEOUT_S = 60.0


def build_pack(reader: ShelfReader, declaration: str, target: Path, *, name: str) -> dict[str, Any]:
    """Write the pack of a snapshot, in place of an older one, and return its manifest."""
    fresh = target.with_name(f"{target.name}.new")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(target.with_name(f"{target.name}.lock"), timeout=LOCK_TIMEOUT_S):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            manifest = _write_pack(reader, declaration, fresh, name=name)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(fresh, target)  # commit point
    except filelock.Timeout as error:
        raise BusyError(f"{target}: another process is writing the pack") from error
    except OSError as error:
        raise StorageError(f"{target}: the pack could not be written: {error}") from error
    return manifest


def _write_pack(reader: ShelfReader, declaration: str, fresh: Path, *, name: str) -> dict[str, Any]:
    (fresh / DECLARATION).write_text(declaration, encoding="utf-8")
    records = _write_records(reader, fresh / RECORDS)
    files = [DECLARATION, RECORDS]
    vectors = 0
    if reader.model is not None:
        vectors = _write_embeddings(reader, fresh / EMBEDDINGS, reader.model.dimension)
        files.append(EMBEDDINGS)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "catalogue": name,
        "change_no": reader.change_no,
        "vector_no": reader.vector_no,
        "records": records,
        "embeddings": vectors,
        "model": reader.model.name if reader.model else None,
        "dimension": reader.model.dimension if reader.model else None,
        "files": {
            file: {"sha256": sha256_of(fresh / file), "size_bytes": (fresh / file).stat().st_size} for file in files
        },
    }
    (fresh / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    return manifest


def load_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a pack."""
    manifest: dict[str, Any] = orjson.loads((folder / MANIFEST).read_bytes())
    return manifest


def check_pack(folder: Path) -> list[str]:
    """Return the faults of a pack; none where every file matches the manifest."""
    try:
        manifest = load_manifest(folder)
        wanted = {str(name): str(entry["sha256"]) for name, entry in manifest["files"].items()}
    except (OSError, orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        return [f"{folder / MANIFEST} is damaged: {error!r}"]
    problems = []
    for name, sha256 in wanted.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing")
        elif sha256_of(path) != sha256:
            problems.append(f"{path} is damaged: its sha256 is not the manifest's")
    return problems


def is_current_pack(folder: Path, change_no: int, vector_no: int) -> bool:
    """Tell whether there is a sound pack of the records as of this change, with these vectors."""
    if not folder.is_dir() or check_pack(folder):
        return False
    manifest = load_manifest(folder)
    return (manifest.get("change_no"), manifest.get("vector_no", 0)) == (change_no, vector_no)


def _write_records(reader: ShelfReader, path: Path) -> int:
    count = 0
    with path.open("wb") as file, zstandard.ZstdCompressor(level=6).stream_writer(file) as packed:
        for keys in iter_key_batches(reader):
            for record in reader.fetch(keys, scope=WHOLE).values():
                body = orjson.loads(encode_record(record))
                packed.write(orjson.dumps({"id": record.id, **body}) + b"\n")
                count += 1
    return count


def _write_embeddings(reader: ShelfReader, path: Path, dimension: int) -> int:
    items = Field("item", DataType.float32(), nullable=False)
    schema = Schema([Field("id", DataType.utf8()), Field("embedding", DataType.list(items, dimension))])
    counts: list[int] = []

    def batches() -> Iterator[RecordBatch]:
        for keys in iter_key_batches(reader):
            vectors = reader.vectors(keys)
            has_vector: NDArray[np.bool_] = (vectors != 0).any(axis=1)
            ids = [one for one, kept in zip(reader.ids(keys), has_vector, strict=True) if kept]
            counts.append(len(ids))
            yield _batch(ids, vectors[has_vector], schema, items)

    write_parquet(RecordBatchReader.from_batches(schema, batches()), str(path), compression="uncompressed")
    return sum(counts)


def _batch(ids: list[RecordId], vectors: Vector, schema: Schema, items: Field) -> RecordBatch:
    values = Array.from_numpy(np.ascontiguousarray(vectors).reshape(-1))
    lists = fixed_size_list_array(values, vectors.shape[1], type=DataType.list(items, vectors.shape[1]))
    return RecordBatch.from_arrays([Array(ids, type=DataType.utf8()), lists], schema=schema)
