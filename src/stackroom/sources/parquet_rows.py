"""Rows from Parquet files, plain or compressed: lists and structs become Python values, dates stay dates."""

import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

from arro3.core import Array, RecordBatch
from arro3.io import read_parquet

from stackroom.errors import InputError
from stackroom.sources.columns import plain_value, unique_names
from stackroom.sources.compressed import is_compressed, open_decompressed, require_moderate
from stackroom.sources.file_rows import FileRows, refusing
from stackroom.sources.port import SourceRow

BATCH_ROWS = 128
"""Few, since a text of a megabyte that is stored once may be in each."""
MAGIC = b"PAR1"
"""The first and last bytes of a Parquet file."""
LENGTH_BYTES = 4
"""The size of the footer length, which precedes the magic at the end."""


class ParquetRows(FileRows):
    """Implements `RowSource` for a Parquet file; a cell that cannot be read is empty, and noted."""

    def _iter_table(self) -> Iterator[SourceRow]:
        first, unpacked = 1, 0
        for batch in self.iter_batches():
            columns = [_cells(column) for column in batch.columns]
            unpacked += sum(len(cell) for cells in columns for cell in cells if isinstance(cell, str))
            require_moderate(self._path, unpacked)
            yield from self._iter_batch(unique_names(batch.column_names), columns, first)
            first += batch.num_rows

    def _iter_batch(self, names: Sequence[str], columns: Sequence[Sequence[Any]], first: int) -> Iterator[SourceRow]:
        for number, cells in enumerate(zip(*columns, strict=True), start=first):
            values = dict(zip(names, cells, strict=True))
            for name, value in values.items():
                if isinstance(value, Exception):
                    values[name] = None
                    self._notes.count(name, f"row {number}: {value}", partial(_say_unreadable, name))
            yield SourceRow(place=f"row {number}", values=values)

    def iter_batches(self) -> Iterator[RecordBatch]:
        """Yield the columns in parts; a file that cannot be read is an `InputError`."""
        content = self._content()
        with refusing(self._path, "Parquet", advice="write it again"):
            yield from read_parquet(content, batch_size=BATCH_ROWS)

    def _content(self) -> str | bytes:
        """Return the input of the Parquet library: the file's path, or its decompressed content."""
        with open_decompressed(self._path) as file:
            if is_compressed(self._path):
                content = file.read()
                self._require_whole(io.BytesIO(content))
                return content
            self._require_whole(file)
            return str(self._path)

    def _require_whole(self, file: BinaryIO) -> None:
        """Refuse a file that is not Parquet or is truncated: the library panics on some of them."""
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{self._path}: not a Parquet file; one starts with {MAGIC.decode()}")
        size_bytes = file.seek(0, io.SEEK_END)
        before_end = size_bytes - len(MAGIC) - LENGTH_BYTES
        file.seek(max(before_end, 0))
        end = file.read()
        described_bytes = int.from_bytes(end[:LENGTH_BYTES], "little")
        if not end.endswith(MAGIC) or not 0 < described_bytes <= before_end - len(MAGIC):
            raise InputError(
                f"{self._path}: cannot be read as Parquet: the file is damaged or truncated; copy it again"
            )


def _say_unreadable(name: str, count: int, first: str) -> str:
    cells = "1 cell" if count == 1 else f"{count:,} cells"
    return f"{cells} of '{name}' cannot be read, left empty (first: {first})"


def _cells(column: Array) -> Sequence[Any]:
    try:
        return [plain_value(cell) for cell in column.to_pylist()]
    except Exception:  # the library has no exception class for a value out of Python's range
        return [_cell(column, place) for place in range(len(column))]


def _cell(column: Array, place: int) -> Any:
    """Return a cell, or the error of one that Python cannot represent, such as a date after the year 9999."""
    try:
        return plain_value(column[place].as_py())
    except Exception as error:
        return error
