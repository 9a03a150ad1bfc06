"""Rows of an exported catalogue: a folder with a manifest, its records, and their vectors as the
model made them.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from pydantic import BaseModel, ValidationError

from stackroom.checksums import sha256_of
from stackroom.errors import InputError
from stackroom.model.vectors import ModelId
from stackroom.sources.compressed import open_decompressed
from stackroom.sources.parquet_rows import ParquetRows
from stackroom.sources.port import EncodedRecord, RowSource, SourceRow, SourceVector

MANIFEST = "manifest.json"
DECLARATION = "catalogue.toml"
RECORDS = "records.jsonl.zst"
EMBEDDINGS = "embeddings.parquet"


class _Manifest(BaseModel):
    """The members of the manifest that are read."""

    format: Literal[1]
    catalogue: str
    spec: str
    records: int
    model: str | None = None
    dimension: int | None = None
    is_centred: bool = False
    files: dict[str, dict[str, Any]]


def is_export(folder: Path) -> bool:
    """Tell whether a folder is an exported catalogue."""
    return (folder / MANIFEST).is_file() and (folder / RECORDS).is_file()


class ExportRows(RowSource):
    """The records of an exported catalogue; files that are damaged are refused before the first
    row.
    """

    vector_model: ModelId | None = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        path = self._folder / MANIFEST
        try:
            self._manifest = known = _Manifest.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise InputError(
                f"{path}: not the manifest of an exported catalogue: {error}; export it again"
            ) from error
        self.catalogue, self.spec_name = known.catalogue, known.spec
        self.declaration = self._folder / DECLARATION
        if known.model is not None and known.dimension is not None:
            self.vector_model = ModelId(
                name=known.model, dimension=known.dimension, is_centred=known.is_centred
            )

    @property
    def name(self) -> str:
        """The absolute path."""
        return str(self._folder.resolve())

    def count_rows(self) -> int:
        """Return the number of records."""
        return self._manifest.records

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the records with their vectors; a line that cannot be read has its problem."""
        for name, file in self._manifest.files.items():
            self._require_same(name, file.get("sha256"))
        vectors = self._load_vectors()
        with open_decompressed(self._folder / RECORDS) as lines:
            for number, line in islice(enumerate(lines, start=1), start, None):
                yield self._row(f"line {number}", line, vectors)

    def _row(self, place: str, line: bytes, vectors: Mapping[str, SourceVector]) -> SourceRow:
        try:
            document = orjson.loads(line)
            record_id, fields = str(document["id"]), dict(document["fields"])
        except (KeyError, TypeError, ValueError) as error:
            return SourceRow(place=place, problem=f"not a record of an export: {error!r}")
        record = EncodedRecord(catalogue=self.spec_name, id=record_id, body=line)
        values = {"id": record_id, **fields}
        return SourceRow(place=place, values=values, record=record, vector=vectors.get(record_id))

    def _load_vectors(self) -> dict[str, SourceVector]:
        """Return the vectors by the id of their record."""
        path, model = self._folder / EMBEDDINGS, self.vector_model
        if model is None or not path.is_file():
            return {}
        vectors = {}
        for row in ParquetRows(path).iter_rows():
            vector = np.asarray(row.values["embedding"], dtype=np.float32)
            if vector.shape != (model.dimension,) or not np.isfinite(vector).all():
                raise InputError(
                    f"{path}: a vector is not of {model.dimension} numbers; export the catalogue"
                    " again"
                )
            vectors[str(row.values["id"])] = SourceVector(model=model, values=vector)
        return vectors

    def _require_same(self, name: str, sha256: str | None) -> None:
        """Refuse a file of the manifest that is missing, or another."""
        path = self._folder / name
        if name not in (DECLARATION, RECORDS, EMBEDDINGS):
            return
        if not path.is_file():
            raise InputError(
                f"{path} is missing, which {MANIFEST} names; export the catalogue again"
            )
        if sha256_of(path) != sha256:
            raise InputError(
                f"{path} is damaged: its sha256 is not that of {MANIFEST}; get it again"
            )
