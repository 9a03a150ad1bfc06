"""Result sets as Parquet and XLSX: written to a temporary file, which is then read piece by
piece.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import IO, Any

from arro3.core import (
    Array,
    DataType,
    Field,
    RecordBatch,
    RecordBatchReader,
    Schema,
    Table,
    list_array,
)
from arro3.io import write_parquet
from xlsxwriter import Workbook

from stackroom.catalogue.spec import LIST_TYPES, FieldType, texts_of
from stackroom.generic.export import Column, ExportedTable, Row, cell_of, iter_batches

CHUNK_BYTES = 64 * 1024
MOST_SHEET_ROWS = 1_048_575  # rows of a sheet below its header
MOST_CELL_CHARS = 32_767  # the longest text that a cell of a sheet holds


def write_parquet_file(table: ExportedTable) -> Iterator[bytes]:
    """Yield a table as Parquet."""
    reader = _to_reader(table)
    return _from_file(lambda file: write_parquet(reader, file))


def to_arrow(table: ExportedTable) -> Table:
    """Return a table of Arrow."""
    return _to_reader(table).read_all()


def _to_reader(table: ExportedTable) -> RecordBatchReader:
    columns = table.columns
    schema = Schema([Field(column.name, _arrow_type(column.type)) for column in columns])

    def to_batch(rows: Sequence[Row]) -> RecordBatch:
        arrays = [_to_array(*both) for both in zip(columns, zip(*rows, strict=True), strict=True)]
        return RecordBatch.from_arrays(arrays, schema=schema)

    return RecordBatchReader.from_batches(schema, map(to_batch, iter_batches(table.rows)))


def _to_array(column: Column, values: Sequence[Any]) -> Array:
    if column.type not in LIST_TYPES:
        return Array(
            [_typed(value, column.type) for value in values], type=_arrow_type(column.type)
        )
    lists = [texts_of(value) for value in values]
    ends = list(accumulate(map(len, lists), initial=0))
    texts = Array([text for some in lists for text in some], type=DataType.utf8())
    return list_array(Array(ends, type=DataType.int32()), texts, type=_arrow_type(column.type))


def _typed(value: Any, kind: FieldType) -> Any:
    if value is None:
        return None
    if kind is FieldType.INT:
        return int(value)
    return float(value) if kind is FieldType.FLOAT else cell_of(value)


def _arrow_type(kind: FieldType) -> DataType:
    if kind in LIST_TYPES:
        return DataType.list(Field("item", DataType.utf8()))
    numbers = {FieldType.INT: DataType.int64(), FieldType.FLOAT: DataType.float64()}
    return numbers.get(kind, DataType.utf8())


def write_workbook(table: ExportedTable) -> Iterator[bytes]:
    """Yield a table as a workbook of one sheet."""
    # Texts stay texts: nothing that begins with "=" is computed by whoever opens the file.
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}

    def fill(file: IO[bytes]) -> None:
        with Workbook(file, options) as book:
            sheet = book.add_worksheet()
            sheet.freeze_panes(1, 0)
            sheet.write_row(
                0, 0, [column.name for column in table.columns], book.add_format({"bold": True})
            )
            for number, row in enumerate(islice(table.rows, MOST_SHEET_ROWS), start=1):
                for place, cell in enumerate(map(cell_of, row)):
                    sheet.write(
                        number, place, cell[:MOST_CELL_CHARS] if isinstance(cell, str) else cell
                    )

    return _from_file(fill)


def _from_file(fill: Callable[[IO[bytes]], object]) -> Iterator[bytes]:
    """Yield what is written to a temporary file, which goes with the last piece."""
    with tempfile.TemporaryFile() as file:
        fill(file)
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
