"""Result sets and figures as tables, whose rows are made while records are read, and as files:
Parquet and XLSX are written into a temporary file, which is then read piece by piece.
"""

import csv
import importlib
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, chain, islice
from typing import IO, Annotated, Any, NamedTuple

import orjson
from arro3.core import (
    Array,
    DataType,
    RecordBatch,
    RecordBatchReader,
    Schema,
    Table,
    list_array,
)
from arro3.core import Field as ArrowField
from arro3.io import write_parquet
from pydantic import Field

from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import LIST_TYPES, CatalogueSpec, FieldType, texts_of
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.generic.aggregate import FIGURES, AggregateParts
from stackroom.generic.result_set import only_part
from stackroom.generic.shapes import BrowseParams, Facet, SearchParams
from stackroom.generic.tools import browse, find, search
from stackroom.model.record import Record
from stackroom.search.result_set import Hit
from stackroom.tools.faces.rest import Download
from stackroom.tools.operation import OFF, Call, Faces, Rest, operation
from stackroom.tools.spec import GenericParams, one_of, validate_fields

MOST_GROUPS = 1_000_000  # the most groups of a file
LIST_MARK = "|"  # separates the texts of a list in a cell

Row = Sequence[Any]


class Column(NamedTuple):
    """A column of an exported table."""

    name: str
    type: FieldType


@frozen
class ExportedTable:
    """A result set as rows; the values of a row are in the order of the columns, None where a
    record has none.
    """

    columns: Sequence[Column]
    rows: Iterator[Row]


def table_of(spec: CatalogueSpec, hits: Iterable[Hit], *, is_ranked: bool) -> ExportedTable:
    """Return records as a table: the id, the kind where there are several, the fields, and the
    score of a search.
    """
    columns = list_columns(spec, is_ranked=is_ranked)

    def row_of(hit: Hit) -> Row:
        values = plain_values(hit.record, spec) | {"score": hit.score, "relevance": hit.label}
        return [values.get(column.name) for column in columns]

    return ExportedTable(columns=columns, rows=map(row_of, hits))


def list_columns(spec: CatalogueSpec, *, is_ranked: bool) -> list[Column]:
    """Return the columns of a table of records: those of a search have a score."""
    kinds = [Column("kind", FieldType.ENUM)] if len(spec.kinds) > 1 else []
    scores = (
        [Column("score", FieldType.FLOAT), Column("relevance", FieldType.ENUM)] if is_ranked else []
    )
    fields = [
        Column(field.name, field.type)
        for field in spec.fields.values()
        if field.shown and field.name != "id"
    ]
    return [Column("id", FieldType.TEXT), *kinds, *fields, *scores]


def figures_table(found: AggregateParts) -> ExportedTable:
    """Return groups with their figures, or records by a number, as a table."""
    if found.ranked:
        ranked = [(one.id, one.title, one.value) for one in found.ranked]
        return plain_table(["id", "title", found.of or "value"], ranked)
    groups = found.groups or ([found.overall] if found.overall else [])
    figures = ("known", *FIGURES) if found.of else ()
    rows: list[Row] = []
    for one in groups:
        told = {name: getattr(one, name) for name in figures}
        if one.known is None and figures:
            told["known"] = one.count
        rows.append([*one.values.values(), one.count, *told.values()])
    return plain_table([*(groups[0].values if groups else ()), "count", *figures], rows)


def facet_table(name: str, facets: Sequence[Facet] | None) -> ExportedTable:
    """Return the values of a field with their counts as a table, or the bars of its numbers; empty
    without a facet.
    """
    if not facets:
        return plain_table([name, "count"], [])
    facet = facets[0]
    if facet.bars is not None:
        return plain_table(
            ["first", "last", "count"], [(bar.first, bar.last, bar.count) for bar in facet.bars]
        )
    return plain_table(
        [facet.field, "count"], [(one.value, one.count) for one in facet.values or ()]
    )


def plain_table(names: Sequence[str], rows: Sequence[Row]) -> ExportedTable:
    """Return rows of texts and numbers as a table, with the type of each column by its values."""
    columns = []
    for place, name in enumerate(names):
        kinds = {type(row[place]) for row in rows}
        number = FieldType.FLOAT if float in kinds else FieldType.INT
        columns.append(Column(name, FieldType.TEXT if str in kinds else number))
    return ExportedTable(columns=columns, rows=iter(rows))


