"""A segment: immutable rows with everything needed to filter, rank and name them.

The base segment is a folder of memory-mapped arrays; the tail (the changes since) has the same form
in memory. Format: `meta.json`, one `.npy` file per array, named by `_arrays`, and `checksums.json`
with the checksum of each.
"""

import errno
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.checksums import FileSum, SummedFile, find_sums, measure_file, save_sums
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.model.record import Key, Record
from stackroom.model.vectors import ModelId, Vector, centre, measure_mean
from stackroom.shelf.columns import (
    Columns,
    Mask,
    TermColumn,
    TermColumnBuilder,
    TextColumn,
    TextColumnBuilder,
)
from stackroom.shelf.embedded.vectors import Sketches, VectorTable, build_vector_table
from stackroom.shelf.spool import Spool, iter_blocks
from stackroom.shelf.terms import ColumnValues, number_fields, term_fields, text_columns
from stackroom.text.titles import TitleArrays, TitleArraysBuilder, TitleIndex, array_fields

META_FILE = "meta.json"
SUMS_FILE = "checksums.json"
VECTOR_ARRAYS = ("vectors", "codes", "scales", "sketch_", "mean", "awaiting")
"""Prefixes of the names of arrays that change when vectors are added."""
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    SyntaxError,
    TokenError,
    MemoryError,
    OverflowError,
)
"""The errors of reading a damaged array: its header is a Python literal, and may name any shape."""
Array = NDArray[Any]


class DamagedIndexError(StorageError):
    """A derived file cannot be read. The shelf rebuilds the index, so that no caller sees this."""


class UnwritableIndexError(StorageError):
    """The index cannot be written now, as on a full disk; its former state can still be read."""


def why_unwritable(error: Exception) -> str:
    """Return why a file cannot be written, in words without a path; tantivy's own errors have paths
    in their text.
    """
    text = str(error)
    if "StorageFull" in text or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    ):
        return "the disk is full"
    if "LockBusy" in text:
        return "another process is writing it"
    return (error.strerror if isinstance(error, OSError) else None) or "the log has the details"


@frozen
class SegmentRow:
    """A record to be indexed, with its key and vector."""

    key: Key
    record: Record
    vector: Vector | None
    digest: bytes | None = None  # the digest of its text
    awaits_vector: bool = False  # whether its text has no vector yet
    texts: Sequence[bytes] = ()  # of its columns of texts, where they are known already


@frozen
class Segment:
    """Rows in key order, as of the change `change_no`."""

    change_no: int
    keys: NDArray[np.int64]
    columns: Columns
    titles: TitleIndex
    vectors: VectorTable | None
    mean: Vector | None = None
    """The mean that was subtracted from the vectors, before they were scaled to unit length
    again.
    """
    vector_no: int = 0  # the number of the store's last vectors that this segment has
    # the rows whose text has no vector yet; None means that there is none
    awaiting: Mask | None = None

    @property
    def name(self) -> str:
        """The name of its folder; each state of the vectors has its own."""
        return f"base-{self.change_no}{f'-{self.vector_no}' if self.vector_no else ''}"

    def rows_of(self, keys: Sequence[Key]) -> NDArray[np.int64]:
        """Return the row of each key, −1 for a key that is not in this segment."""
        wanted = np.asarray(keys, dtype=np.int64)
        if not len(self.keys):
            return np.full(len(wanted), -1)
        rows = self.keys.searchsorted(wanted)
        rows[rows == len(self.keys)] = 0
        rows[self.keys[rows] != wanted] = -1
        return rows


def build_segment(
    rows: Iterable[SegmentRow],
    spec: CatalogueSpec,
    *,
    change_no: int,
    model: ModelId | None,
    mean: Vector | None = None,
    vector_no: int = 0,
    folder: Path | None = None,
) -> Segment:
    """Build a segment in memory, its largest arrays in the folder if one is given; rows come in key
    order.

    Where the model's vectors are centred, `mean` is subtracted, or the mean of these rows if none
    is given.
    """
    builder = SegmentBuilder(spec, model, mean, folder=folder)
    for row in rows:
        builder.add(row)
    return builder.build(change_no, vector_no)


