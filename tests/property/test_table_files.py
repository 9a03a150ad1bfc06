"""Tables made at random are read back as they were written, in every format."""

import csv
import io
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.sources.grid_layout import MISSING
from stackroom.sources.location import ReadOptions
from stackroom.sources.opener import open_source
from stackroom.sources.port import CellChange
from support.reading import PACKERS
from support.spreadsheets import write_ods, write_xlsx

pytestmark = pytest.mark.row("N1", "N19")

NAMES = st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=3, max_size=6, unique=True)
"""Names of columns."""
LETTERS = st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="_#=")
WORDS = (
    st.text(LETTERS, min_size=1, max_size=20)
    .map(str.strip)
    .filter(lambda one: one and one.lower() not in MISSING)
)
LINES = (
    st.text(st.one_of(LETTERS, st.just("\n")), max_size=30)
    .map(str.strip)
    .filter(lambda one: one.lower() not in MISSING)
)
NUMBERS = st.one_of(
    st.integers(-(10**14), 10**14),
    st.floats(-1e9, 1e9, allow_nan=False).map(lambda one: round(one, 3)),
    st.booleans(),
    st.none(),
)
DAYS = st.dates(date(1950, 1, 1), date(2100, 1, 1))
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)).map(
    lambda one: one.replace(microsecond=0, second=7)
)


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[Any]) -> list[dict[str, Any]]:
    """Rows with a word in their first two columns, and any cells in the others."""
    names = draw(NAMES)
    rows = draw(
        st.lists(st.tuples(WORDS, WORDS, *[cells] * (len(names) - 2)), min_size=1, max_size=12)
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples, which write the same files again."""
    return tmp_path_factory.mktemp("files")


def read(path: Path, options: ReadOptions | None = None) -> list[dict[str, Any]]:
    source = open_source(str(path), options=options or ReadOptions())
    rows = list(source.iter_rows())
    assert not [row.problem for row in rows if row.problem]
    again = [dict(row.values) for row in open_source(source.name).iter_rows()]
    assert again == [dict(row.values) for row in rows]
    assert list(source.iter_rows(start=1)) == rows[1:]
    return again


@settings(deadline=None)
@given(
    table=tables(LINES),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    suffix=st.sampled_from(
        [f"{ending}{packing}" for ending in (".csv", ".tsv") for packing in PACKERS]
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_csv_is_read_back_as_it_was_written(
    folder: Path, table: list[dict[str, str]], delimiter: str, encoding: str, suffix: str, end: str
) -> None:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(table[0]), delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(table)
    path = folder / f"a{suffix}"
    path.write_bytes(PACKERS[suffix[4:]](file.getvalue().encode(encoding)))
    assert read(path) == table
    assert open_source(str(path)).notes == ()


RAGGED = st.lists(
    st.lists(st.one_of(LINES, st.sampled_from(["NA", "-", "None"])), min_size=1, max_size=6),
    max_size=12,
)


@settings(deadline=None, max_examples=4 * settings.default.max_examples)
@given(
    rows=RAGGED,
    delimiter=st.sampled_from(",;"),
    encoding=st.sampled_from(["utf-8", "utf-16", "gb18030"]),
)
def test_no_row_and_no_letter_of_a_ragged_table_is_lost_unsaid(
    folder: Path, rows: list[list[str]], delimiter: str, encoding: str
) -> None:
    file = io.StringIO(newline="")
    names = ["Aa", "Bb", "Cc", "Dd"]
    csv.writer(file, delimiter=delimiter).writerows([names, ["x"] * 4, *rows, ["y"] * 4])
    path = folder / "ragged.csv"
    path.write_bytes(file.getvalue().encode(encoding))
    source = open_source(str(path), options=ReadOptions(skip=0, header_rows=1, encoding=encoding))
    read_rows = list(source.iter_rows())
    expected = [
        row
        for row in csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=delimiter)
        if any(row)
    ]
    assert len(read_rows) == len(expected) - 1
    emptied = 0
    for found, cells in zip(read_rows, expected[1:], strict=True):
        if found.problem:
            assert any(cells[4:])
            continue
        assert len(cells) >= 4 or "completed with empty ones" in " ".join(map(str, source.notes))
        for value, cell in zip(found.values.values(), cells, strict=False):
            assert value == cell or (value is None and cell.lower() in MISSING)
            emptied += value is None
    changes = [
        note for note in source.notes if isinstance(note, CellChange) and note.kind == "missing"
    ]
    assert emptied == sum(change.count for change in changes)
    assert source.measure_losses().unread == sum(bool(row.problem) for row in read_rows)


@given(
    table=tables(LINES),
    titles=st.lists(WORDS, min_size=1, max_size=4),
    notes=st.lists(WORDS, max_size=3),
)
def test_lines_above_and_below_a_table_change_nothing_where_their_number_is_given(
    folder: Path, table: list[dict[str, str]], titles: list[str], notes: list[str]
) -> None:
    file = io.StringIO(newline="")
    above = [title.replace('"', "").replace(",", "") for title in titles]
    file.writelines(f"{title}\n" for title in above)
    writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    csv.writer(file, lineterminator="\n").writerows([f"Note: {note}"] for note in notes)
    path = folder / "a.csv"
    path.write_text(file.getvalue(), encoding="utf-8", newline="")
    assert read(path, ReadOptions(skip=len(titles), header_rows=1)) == table


@settings(max_examples=25, deadline=None)
@given(
    table=tables(st.one_of(WORDS, NUMBERS, DAYS, MOMENTS)),
    suffix=st.sampled_from([".xlsx", ".ods"]),
)
def test_spreadsheets_are_read_back_as_they_were_written(
    folder: Path, table: list[dict[str, Any]], suffix: str
) -> None:
    rows = [list(table[0]), *(list(row.values()) for row in table)]
    write = write_xlsx if suffix == ".xlsx" else write_ods
    path = write(folder / f"a{suffix}", {"Sheet": rows})
    assert read(path) == table


JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        LINES,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)


@given(
    table=tables(JSON_VALUES),
    path_to=st.lists(st.text("xyz", min_size=1, max_size=3), max_size=4),
    are_lines=st.booleans(),
)
def test_json_is_read_back_as_it_was_written_however_deep_it_is(
    folder: Path, table: list[dict[str, Any]], path_to: list[str], are_lines: bool
) -> None:
    document: Any = table
    for name in reversed(path_to):
        document = {name: document, "page": 1}
    path = folder / ("a.jsonl" if are_lines else "a.json")
    text = "".join(f"{json.dumps(row)}\n" for row in table) if are_lines else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    assert read(path) == table
    if path_to and not are_lines:
        assert read(path, ReadOptions(records=".".join(path_to))) == table


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "name": WORDS,
                "count": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
                "tags": st.one_of(st.none(), st.lists(WORDS, max_size=3)),
                "place": st.fixed_dictionaries(
                    {"town": WORDS, "at": st.one_of(st.none(), st.floats(-90, 90))}
                ),
                "sizes": st.dictionaries(WORDS, st.integers(0, 9), min_size=1, max_size=3),
                "price": st.decimals(-1000, 1000, places=2),
                "day": DAYS,
                "moment": MOMENTS,
                "parts": st.lists(st.fixed_dictionaries({"id": st.integers(0, 9)}), max_size=2),
            }
        ),
        min_size=1,
        max_size=8,
    )
)
def test_parquet_is_read_back_as_it_was_written_with_lists_structs_maps_and_decimals(
    folder: Path, rows: list[dict[str, Any]]
) -> None:
    schema = pa.schema(
        {
            "name": pa.string(),
            "count": pa.int64(),
            "tags": pa.list_(pa.string()),
            "place": pa.struct({"town": pa.string(), "at": pa.float64()}),
            "sizes": pa.map_(pa.string(), pa.int32()),
            "price": pa.decimal128(9, 2),
            "day": pa.date32(),
            "moment": pa.timestamp("us"),
            "parts": pa.list_(pa.struct({"id": pa.int8()})),
        }
    )
    written = [{**row, "sizes": list(row["sizes"].items())} for row in rows]
    path = folder / "a.parquet"
    pq.write_table(pa.Table.from_pylist(written, schema=schema), path)
    assert read(path) == [
        {**row, "price": pytest.approx(float(Decimal(row["price"])))} for row in rows
    ]
