"""Rows of a folder in the exchange format, which `pinakes pack export` writes, with their vectors.

Earlier versions kept the same files beside every catalogue, so that those can be read too.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from pinakes.errors import InputError
from pinakes.model.vectors import ModelId, Vector
from pinakes.sources.compressed import open_decompressed
from pinakes.sources.parquet_rows import ParquetRows
from pinakes.sources.port import EncodedRecord, SourceRow, SourceVector

MANIFEST = "manifest.json"
RECORDS = "records.jsonl.zst"
EMBEDDINGS = "embeddings.parquet"
DECLARATION = "catalogue.toml"
FORMAT = 1


def is_exchange_folder(location: str) -> bool:
    """Tell whether a location is a folder in the exchange format."""
    try:
        folder = Path(location).expanduser()
        return (folder / MANIFEST).is_file() and (folder / RECORDS).is_file()
    except (OSError, RuntimeError, ValueError):  # too long for a path, or of an unknown user
        return False


class ExchangeRows:
    """Implements `RowSource` for a folder in the exchange format; damaged files are refused before the first row."""

    is_whole = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        self._manifest = _load_manifest(self._folder / MANIFEST)
        self.catalogue = str(self._manifest.get("catalogue", ""))
        """The name of the catalogue that was exported."""
        self.spec_name = str(self._manifest.get("spec") or _spec_name(self.declaration) or self.catalogue)
        """The name of its spec, or of the package that it follows."""

    @property
    def declaration(self) -> Path:
        """The file with its spec."""
        return self._folder / DECLARATION

    @property
    def name(self) -> str:
        """The absolute path."""
        return str(self._folder.resolve())

    def count_rows(self) -> int | None:
        """Return the number of records."""
        count = self._manifest.get("records")
        return count if isinstance(count, int) else None

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the records with their vectors; a line that cannot be read has its problem."""
        self._require_whole()
        with open_decompressed(self._folder / RECORDS) as lines:
            for number, line in islice(enumerate(lines, start=1), start, None):
                yield self._row(f"line {number}", line)

    def _row(self, place: str, line: bytes) -> SourceRow:
        try:
            document = orjson.loads(line)
            record_id, fields = str(document["id"]), dict(document["fields"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            return SourceRow(place=place, values={}, problem=f"not a record of an export: {error!r}")
        return SourceRow(
            place=place,
            values={"id": record_id, **fields},
            record=EncodedRecord(catalogue=self.spec_name, id=record_id, body=line),
            vector=self._find_vector(record_id),
        )

    def _find_vector(self, record_id: str) -> SourceVector | None:
        values = self._vectors.get(record_id)
        return (
            None
            if values is None or self.vector_model is None
            else SourceVector(model=self.vector_model, values=values)
        )

    @property
    def vector_model(self) -> ModelId | None:
        """The model of the vectors, as the manifest names it."""
        name, dimension = self._manifest.get("model"), self._manifest.get("dimension")
        if not isinstance(name, str) or not isinstance(dimension, int):
            return None
        return ModelId(name=name, dimension=dimension, is_centred=bool(self._manifest.get("is_centred")))

    @cached_property
    def _vectors(self) -> dict[str, Vector]:
        path = self._folder / EMBEDDINGS
        if self.vector_model is None or not path.is_file():
            return {}
        rows = [(row.values.get("id"), row.values.get("embedding")) for row in ParquetRows(path).iter_rows()]
        return {
            str(record_id): self._fitting(np.asarray(values, dtype=np.float32), str(record_id), path)
            for record_id, values in rows
            if values is not None
        }

    def _fitting(self, vector: Vector, record_id: str, path: Path) -> Vector:
        dimension = self._manifest["dimension"]
        if vector.shape != (dimension,) or not np.isfinite(vector).all():
            raise InputError(f"{path}: the vector of '{record_id}' does not have {dimension} finite numbers")
        return vector

    def _require_whole(self) -> None:
        """Refuse files that do not have the checksums of the manifest."""
        for name, known in _files_in(self._manifest).items():
            path = self._folder / name
            if not path.is_file():
                raise InputError(f"{path} is missing, which {MANIFEST} names; export the catalogue again")
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != known:
                    raise InputError(f"{path} is damaged: its sha256 is not that of {MANIFEST}; get it again")


def _load_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}; export the catalogue again") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path}: not the manifest of an export: 'format' has to be {FORMAT}")
    return manifest


def _files_in(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the sha256 of each of our files, by name; others beside them are not read."""
    files = manifest.get("files")
    if not isinstance(files, dict) or not all(isinstance(one, dict) for one in files.values()):
        raise InputError(f"{MANIFEST}: 'files' has to name each file with its 'sha256'")
    return {name: str(files[name].get("sha256")) for name in (DECLARATION, RECORDS, EMBEDDINGS) if name in files}


def _spec_name(declaration: Path) -> str | None:
    """Return the name that a declaration states; None where there is none that can be read."""
    try:
        with declaration.open("rb") as file:
            name = tomllib.load(file).get("name")
    except (OSError, ValueError):
        return None
    return name if isinstance(name, str) else None