class SegmentBuilder:
    """Collects rows in flat buffers: a million records as objects would fill the memory."""

    def __init__(
        self,
        spec: CatalogueSpec,
        model: ModelId | None,
        mean: Vector | None = None,
        *,
        values: ColumnValues | None = None,
        folder: Path | None = None,
    ) -> None:
        self._spec = spec
        self._values = values or ColumnValues(spec)
        self._dimension = model.dimension if model else 0
        self._is_centred = model is not None and model.is_centred
        self._mean = mean
        self._keys = array("q")
        self._titles = TitleArraysBuilder()
        self._vectors = Spool(folder)
        self._missing = bytes(4 * self._dimension)
        self._awaiting = bytearray()
        self._terms = {name: TermColumnBuilder() for name in term_fields(spec)}
        self._numbers = {name: array("d") for name in number_fields(spec)}
        self._texts = {
            name: (read, TextColumnBuilder(folder)) for name, read in text_columns(spec).items()
        }

    def add(self, row: SegmentRow) -> None:
        """Add the next row."""
        self._keys.append(row.key)
        self._titles.add(self._spec.names_of(row.record))
        # nothing is kept before the first one
        if row.vector is not None and not self._vectors.size_bytes:
            for _ in range(len(self._keys) - 1):
                self._vectors.add(self._missing)
        if row.vector is not None or self._vectors.size_bytes:
            self._vectors.add(self._missing if row.vector is None else row.vector.tobytes())
        self._awaiting.append(row.awaits_vector)
        entries, numbers = self._values.of(row.record)
        for term_column, some in zip(self._terms.values(), entries, strict=True):
            term_column.add(some)
        for number_column, number in zip(self._numbers.values(), numbers, strict=True):
            number_column.append(number)
        texts = row.texts or [read(row.record) for read, _ in self._texts.values()]
        for (_, text_column), text in zip(self._texts.values(), texts, strict=True):
            text_column.add(text)

    def build(self, change_no: int, vector_no: int) -> Segment:
        """Return the segment of the rows added so far."""
        # first, since joining its parts takes most memory
        titles = TitleIndex(self._titles.build())
        vectors, mean = None, self._mean
        if self._vectors.size_bytes:
            rows = self._vectors.build(np.float32).reshape(-1, self._dimension)
            vectors, mean = _centred_table(rows, is_centred=self._is_centred, mean=self._mean)
        awaiting = np.frombuffer(self._awaiting, dtype=bool)
        return Segment(
            change_no=change_no,
            keys=np.frombuffer(self._keys, dtype=np.int64),
            columns=Columns(
                size=len(self._keys),
                terms={name: column.build() for name, column in self._terms.items()},
                numbers={name: np.frombuffer(one) for name, one in self._numbers.items()},
                texts={name: column.build() for name, (_, column) in self._texts.items()},
            ),
            titles=titles,
            vectors=vectors,
            mean=mean,
            vector_no=vector_no,
            awaiting=awaiting if awaiting.any() else None,
        )


def _centred_table(
    rows: Vector, *, is_centred: bool, mean: Vector | None
) -> tuple[VectorTable, Vector | None]:
    """Return the table of vectors, which are centred in place if their model asks for it, and their
    mean.
    """
    if not is_centred:
        return build_vector_table(rows), None
    mean = measure_mean(rows) if mean is None else mean
    for block in iter_blocks(rows):  # in place: a second array of a million rows would take 1.5 GB
        rows[block] = centre(rows[block], mean)
    return build_vector_table(rows), mean


def with_late_vectors(
    segment: Segment,
    rows: Iterable[tuple[Key, Vector | None]],
    *,
    model: ModelId,
    vector_no: int,
    folder: Path,
) -> Segment:
    """Return a segment with other vectors; `rows` has every record with a text, in any order."""
    spool = Spool(folder)
    for _ in range(segment.columns.size):
        spool.add(bytes(4 * model.dimension))
    vectors = spool.build(np.float32).reshape(-1, model.dimension)
    awaiting = np.zeros(segment.columns.size, dtype=bool)
    places = {key: row for row, key in enumerate(segment.keys.tolist())}
    for row, vector in ((places[key], vector) for key, vector in rows if key in places):
        if vector is None:
            awaiting[row] = True
        else:
            vectors[row] = vector
    table, mean = _centred_table(vectors, is_centred=model.is_centred, mean=None)
    late = awaiting if awaiting.any() else None
    return replace(segment, vectors=table, mean=mean, vector_no=vector_no, awaiting=late)


