"""A segment: an unchanging run of rows with everything needed to filter, rank and name them.

The base segment is a folder of arrays that are mapped into memory; the tail (what changed since) is the same thing
built in memory. Format: `meta.json` and one `.npy` an array; the names are made by `_arrays`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import AUDIENCE_FIELD, KIND_FIELD
from pinakes.model.vectors import Vector
from pinakes.shelf.embedded.cells import Cells
from pinakes.shelf.embedded.columns import Columns, NumberColumn, TermColumn, build_term_column
from pinakes.shelf.embedded.vectors import VectorTable, build_vector_table
from pinakes.shelf.terms import Entry, entries_of, number_of
from pinakes.text.titles import TitleArrays, TitleIndex, array_fields, build_title_arrays

META_FILE = "meta.json"
Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """A record on its way into a segment."""

    key: Key
    record: Record
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Rows in key order. `change_no` is the last change they contain."""

    change_no: int
    keys: NDArray[np.int64]
    id_letters: NDArray[np.uint8]
    id_ends: NDArray[np.int64]
    columns: Columns
    titles: TitleIndex
    vectors: VectorTable | None

    def rows_of(self, keys: Sequence[Key]) -> NDArray[np.int64]:
        """Return the row of each key, −1 where this segment does not have it."""
        wanted = np.asarray(keys, dtype=np.int64)
        if not len(self.keys):
            return np.full(len(wanted), -1)
        rows = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[rows] == wanted, rows, -1)

    def id_of(self, row: int) -> RecordId:
        """Return the id of the record at a row."""
        start = self.id_ends[row - 1] if row else 0
        return RecordId(bytes(self.id_letters[start : self.id_ends[row]]).decode())


def build_segment(rows: Iterable[SegmentRow], spec: CatalogueSpec, *, change_no: int, dimension: int | None) -> Segment:
    """Build a segment in memory; rows come in key order."""
    keys: list[int] = []
    ids: list[bytes] = []
    names: list[list[str]] = []
    vectors: list[Vector] = []
    terms: dict[str, list[list[Entry]]] = {name: [] for name in _term_fields(spec)}
    numbers: dict[str, list[float]] = {field.name: [] for field in spec.column_fields if field.is_numeric}
    nothing = np.zeros(dimension or 0, dtype=np.float32)
    for row in rows:
        keys.append(row.key)
        ids.append(row.record.id.encode())
        names.append(spec.names_of(row.record))
        vectors.append(nothing if row.vector is None else row.vector)
        for name, entries in terms.items():
            entries.append(entries_of(row.record, name))
        for name, values in numbers.items():
            values.append(number_of(row.record, spec.fields[name]))
    return Segment(
        change_no=change_no,
        keys=np.array(keys, dtype=np.int64),
        id_letters=np.frombuffer(b"".join(ids), dtype=np.uint8),
        id_ends=np.cumsum([len(one) for one in ids], dtype=np.int64),
        columns=Columns(
            size=len(keys),
            terms={name: build_term_column(entries) for name, entries in terms.items()},
            numbers={name: NumberColumn(values=np.array(values)) for name, values in numbers.items()},
        ),
        titles=TitleIndex(build_title_arrays(names)),
        vectors=build_vector_table(np.array(vectors, dtype=np.float32)) if dimension and keys else None,
    )


def save_segment(segment: Segment, folder: Path) -> None:
    """Write a segment to a new folder and make it durable."""
    folder.mkdir(parents=True)
    for name, array in _arrays(segment).items():
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array)
            file.flush()
            os.fsync(file.fileno())
    meta = {
        "change_no": segment.change_no,
        "rows": segment.columns.size,
        "entries": {name: column.entries for name, column in segment.columns.terms.items()},
        "numbers": list(segment.columns.numbers),
        "has_vectors": segment.vectors is not None,
        "has_cells": segment.vectors is not None and segment.vectors.cells is not None,
    }
    with (folder / META_FILE).open("wb") as file:
        file.write(orjson.dumps(meta))
        file.flush()
        os.fsync(file.fileno())


def open_segment(folder: Path) -> Segment:
    """Map a saved segment into memory."""
    try:
        meta = orjson.loads((folder / META_FILE).read_bytes())
        return _mapped(meta, folder)
    except (OSError, ValueError, KeyError) as error:
        raise StorageError(f"{folder}: not a readable segment: {error}") from error


def _mapped(meta: Mapping[str, Any], folder: Path) -> Segment:
    def load(name: str) -> Array:
        path = folder / f"{name}.npy"
        return np.load(path, mmap_mode="r" if path.stat().st_size > 4096 else None)

    terms = {
        name: TermColumn(
            entries=[(term, category, label) for term, category, label in entries],
            ends=load(f"term_{name}_ends"),
            rows=load(f"term_{name}_rows"),
        )
        for name, entries in meta["entries"].items()
    }
    numbers = {name: NumberColumn(values=load(f"number_{name}")) for name in meta["numbers"]}
    return Segment(
        change_no=meta["change_no"],
        keys=load("keys"),
        id_letters=load("id_letters"),
        id_ends=load("id_ends"),
        columns=Columns(size=meta["rows"], terms=terms, numbers=numbers),
        titles=TitleIndex(TitleArrays(**{name: load(f"title_{name}") for name in array_fields()})),
        vectors=_mapped_vectors(meta, load) if meta["has_vectors"] else None,
    )


def _mapped_vectors(meta: Mapping[str, Any], load: Any) -> VectorTable:
    cells = None
    if meta["has_cells"]:
        cells = Cells(**{name: load(f"cell_{name}") for name in Cells.__dataclass_fields__})
    return VectorTable(exact=load("vectors"), codes=load("codes"), scales=load("scales"), cells=cells)


def _arrays(segment: Segment) -> dict[str, Array]:
    """Return every array of a segment by its file's name."""
    arrays: dict[str, Array] = {
        "keys": segment.keys,
        "id_letters": segment.id_letters,
        "id_ends": segment.id_ends,
    }
    arrays |= {f"title_{name}": getattr(segment.titles.arrays, name) for name in array_fields()}
    for name, column in segment.columns.terms.items():
        arrays |= {f"term_{name}_ends": column.ends, f"term_{name}_rows": column.rows}
    arrays |= {f"number_{name}": column.values for name, column in segment.columns.numbers.items()}
    if segment.vectors is not None:
        table = segment.vectors
        arrays |= {"vectors": table.exact, "codes": table.codes, "scales": table.scales}
        if table.cells is not None:
            arrays |= {f"cell_{name}": getattr(table.cells, name) for name in Cells.__dataclass_fields__}
    return arrays


def _term_fields(spec: CatalogueSpec) -> list[str]:
    return [KIND_FIELD, AUDIENCE_FIELD, *(field.name for field in spec.column_fields if not field.is_numeric)]
