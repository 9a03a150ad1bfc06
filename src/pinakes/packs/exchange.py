"""The exchange format: a catalogue as a few files that other programs read without knowing packs.

    manifest.json         counts, model, dimension, and the sha256 and size of every other file
    catalogue.toml        the declaration
    records.jsonl.zst     one record per line, sorted by id: {"id", "kind"?, "fields", "audiences"?}
    embeddings.parquet    id, embedding (list of float32), as the model made it

It is written in a folder inside its own, and its files are then moved into place, the manifest last: until then, the
checksums do not fit. `sources/exchange_rows` reads it.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import zstandard
from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema, fixed_size_list_array
from arro3.io import write_parquet

from pinakes.catalogue.loader import LoadedSpec
from pinakes.errors import InputError, StorageError
from pinakes.model.scope import WHOLE
from pinakes.net.checksum import sha256_of
from pinakes.packs.blocks import PackedVector, choose_cut, dump_records
from pinakes.packs.ranges import iter_ranges
from pinakes.shelf.port import ShelfReader
from pinakes.sources.exchange_rows import DECLARATION, EMBEDDINGS, FORMAT, MANIFEST, RECORDS

OWN_FILES = {MANIFEST, DECLARATION, RECORDS, EMBEDDINGS}
UNFINISHED = ".unfinished-export"
SHOWN_NAMES = 3
LEVEL = 6

Progress = Callable[[int], None]
"""Called with the number of records that were written since the last call."""
AddFiles = Callable[[Path], Sequence[str]]
"""Writes further files into a folder, and returns their names."""


def _silent(_count: int) -> None:
    """Report nothing."""


def _nothing(_folder: Path) -> Sequence[str]:
    """Add no files."""
    return ()


def write_exchange(
    reader: ShelfReader,
    loaded: LoadedSpec,
    target: Path,
    *,
    name: str,
    add_files: AddFiles = _nothing,
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Write a snapshot in the exchange format into a new or empty folder or one of an earlier export."""
    _require_replaceable(target)
    former, fresh = _known_names(target), target / UNFINISHED
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        manifest = _write_files(reader, loaded, fresh, name=name, add_files=add_files, progress=progress)
        for file in (*manifest["files"], MANIFEST):  # commit point: the manifest
            os.replace(fresh / file, target / file)
        _remove_files(target, former - {UNFINISHED, MANIFEST, *manifest["files"]})
    except OSError as error:
        raise StorageError(f"{target}: the export could not be written: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return manifest


def _require_replaceable(target: Path) -> None:
    """Refuse a place with anything but an earlier export in it."""
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; give a folder for the export")
    names = {path.name for path in target.iterdir()} if target.is_dir() else set()
    known = _known_names(target) if names & {RECORDS, UNFINISHED} else set()
    if others := sorted(names - known):
        shown = ", ".join(others[:SHOWN_NAMES])
        raise InputError(f"{target} has other files in it, such as {shown}; give an empty or new folder")


def _known_names(target: Path) -> set[str]:
    """Return the names that files of an export have, with those that an earlier one, or an unfinished one, lists."""
    listed = _listed_files(target / MANIFEST) | _listed_files(target / UNFINISHED / MANIFEST)
    return OWN_FILES | {UNFINISHED} | listed


def _listed_files(manifest: Path) -> set[str]:
    """Return the files that a manifest lists; none where it cannot be read."""
    try:
        return set(dict(orjson.loads(manifest.read_bytes())["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _remove_files(folder: Path, names: set[str]) -> None:
    """Remove files of a folder, and nothing outside of it."""
    for path in folder.iterdir():
        if path.name in names:
            path.unlink()


def _write_files(
    reader: ShelfReader, loaded: LoadedSpec, fresh: Path, *, name: str, add_files: AddFiles, progress: Progress
) -> dict[str, Any]:
    (fresh / DECLARATION).write_text(loaded.declaration, encoding="utf-8")
    records, vectors = _write_records(reader, loaded, fresh, progress)
    files = [DECLARATION, RECORDS, *((EMBEDDINGS,) if reader.model else ()), *add_files(fresh)]
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "catalogue": name,
        "spec": loaded.spec.name,
        "records": records,
        "embeddings": vectors,
        "model": reader.model.name if reader.model else None,
        "dimension": reader.model.dimension if reader.model else None,
        "is_centred": reader.model is not None and reader.model.is_centred,
        "files": {
            file: {"sha256": sha256_of(fresh / file), "size_bytes": (fresh / file).stat().st_size} for file in files
        },
    }
    (fresh / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    return manifest


def _write_records(reader: ShelfReader, loaded: LoadedSpec, fresh: Path, progress: Progress) -> tuple[int, int]:
    """Write records and vectors, and return how many of each."""
    records, batches, vectors = 0, [], 0
    with (fresh / RECORDS).open("wb") as file, zstandard.ZstdCompressor(level=LEVEL).stream_writer(file) as packed:
        for one in iter_ranges(reader, loaded.spec, cut=choose_cut(reader.count(WHOLE))):
            packed.write(dump_records(one.records))
            batches.append(one.vectors)
            records += len(one.records)
            vectors += len(one.vectors)
            progress(len(one.records))
    if reader.model is not None:
        _write_embeddings(batches, fresh / EMBEDDINGS, reader.model.dimension)
    return records, vectors


def _write_embeddings(batches: Sequence[Sequence[PackedVector]], path: Path, dimension: int) -> None:
    items = Field("item", DataType.float32(), nullable=False)
    schema = Schema([Field("id", DataType.utf8()), Field("embedding", DataType.list(items, dimension))])
    rows = (_batch(some, schema, items, dimension) for some in batches if some)
    write_parquet(RecordBatchReader.from_batches(schema, rows), str(path), compression="uncompressed")


def _batch(vectors: Sequence[PackedVector], schema: Schema, items: Field, dimension: int) -> RecordBatch:
    values = Array.from_numpy(np.concatenate([one.vector for one in vectors]))
    lists = fixed_size_list_array(values, dimension, type=DataType.list(items, dimension))
    return RecordBatch.from_arrays([Array([one.id for one in vectors], type=DataType.utf8()), lists], schema=schema)
