"""Rows of an exported catalogue: a folder with a manifest, its records, and their vectors as the model made them."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import orjson
from pydantic import BaseModel, ValidationError

from stackroom.errors import InputError
from stackroom.model.vectors import ModelId, Vector
from stackroom.sources.compressed import open_decompressed
from stackroom.sources.location import NO_OPTIONS
from stackroom.sources.parquet_rows import ParquetRows
from stackroom.sources.port import EncodedRecord, RowSource, SourceRow, SourceVector

MANIFEST = "manifest.json"
DECLARATION = "catalogue.toml"
RECORDS = "records.jsonl.zst"
EMBEDDINGS = "embeddings.parquet"


class _File(BaseModel):
    """A file of the export."""

    sha256: str


class _Manifest(BaseModel):
    """The members of the manifest that are read."""

    format: Literal[1]
    catalogue: str
    spec: str
    records: int
    model: str | None = None
    dimension: int | None = None
    is_centred: bool = False
    files: dict[str, _File]


def is_export(folder: Path) -> bool:
    """Tell whether a folder is an exported catalogue."""
    return (folder / MANIFEST).is_file() and (folder / RECORDS).is_file()


class ExportRows(RowSource):
    """The records of an exported catalogue; files that are damaged are refused before the first row."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        self._manifest = _load_manifest(self._folder / MANIFEST)

    @property
    def catalogue(self) -> str:
        """The name of the catalogue that was exported."""
        return self._manifest.catalogue

    @property
    def spec_name(self) -> str:
        """The name of the spec that it follows."""
        return self._manifest.spec

    @property
    def declaration(self) -> Path:
        """The file with its spec."""
        return self._folder / DECLARATION

    @property
    def name(self) -> str:
        """The absolute path."""
        return str(self._folder.resolve())

    @property
    def vector_model(self) -> ModelId | None:
        """The model that made the vectors."""
        known = self._manifest
        if known.model is None or known.dimension is None:
            return None
        return ModelId(name=known.model, dimension=known.dimension, is_centred=known.is_centred)

    def count_rows(self) -> int:
        """Return the number of records."""
        return self._manifest.records

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
        except (KeyError, TypeError, ValueError) as error:
            return SourceRow(place=place, values={}, problem=f"not a record of an export: {error!r}")
        model, vector = self.vector_model, self._vectors.get(record_id)
        return SourceRow(
            place=place,
            values={"id": record_id, **fields},
            record=EncodedRecord(catalogue=self.spec_name, id=record_id, body=line),
            vector=None if model is None or vector is None else SourceVector(model=model, values=vector),
        )

    @cached_property
    def _vectors(self) -> dict[str, Vector]:
        """The vectors by the id of their record."""
        path = self._folder / EMBEDDINGS
        if self.vector_model is None or not path.is_file():
            return {}
        rows = (row.values for row in ParquetRows(path, NO_OPTIONS).iter_rows())
        return {str(row["id"]): self._fitting(row["embedding"], path) for row in rows}

    def _fitting(self, values: object, path: Path) -> Vector:
        vector = np.asarray(values, dtype=np.float32)
        if vector.shape != (self._manifest.dimension,) or not np.isfinite(vector).all():
            raise InputError(
                f"{path}: a vector is not of {self._manifest.dimension} numbers; export the catalogue again"
            )
        return vector

    def _require_whole(self) -> None:
        """Refuse files that are not those of the manifest."""
        for name in (DECLARATION, RECORDS, EMBEDDINGS):
            if name in self._manifest.files:
                self._require_same(self._folder / name, self._manifest.files[name].sha256)

    def _require_same(self, path: Path, sha256: str) -> None:
        if not path.is_file():
            raise InputError(f"{path} is missing, which {MANIFEST} names; export the catalogue again")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise InputError(f"{path} is damaged: its sha256 is not that of {MANIFEST}; get it again")


def _load_manifest(path: Path) -> _Manifest:
    try:
        return _Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(f"{path}: not the manifest of an exported catalogue: {error}; export it again") from error
