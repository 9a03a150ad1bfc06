"""Rows from Parquet files, plain or compressed: lists and structs become Python values, dates stay
dates.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from arro3.core import Array, RecordBatch
from arro3.io import read_parquet

from stackroom.errors import InputError
from stackroom.sources.compressed import is_compressed, open_decompressed, require_moderate
from stackroom.sources.file_rows import FileRows, plain_value, refusing, unique_names
from stackroom.sources.port import SourceRow

UNREADABLE = "{count:,} cell{s} of '{name}' cannot be read, left empty (first: {first})"
BATCH_ROWS = 128  # few, since a text of a megabyte that is stored once may be in each
MAGIC = b"PAR1"
LENGTH_BYTES = 4  # the size of the footer length, which precedes the magic at the end


class ParquetRows(FileRows):
    """Implements `RowSource` for a Parquet file; a cell that cannot be read is empty, and noted."""

    def _iter_table(self) -> Iterator[SourceRow]:
        first, unpacked = 1, 0
        for batch in self.iter_batches():
            columns = [_cells(column) for column in batch.columns]
            unpacked += sum(
                len(cell) for cells in columns for cell in cells if isinstance(cell, str)
            )
            require_moderate(self._path, unpacked)
            names = unique_names(batch.column_names)
            for number, cells in enumerate(zip(*columns, strict=True), start=first):
                values = dict(zip(names, cells, strict=True))
                for name, value in values.items():
                    if isinstance(value, Exception):
                        values[name] = None
                        self._notes.count(UNREADABLE, f"row {number}: {value}", name=name)
                yield SourceRow(place=f"row {number}", values=values)
            first += batch.num_rows

    def iter_batches(self) -> Iterator[RecordBatch]:
        """Yield the columns in parts; a file that cannot be read is an `InputError`."""
        content: str | bytes = str(self._path)
        with open_decompressed(self._path) as file:
            if is_compressed(self._path):
                content = file.read()
                self._require_whole(io.BytesIO(content))
            else:
                self._require_whole(file)
        with refusing(self._path, "Parquet", advice="write it again"):
            yield from read_parquet(content, batch_size=BATCH_ROWS)

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
                f"{self._path}: cannot be read as Parquet: the file is damaged or truncated; copy"
                " it again"
            )


def _cells(column: Array) -> Sequence[Any]:
    """Return the cells; for one that Python cannot represent, such as a date after the year 9999,
    its error.
    """
    cells: list[Any] = []
    # the library has no exception class for a value out of Python's range
    with suppress(Exception):
        return [plain_value(cell) for cell in column.to_pylist()]
    for place in range(len(column)):
        try:
            cells.append(plain_value(column[place].as_py()))
        except Exception as error:
            cells.append(error)
    return cells
