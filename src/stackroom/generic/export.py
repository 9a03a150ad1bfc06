"""Result sets and figures as files, written while records are read: as tables, JSON or
citations.
"""

import csv
import importlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, islice
from typing import Any, NamedTuple

import orjson

from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldType, texts_of
from stackroom.errors import InputError
from stackroom.generic.aggregate import FIGURES, AggregateParts
from stackroom.generic.record import RankedRecord
from stackroom.generic.shapes import Facet
from stackroom.model.record import Record
from stackroom.tools.endpoint import Download

BATCH_ROWS = 1_000
LIST_MARK = "|"  # separates the texts of a list in a cell

CITED = {
    FieldRole.TITLE: "title",
    FieldRole.PEOPLE: "author",
    FieldRole.TIME: "year",
    FieldRole.LINK: "url",
}
YEAR_DIGITS = 4
NO_KEY = re.compile(r"[^A-Za-z0-9:._-]+")
LATEX_SIGNS = re.compile(r"[\\{}$&#%_^~]")
LATEX = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}

Row = Sequence[Any]


class ExportFormat(StrEnum):
    """A kind of file, called by its ending."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"
    XLSX = "xlsx"
    BIB = "bib"


MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.JSON: "application/json",
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ExportFormat.BIB: "application/x-bibtex",
}


class Column(NamedTuple):
    """A column of an exported table."""

    name: str
    type: FieldType


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTable:
    """A result set as rows; the values of a row are in the order of the columns, None where a
    record has none.
    """

    columns: Sequence[Column]
    rows: Iterator[Row]
    roles: Mapping[FieldRole, str] = field(default_factory=dict)
    """The columns that name a record, those who made it and its time, for citations."""


def table_of(
    spec: CatalogueSpec, records: Iterable[RankedRecord], *, is_ranked: bool
) -> ExportedTable:
    """Return records as a table: the id, the kind where there are several, the fields, and the
    score of a search.
    """
    columns = list_columns(spec, is_ranked=is_ranked)

    def row_of(ranked: RankedRecord) -> Row:
        values = plain_values(ranked.record, spec) | {
            "score": ranked.score,
            "relevance": ranked.label,
        }
        return [values.get(column.name) for column in columns]

    roles = {
        role: found.name for role in CITED if (found := spec.field_with_role(role)) is not None
    }
    return ExportedTable(columns=columns, rows=map(row_of, records), roles=roles)


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


def write(table: ExportedTable, form: ExportFormat) -> Iterator[bytes]:
    """Yield the file of a table, piece by piece."""
    if form in TEXT_WRITERS:
        return TEXT_WRITERS[form](table)
    pieces: Iterator[bytes] = getattr(importlib.import_module(FILES), FILE_WRITERS[form])(table)
    return pieces


def to_download(table: ExportedTable, name: str | None, form: ExportFormat) -> Download:
    """Return a table as a file to be sent, called by a name."""
    return Download(
        name=f"{name or 'records'}.{form}", media_type=MEDIA_TYPES[form], pieces=write(table, form)
    )


def _write_csv(table: ExportedTable) -> Iterator[bytes]:
    header: Row = [column.name for column in table.columns]
    for rows in chain([[header]], iter_batches(table.rows)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [[cell_of(value) for value in row] for row in rows]
        )
        yield text.getvalue().encode("utf-8", "replace")


def _write_jsonl(table: ExportedTable) -> Iterator[bytes]:
    for rows in iter_batches(table.rows):
        yield b"".join(
            [orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in _objects(table, rows)]
        )


def _write_json(table: ExportedTable) -> Iterator[bytes]:
    between = b"[\n"
    for rows in iter_batches(table.rows):
        yield between + b",\n".join(map(orjson.dumps, _objects(table, rows)))
        between = b",\n"
    yield b"\n]\n" if between == b",\n" else b"[]\n"


def _objects(table: ExportedTable, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    names = [column.name for column in table.columns]
    for row in rows:
        yield {name: value for name, value in zip(names, row, strict=True) if value is not None}


def _write_bibtex(table: ExportedTable) -> Iterator[bytes]:
    """Yield an entry for each record; refuse records that have no makers, or no time."""
    if not {FieldRole.PEOPLE, FieldRole.TIME} <= table.roles.keys():
        raise InputError("'format': bib is for catalogues whose records have people and a time")
    for rows in iter_batches(table.rows):
        yield "".join([_entry_of(one, table.roles) for one in _objects(table, rows)]).encode()


def _entry_of(values: Mapping[str, Any], roles: Mapping[FieldRole, str]) -> str:
    told = {name: values.get(roles.get(role, "")) for role, name in CITED.items()}
    texts = {
        name: " and ".join(texts_of(value))
        for name, value in told.items()
        if value not in (None, [])
    }
    if "year" in texts:
        texts["year"] = texts["year"][:YEAR_DIGITS]
    escaped = {
        name: LATEX_SIGNS.sub(
            lambda sign: LATEX.get(sign[0], f"\\{sign[0]}"), " ".join(text.split())
        )
        for name, text in texts.items()
    }
    lines = ",\n".join([f"  {name} = {{{text}}}" for name, text in escaped.items()])
    return f"@misc{{{NO_KEY.sub('-', str(values['id']))},\n{lines}\n}}\n\n"


def cell_of(value: Any) -> Any:
    """Return a value as one cell: lists of texts joined, whatever else is nested as JSON."""
    if isinstance(value, list) and all(
        isinstance(one, str) and LIST_MARK not in one for one in value
    ):
        return LIST_MARK.join(value)
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value


def iter_batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield rows in batches."""
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch


TEXT_WRITERS: Mapping[ExportFormat, Callable[[ExportedTable], Iterator[bytes]]] = {
    ExportFormat.CSV: _write_csv,
    ExportFormat.JSON: _write_json,
    ExportFormat.JSONL: _write_jsonl,
    ExportFormat.BIB: _write_bibtex,
}
FILES = "stackroom.generic.export_files"
FILE_WRITERS = {ExportFormat.PARQUET: "write_parquet_file", ExportFormat.XLSX: "write_workbook"}