def plain_values(record: Record, spec: CatalogueSpec) -> dict[str, Any]:
    """Return the id, the kind and the fields of a record that are shown, as numbers, texts and
    lists; JSON as it is.
    """
    values = plain_record(record, spec)
    for name, declared in spec.fields.items():
        if declared.type is FieldType.TAGS and values.get(name) is not None:
            values[name] = [tag["value"] for tag in values[name]]
    return values


def cell_of(value: Any) -> Any:
    """Return a value as one cell: lists of texts joined, whatever else is nested as JSON."""
    if isinstance(value, list) and all(
        isinstance(one, str) and LIST_MARK not in one for one in value
    ):
        return LIST_MARK.join(value)
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value


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
    schema = Schema([ArrowField(column.name, _arrow_type(column.type)) for column in columns])

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
        return DataType.list(ArrowField("item", DataType.utf8()))
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


WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
WRITERS = {
    ExportFormat.CSV: ("text/csv; charset=utf-8", _write_csv),
    ExportFormat.JSON: ("application/json", _write_json),
    ExportFormat.JSONL: ("application/x-ndjson", _write_jsonl),
    ExportFormat.PARQUET: ("application/vnd.apache.parquet", _write_parquet),
    ExportFormat.XLSX: (WORKBOOK, _write_workbook),
}
"""The media type of each kind of file, and what yields it piece by piece."""


class ExportParams(GenericParams):
    """Which records or figures, and as which kind of file."""

    format: Annotated[ExportFormat, one_of(ExportFormat)] = Field(description="the kind of file")
    search: str = Field(
        default="",
        max_length=20_000,
        description=(
            'the arguments of the tool search as a JSON object, such as {"catalogue": "NAME",'
            ' "query": "*"}; with "facet": "FIELD", the counts of its values'
        ),
    )
    browse: str = Field(
        default="",
        max_length=20_000,
        description=(
            'or the arguments of browse, for figures by group: {"catalogue": "NAME", "by":'
            ' ["FIELD"]}'
        ),
    )


@operation(
    "records/export",
    faces=Faces(
        tool=OFF,
        rest=Rest("GET /v1/export", tag="page", operation_id="exportRecords", media_type="*/*"),
    ),
)
def export_records(call: Call, query: ExportParams) -> Download:
    """Return all records that a search of one catalogue lists, in its order, as a file; or its
    figures by group.
    """
    if bool(query.search) == bool(query.browse):
        raise InputError("give 'search' or 'browse'")
    params: SearchParams | BrowseParams
    if query.browse:
        params = validate_fields(BrowseParams, _read_object("browse", query.browse))
        table = _export_figures(call, params)
    else:
        params = validate_fields(SearchParams, _read_object("search", query.search))
        table = _export_search(call, params)
    media_type, write = WRITERS[query.format]
    name = f"{params.catalogue or 'records'}.{query.format}"
    return Download(name=name, media_type=media_type, pieces=write(table))


def _read_object(name: str, text: str) -> dict[str, object]:
    try:
        stated = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"'{name}' is not valid JSON: {error}") from error
    if not isinstance(stated, dict):
        raise InputError(f'\'{name}\' must be a JSON object, such as {{"catalogue": "NAME"}}')
    return stated


def _export_search(call: Call, params: SearchParams) -> ExportedTable:
    """Return all records that a search of one catalogue lists, or counts by a `facet`."""
    if params.facet:
        counted = params.model_copy(update={"limit": 1, "include": ["facets"]})
        return facet_table(params.facet, search.run(call, counted).facets)
    found = find(call, params)
    part = only_part(found, "catalogue")
    return table_of(part.view.spec, found.records(), is_ranked=bool(found.searched))


def _export_figures(call: Call, params: BrowseParams) -> ExportedTable:
    """Return all groups that a `browse` counts, or all records by a number."""
    if not params.has_figures:
        raise InputError(
            "'by' or 'of' is needed: the fields to group by, or the number to describe"
        )
    every = params.model_copy(update={"limit": MOST_GROUPS, "cursor": None})
    return figures_table(browse.run(call, every).catalogues[0])