def save_segment(segment: Segment, folder: Path, *, like: Path | None = None) -> None:
    """Write a segment to a new folder, synced to disk; arrays without vectors are linked to those
    of `like`.

    The checksums are those of the data in memory, so that a disk that writes something else is
    noticed too.
    """
    folder.mkdir(parents=True)
    sums: dict[str, FileSum] = {}
    linked = {} if like is None else find_sums(like / SUMS_FILE) or {}
    for name, values in _arrays(segment).items():
        file_name = f"{name}.npy"
        if like is not None and not name.startswith(VECTOR_ARRAYS):
            os.link(like / file_name, folder / file_name)
            sums[file_name] = linked.get(file_name) or measure_file(folder / file_name)
            continue
        with SummedFile(folder / file_name) as file:  # as `np.save` does
            np.lib.format.write_array_header_1_0(
                file, np.lib.format.header_data_from_array_1_0(values)
            )
            for block in iter_blocks(values):
                file.write(values[block].tobytes())
        sums[file_name] = file.sum()
    meta = {
        "change_no": segment.change_no,
        "rows": segment.columns.size,
        "entries": {name: column.entries for name, column in segment.columns.terms.items()},
        "numbers": list(segment.columns.numbers),
        "texts": list(segment.columns.texts),
        "has_vectors": segment.vectors is not None,
        "has_sketches": segment.vectors is not None and segment.vectors.sketches is not None,
        "has_mean": segment.mean is not None,
        "vector_no": segment.vector_no,
        "has_awaiting": segment.awaiting is not None,
    }
    with SummedFile(folder / META_FILE) as file:
        file.write(orjson.dumps(meta))
    save_sums(folder / SUMS_FILE, sums | {META_FILE: file.sum()})


def open_segment(folder: Path) -> Segment:
    """Return a saved segment, memory-mapped."""
    try:
        return _mapped(orjson.loads((folder / META_FILE).read_bytes()), folder)
    except UNREADABLE as error:
        raise DamagedIndexError(f"{folder.name}: not a readable segment: {error}") from error


def _mapped(meta: Mapping[str, Any], folder: Path) -> Segment:
    def load(name: str) -> Array:
        path = folder / f"{name}.npy"
        # A plain array, since indexing a `memmap` is several times as slow.
        return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > 4096 else None))

    terms = {
        name: TermColumn(
            entries=[(term, category, label) for term, category, label in entries],
            ends=load(f"term_{name}_ends"),
            rows=load(f"term_{name}_rows"),
        )
        for name, entries in meta["entries"].items()
    }
    numbers = {name: load(f"number_{name}") for name in meta["numbers"]}
    texts = {
        name: TextColumn(letters=load(f"{name}_letters"), ends=load(f"{name}_ends"))
        for name in meta["texts"]
    }
    vectors, sketches = None, None
    if meta["has_sketches"]:
        sketches = Sketches(
            **{name: load(f"sketch_{name}") for name in Sketches.__dataclass_fields__}
        )
    if meta["has_vectors"]:
        vectors = VectorTable(
            exact=load("vectors"), codes=load("codes"), scales=load("scales"), sketches=sketches
        )
    return Segment(
        change_no=meta["change_no"],
        keys=load("keys"),
        columns=Columns(size=meta["rows"], terms=terms, numbers=numbers, texts=texts),
        titles=TitleIndex(TitleArrays(**{name: load(f"title_{name}") for name in array_fields()})),
        vectors=vectors,
        mean=load("mean") if meta["has_mean"] else None,
        vector_no=meta["vector_no"],
        awaiting=load("awaiting") if meta["has_awaiting"] else None,
    )


def _arrays(segment: Segment) -> dict[str, Array]:
    """Return every array of a segment by its file's name."""
    arrays: dict[str, Array] = {"keys": segment.keys}
    arrays |= {f"title_{name}": getattr(segment.titles.arrays, name) for name in array_fields()}
    for name, column in segment.columns.terms.items():
        arrays |= {f"term_{name}_ends": column.ends, f"term_{name}_rows": column.rows}
    arrays |= {f"number_{name}": values for name, values in segment.columns.numbers.items()}
    for name, text in segment.columns.texts.items():
        arrays |= {f"{name}_letters": text.letters, f"{name}_ends": text.ends}
    if segment.mean is not None:
        arrays["mean"] = segment.mean
    if segment.awaiting is not None:
        arrays["awaiting"] = segment.awaiting
    if segment.vectors is not None:
        table = segment.vectors
        arrays |= {"vectors": table.exact, "codes": table.codes, "scales": table.scales}
        if table.sketches is not None:
            arrays |= {
                f"sketch_{name}": getattr(table.sketches, name)
                for name in Sketches.__dataclass_fields__
            }
    return arrays
