"""Fields that get nothing because no row has their column are named, with the columns that no field
takes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.ingest.mapping import RowMapping
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import Record, RecordId
from stackroom.packages import PACKAGES
from support.ingesting import IngestBench, ListedRows

pytestmark = pytest.mark.row("A10")

PATHS = {"title": "name", "episodes": "parts.count", "synopsis": "story"}


@pytest.fixture
def spec() -> CatalogueSpec:
    """Three fields, each from a column of another name; rows are known by their `key`."""
    anime = PACKAGES.get("anime").spec
    fields = {
        name: replace(anime.fields[name], source_path=path, required=False)
        for name, path in PATHS.items()
    }
    return replace(anime, fields=fields, id_path="key", embed=None)


def build(
    spec: CatalogueSpec, source: ListedRows, mapping: RowMapping | None = None
) -> IngestReport:
    return IngestBench(spec=spec, mapping=mapping).add(source)


def row(number: int, **values: Any) -> dict[str, Any]:
    return {"key": number, "name": f"Title {number}", **values}


def test_a_column_that_no_row_has_is_named_with_the_columns_that_no_field_takes(
    spec: CatalogueSpec,
) -> None:
    report = build(
        spec, ListedRows([row(number, parts={"count": 3}, plot="x") for number in range(3)])
    )
    assert report.written == 3
    assert report.notes == [
        "no row has a column for these fields: 'synopsis' (from 'story'); no field takes these"
        " columns: 'plot'"
    ]


def test_several_fields_are_in_one_note_and_of_many_columns_the_first_are_named(
    spec: CatalogueSpec,
) -> None:
    many = {f"column{number}": number for number in range(12)}
    (note,) = build(spec, ListedRows([row(1, **many)])).notes
    assert "fields: 'episodes' (from 'parts.count'), 'synopsis' (from 'story');" in note
    assert note.endswith("'column8', 'column9' and 2 more")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(1, parts={"count": 3}, story="x", more="y")],
        [row(1, parts=None, story="")],
        [row(1, parts={"count": 3}), row(2), row(3, story="x")],
    ],
)
def test_columns_that_are_empty_or_only_in_some_rows_are_no_matter(
    spec: CatalogueSpec, rows: list[Mapping[str, Any]]
) -> None:
    assert build(spec, ListedRows(rows)).notes == []


def test_nothing_is_said_where_rows_may_be_passed_over_or_the_fields_have_no_paths(
    spec: CatalogueSpec,
) -> None:
    def records_of(values: Mapping[str, Any]) -> tuple[Record, ...]:
        return (Record(id=RecordId(str(values["key"])), fields={"title": "x"}, kind=spec.kinds[0]),)

    assert build(spec, ListedRows([row(1)], has_digests=True)).notes == []
    assert build(spec, ListedRows([row(1)]), RowMapping(records_of=records_of)).notes == []
