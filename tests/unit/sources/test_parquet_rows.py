"""Rows from Parquet: nested values, dates, batches, and files that are broken."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arro3.core import Array, DataType, Table
from arro3.io import write_parquet

from stackroom.errors import InputError
from stackroom.sources.parquet_rows import BATCH_ROWS, ParquetRows
from support.reading import PACKERS

pytestmark = pytest.mark.row("N1")

ROWS = BATCH_ROWS * 2 + 100


def texts(*values: str | None) -> Array:
    return Array(list(values), DataType.string())


def packed(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    write_parquet(Table.from_pydict(columns), file)
    return file.getvalue()


def source(folder: Path, content: bytes, name: str = "a.parquet") -> ParquetRows:
    path = folder / name
    path.write_bytes(content)
    return ParquetRows(path)


def values(folder: Path, columns: dict[str, Any]) -> list[Any]:
    rows = list(source(folder, packed(columns)).iter_rows())
    assert not any(row.problem for row in rows)
    return [row.values for row in rows]


def numbered(count: int) -> bytes:
    return packed(
        {
            "id": Array(list(range(count)), DataType.int64()),
            "title": texts(*(f"Käse {number}" for number in range(count))),
        }
    )


@pytest.mark.parametrize(
    "start", [0, 1, BATCH_ROWS - 1, BATCH_ROWS, BATCH_ROWS + 1, ROWS - 1, ROWS, ROWS + 9]
)
def test_rows_of_many_batches_come_in_order_with_their_places_after_those_passed_over(
    tmp_path: Path, start: int
) -> None:
    rows = source(tmp_path, numbered(ROWS)).iter_rows(start=start)
    assert [(row.place, row.values) for row in rows] == [
        (f"row {number + 1}", {"id": number, "title": f"Käse {number}"})
        for number in range(start, ROWS)
    ]


def test_a_time_keeps_its_zone(tmp_path: Path) -> None:
    moments = Array(np.array([1_577_934_245_000_000], dtype=np.int64))
    columns = {"utc": moments.cast(DataType.timestamp("us", tz="UTC"))}
    assert values(tmp_path, columns) == [{"utc": datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)}]


def test_exact_numbers_and_bytes_are_values_that_a_record_can_hold(tmp_path: Path) -> None:
    columns = {
        "price": Array([1.25, 3.0], DataType.float64()).cast(DataType.decimal128(9, 2)),
        "amount": Array([7, 8], DataType.int64()).cast(DataType.decimal128(9, 0)),
        "text": Array(["é".encode(), b"\x89PNG\xff"], DataType.binary()),
        "length": Array(np.array([90, 0], dtype=np.int64)).cast(DataType.duration("s")),
    }
    first, second = values(tmp_path, columns)
    assert (first["price"], first["amount"], first["text"], first["length"]) == (
        1.25,
        7,
        "é",
        "0:01:30",
    )
    assert second["text"] is None
    assert {type(first[name]) for name in ("price", "amount")} == {float, int}


def test_a_time_that_python_has_no_value_for_costs_its_cell_and_is_noted(tmp_path: Path) -> None:
    moments = Array(np.array([0, 2**61, 0], dtype=np.int64)).cast(DataType.timestamp("us"))
    table = source(tmp_path, packed({"id": texts("1", "2", "3"), "at": moments}))
    rows = list(table.iter_rows())
    assert [row.values for row in rows] == [
        {"id": "1", "at": datetime(1970, 1, 1)},
        {"id": "2", "at": None},
        {"id": "3", "at": datetime(1970, 1, 1)},
    ]
    (note,) = table.notes
    assert note.startswith("1 cell of 'at' cannot be read, left empty (first: row 2: year")


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("content", [b"", b"PAR", b"id,title\n1,a\n", bytes(500), b"PAREencrypted"])
def test_what_is_no_parquet_is_refused_by_name(tmp_path: Path, content: bytes, suffix: str) -> None:
    with pytest.raises(InputError, match=r"a\.parquet.*: not a Parquet file"):
        list(source(tmp_path, PACKERS[suffix](content), f"a.parquet{suffix}").iter_rows())


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    "content",
    [
        b"PAR1 nonsense PAR1",
        b"PAR1PAR1",
        b"PAR1\0\0\0\0PAR1",
        b"PAR1\xff\xff\xff\xffPAR1",
        b"PAR1abcd\x05\0\0\0PAR1",
    ],
)
def test_an_end_that_does_not_fit_is_refused_before_the_library_panics(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, suffix: str
) -> None:
    with pytest.raises(
        InputError, match=r"cannot be read as Parquet: the file is damaged or truncated"
    ):
        list(source(tmp_path, PACKERS[suffix](content), f"a.parquet{suffix}").iter_rows())
    assert capfd.readouterr().err == ""


def test_a_damaged_page_is_refused_by_name(tmp_path: Path) -> None:
    content = bytearray(numbered(ROWS))
    middle = len(content) // 2
    content[middle : middle + 2_000] = b"\xff" * 2_000
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        list(source(tmp_path, bytes(content)).iter_rows())
