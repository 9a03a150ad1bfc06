"""Result sets as files: what each kind of file has, and in which order."""

import csv
import io
from typing import Any

import orjson
import pyarrow.parquet
import pytest
from openpyxl import load_workbook

from stackroom.assembly.app import gate_over
from stackroom.catalogue.compiler import compile_text
from stackroom.errors import InputError
from stackroom.generic.export import ExportParams, export_records
from stackroom.model.record import Record, RecordId
from stackroom.shelf.port import Put
from stackroom.tools.catalogue import OpenCatalogue
from support.memory_shelf import MemoryShelf
from support.served import open_shelf

FILMS = """
name = "films"
title = "Films"
summary = "Films."
[fields]
title = { type = "text", role = "title", search = true }
plot = { type = "text", role = "body", search = true }
genres = { type = "text[]", filter = true }
year = { type = "int", filter = true }
rating = { type = "float", filter = true }
credits = { type = "json" }
secret = { type = "text", shown = false }
"""
RECORDS = (
    {"title": "Sparse"},
    {
        "title": "=1+1",
        "plot": 'dreams, and a "machine"',
        "genres": ("Drama", "Family"),
        "year": 1999,
        "rating": 7.5,
    },
    {
        "title": "Full",
        "plot": "dreams",
        "genres": ("Film|noir", "War"),
        "year": 2001,
        "rating": 8.0,
        "credits": {"editor": "Ada"},
        "secret": "hidden",
    },
)


@pytest.fixture(scope="module")
def films() -> OpenCatalogue:
    spec = compile_text(FILMS, origin="films")
    shelf = MemoryShelf(spec)
    shelf.apply(
        [
            Put(record=Record(id=RecordId(f"f{at}"), fields=fields))
            for at, fields in enumerate(RECORDS)
        ]
    )
    return open_shelf(shelf)


def _file(films: OpenCatalogue, form: str, **asked: Any) -> bytes:
    given = {name: orjson.dumps(one).decode() for name, one in asked.items()}
    params = ExportParams.model_validate({"format": form, **given})
    return b"".join(gate_over(films).ask(export_records, params).pieces)


def exported(films: OpenCatalogue, form: str, **search: Any) -> bytes:
    return _file(films, form, search={"query": "*", **search})


def test_a_list_is_exported_in_its_order_with_the_most_complete_records_first(
    films: OpenCatalogue,
) -> None:
    lines = [orjson.loads(line) for line in exported(films, "jsonl").splitlines()]
    assert [line["id"] for line in lines] == ["f2", "f1", "f0"]
    assert lines[2] == {"id": "f0", "title": "Sparse"}
    assert lines[0]["credits"] == {"editor": "Ada"}


def test_cells_hold_lists_separated_by_a_mark_or_as_json_where_a_text_has_the_mark(
    films: OpenCatalogue,
) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(films, "csv").decode())))
    assert [row["genres"] for row in rows] == ['["Film|noir","War"]', "Drama|Family", ""]
    assert rows[1]["plot"] == 'dreams, and a "machine"'
    assert rows[0]["credits"] == '{"editor":"Ada"}'


def test_fields_that_answers_do_not_show_are_not_exported(films: OpenCatalogue) -> None:
    for form in ("csv", "json", "jsonl"):
        assert b"hidden" not in exported(films, form)


def test_filters_and_the_order_of_a_search_hold_for_the_file(films: OpenCatalogue) -> None:
    found = orjson.loads(exported(films, "json", filters={"year": {"min": 1990}}, sort="year"))
    assert [one["id"] for one in found] == ["f1", "f2"]


def test_a_search_has_its_scores(films: OpenCatalogue) -> None:
    found = orjson.loads(exported(films, "json", query="dreams"))
    assert {one["id"] for one in found} == {"f1", "f2"}
    assert all(0 < one["score"] <= 1 and one["relevance"] for one in found)


def test_an_empty_result_set_is_an_empty_file_of_its_kind(films: OpenCatalogue) -> None:
    nothing = {"filters": {"year": {"min": 2050}}}
    assert orjson.loads(exported(films, "json", **nothing)) == []
    assert exported(films, "jsonl", **nothing) == b""
    assert exported(films, "csv", **nothing).decode().splitlines() == [
        "id,title,plot,genres,year,rating,credits"
    ]
    assert (
        pyarrow.parquet.read_table(io.BytesIO(exported(films, "parquet", **nothing))).num_rows == 0
    )


def test_parquet_has_typed_columns(films: OpenCatalogue) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(exported(films, "parquet")))
    assert str(table.schema.field("year").type) == "int64"
    assert str(table.schema.field("rating").type) == "double"
    assert table.column("genres").to_pylist() == [["Film|noir", "War"], ["Drama", "Family"], []]
    assert table.column("year").to_pylist() == [2001, 1999, None]


def test_a_workbook_has_texts_that_no_program_computes(films: OpenCatalogue) -> None:
    sheet = load_workbook(io.BytesIO(exported(films, "xlsx"))).active
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0][:2] == ("id", "title")
    assert sheet["B3"].data_type == "s"
    assert rows[2][1] == "=1+1"


def test_an_unknown_field_to_sort_by_is_refused_before_anything_is_written(
    films: OpenCatalogue,
) -> None:
    with pytest.raises(InputError, match="cannot be sorted by 'yaer'"):
        exported(films, "csv", sort="yaer")


def figures(films: OpenCatalogue, form: str, **browse: Any) -> bytes:
    return _file(films, form, browse=browse)


def test_groups_are_exported_with_their_figures_in_each_kind_of_table(films: OpenCatalogue) -> None:
    asked: dict[str, Any] = {"by": ["year"], "of": "rating", "sort": "value", "limit": 1}
    lines = figures(films, "csv", **asked).decode().splitlines()
    assert lines == [
        "year,count,known,min,max,mean,median,sum",
        "1999,1,1,7.5,7.5,7.5,7.5,7.5",
        "2001,1,1,8,8,8,8,8",
    ]
    assert orjson.loads(figures(films, "json", **asked))[1]["mean"] == 8
    table = pyarrow.parquet.read_table(io.BytesIO(figures(films, "parquet", **asked)))
    assert [str(table.schema.field(name).type) for name in ("year", "mean")] == ["int64", "double"]
    sheet = load_workbook(io.BytesIO(figures(films, "xlsx", **asked))).active
    assert [row[0] for row in sheet.iter_rows(values_only=True)] == ["year", 1999, 2001]


def test_records_by_a_number_are_exported_all_of_them(films: OpenCatalogue) -> None:
    lines = figures(films, "csv", of="year").decode().splitlines()
    assert lines == ["id,title,year", "films/f2,Full,2001", "films/f1,=1+1,1999"]


def test_the_counts_of_a_facet_are_those_of_the_result_set(films: OpenCatalogue) -> None:
    counted = exported(films, "csv", facet="genres", query="machine").decode().splitlines()
    assert counted == ["genres,count", "Drama,1", "Family,1"]
    bars = exported(films, "csv", facet="year").decode().splitlines()
    assert bars == ["first,last,count", "1999,1999,1", "2000,2000,0", "2001,2001,1"]
