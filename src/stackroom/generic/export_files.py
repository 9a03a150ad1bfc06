"""Tables as files, written while their rows are read; Parquet and XLSX into a temporary file, which
is then read piece by piece.
"""

import csv
import importlib
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, chain, islice
from typing import IO, Any

import orjson
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

from stackroom.catalogue.spec import LIST_TYPES, FieldType, texts_of
from stackroom.generic.export import Column, ExportedTable, Row, cell_of
from stackroom.tools.faces.rest import Download

BATCH_ROWS = 1_000
CHUNK_BYTES = 64 * 1024
MOST_SHEET_ROWS = 1_048_575  # rows of a sheet below its header
MOST_CELL_CHARS = 32_767  # the longest text that a cell of a sheet holds


class ExportFormat(StrEnum):
    """A kind of file, called by its ending."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"
    XLSX = "xlsx"


MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.JSON: "application/json",
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def to_download(table: ExportedTable, name: str | None, form: ExportFormat) -> Download:
    """Return a table as a file to be sent, called by a name."""
    return Download(
        name=f"{name or 'records'}.{form}", media_type=MEDIA_TYPES[form], pieces=write(table, form)
    )


def write(table: ExportedTable, form: ExportFormat) -> Iterator[bytes]:
    """Yield the file of a table, piece by piece."""
    return WRITERS[form](table)


def _write_csv(table: ExportedTable) -> Iterator[bytes]:
    header: Row = [column.name for column in table.columns]
    for rows in chain([[header]], _iter_batches(table.rows)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [[cell_of(value) for value in row] for row in rows]
        )
        yield text.getvalue().encode("utf-8", "replace")


def _write_jsonl(table: ExportedTable) -> Iterator[bytes]:
    for rows in _iter_batches(table.rows):
        yield b"".join(
            [orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in _objects(table, rows)]
        )


def _write_json(table: ExportedTable) -> Iterator[bytes]:
    between = b"[\n"
    for rows in _iter_batches(table.rows):
        yield between + b",\n".join(map(orjson.dumps, _objects(table, rows)))
        between = b",\n"
    yield b"\n]\n" if between == b",\n" else b"[]\n"


def _objects(table: ExportedTable, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    names = [column.name for column in table.columns]
    for row in rows:
        yield {name: value for name, value in zip(names, row, strict=True) if value is not None}


def _iter_batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield rows in batches."""
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch


def _write_parquet(table: ExportedTable) -> Iterator[bytes]:
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

    return RecordBatchReader.from_batches(schema, map(to_batch, _iter_batches(table.rows)))


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


def _write_workbook(table: ExportedTable) -> Iterator[bytes]:
    """Yield a table as a workbook of one sheet."""
    xlsxwriter = importlib.import_module("xlsxwriter")  # 0.2 s of CPU
    # Texts stay texts: nothing that begins with "=" is computed by whoever opens the file.
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}

    def fill(file: IO[bytes]) -> None:
        with xlsxwriter.Workbook(file, options) as book:
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


WRITERS = {
    ExportFormat.CSV: _write_csv,
    ExportFormat.JSON: _write_json,
    ExportFormat.JSONL: _write_jsonl,
    ExportFormat.PARQUET: _write_parquet,
    ExportFormat.XLSX: _write_workbook,
}
