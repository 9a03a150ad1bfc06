"""Result sets and figures as tables, whose rows are made while records are read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.generic.aggregate import FIGURES, AggregateParts
from stackroom.generic.shapes import Facet
from stackroom.model.record import Record
from stackroom.search.result_set import Hit

LIST_MARK = "|"  # separates the texts of a list in a cell

Row = Sequence[Any]


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
