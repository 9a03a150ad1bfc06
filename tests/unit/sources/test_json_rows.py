"""Rows from JSON and JSON Lines, plain and packed, whole and broken."""

import gzip
import json
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pinakes.errors import InputError
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.port import SourceRow

pytestmark = pytest.mark.row("A10")

ROWS = [{"title": f"Title {number}", "text": "käse 日本 " * 20} for number in range(500)]
LINES = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)
LIST = json.dumps(ROWS).encode()
NESTED = json.dumps({"license": "x", "data": ROWS}).encode()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".zst": zstandard.compress,
    ".gz": gzip.compress,
}


def source(folder: Path, name: str, content: bytes) -> JsonRows:
    path = folder / name
    path.write_bytes(content)
    return JsonRows(path)


def read(folder: Path, name: str, content: bytes) -> list[SourceRow]:
    return list(source(folder, name, content).iter_rows())


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", LINES, "line"),
        ("a.ndjson", LINES, "line"),
        ("lines.json", LINES, "line"),
        ("windows.json", LINES.replace(b"\n", b"\r\n"), "line"),
        ("marked.jsonl", BOM_UTF8 + LINES, "line"),
        ("marked-lines.json", BOM_UTF8 + LINES, "line"),
        ("marked.json", BOM_UTF8 + LIST, "row"),
        ("a.json", LIST, "row"),
        ("nested.json", NESTED, "row"),
    ],
)
def test_rows_come_out_as_they_went_in_with_their_places(
    tmp_path: Path, name: str, content: bytes, place: str, suffix: str
) -> None:
    rows = read(tmp_path, name + suffix, PACKERS[suffix](content))
    assert [row.values for row in rows] == ROWS
    assert [row.place for row in rows] == [f"{place} {number}" for number in range(1, 501)]
    assert not any(row.problem for row in rows)


def test_a_file_of_several_zstd_frames_is_read_to_its_end(tmp_path: Path) -> None:
    packed = zstandard.compress(LINES) + zstandard.compress(LINES)
    assert len(read(tmp_path, "a.jsonl.zst", packed)) == 1_000


def test_the_name_of_a_source_is_its_file_s_whole_path(tmp_path: Path) -> None:
    assert source(tmp_path, "a.jsonl", LINES).name == str(tmp_path.resolve() / "a.jsonl")


def test_blank_lines_are_passed_over_but_counted_as_lines(tmp_path: Path) -> None:
    rows = read(tmp_path, "a.jsonl", b'{"a": 1}\n\n  \r\n{"a": 2}')
    assert [(row.place, row.values["a"]) for row in rows] == [("line 1", 1), ("line 4", 2)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": ', "not valid JSON"),
        (b"nonsense", "not valid JSON"),
        (b'{"a": "\xff\xfe"}', "not valid JSON"),
        (b"[1, 2]", "a list, not an object"),
        (b'"text"', "a str, not an object"),
        (b"null", "a NoneType, not an object"),
    ],
)
def test_a_broken_line_is_a_row_with_its_problem_and_the_others_are_read(
    tmp_path: Path, line: bytes, problem: str
) -> None:
    rows = read(tmp_path, "a.jsonl", b'{"a": 1}\n' + line + b'\n{"a": 2}\n')
    assert [row.place for row in rows] == ["line 1", "line 2", "line 3"]
    assert [bool(row.problem) for row in rows] == [False, True, False]
    assert problem in (rows[1].problem or "")


def test_rows_of_a_list_that_are_no_objects_have_a_problem_each(tmp_path: Path) -> None:
    rows = read(tmp_path, "a.json", b'[{"a": 1}, 7]')
    assert [row.problem for row in rows] == [None, "a int, not an object"]


def test_broken_json_is_refused_with_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.json: not valid JSON at line 3, column \d+"):
        read(tmp_path, "a.json", b'[\n{"a": 1},\n{"a": }\n]')


@pytest.mark.parametrize("content", [b"{}", b"7", b'{"data": {}}', b'{"title": "one row"}'])
def test_json_without_a_list_of_rows_is_refused_with_what_would_be_right(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="no list of rows; expected a list or an object with data or rows"):
        read(tmp_path, "a.json", content)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        JsonRows(tmp_path / "nothing.jsonl")


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_packed_file_cut_short_is_an_error_and_not_a_shorter_catalogue(
    tmp_path: Path, suffix: str, kept: float
) -> None:
    packed = PACKERS[suffix](LINES)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, f"a.jsonl{suffix}", packed[: int(len(packed) * kept)])


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_a_file_that_is_not_packed_as_its_name_says_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, f"a.jsonl{suffix}", LINES)


def test_a_gzip_file_damaged_within_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINES))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, "a.jsonl.gz", bytes(packed))


@pytest.mark.data
def test_the_real_file_is_read_to_its_last_row(shared_data: Any) -> None:
    rows = JsonRows(shared_data / "anime" / "anime-20k.jsonl.zst")
    assert sum(1 for row in rows.iter_rows() if row.problem is None) >= 20_666
