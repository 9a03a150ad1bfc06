"""Rows from JSON and JSON Lines, plain and packed, whole and broken."""

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import ReadOptions
from stackroom.sources.port import SourceRow

pytestmark = pytest.mark.row("A10")

ROWS = [{"title": f"Title {number}", "text": "käse 日本 " * 20} for number in range(500)]
LINES = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)
LIST = json.dumps(ROWS).encode()
NESTED = json.dumps({"license": "x", "data": ROWS}).encode()


def source(folder: Path, name: str, content: bytes) -> JsonRows:
    path = folder / name
    path.write_bytes(content)
    return JsonRows(path)


def read(folder: Path, name: str, content: bytes) -> list[SourceRow]:
    return list(source(folder, name, content).iter_rows())


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
    tmp_path: Path, name: str, content: bytes, place: str
) -> None:
    rows = read(tmp_path, name, content)
    assert [row.values for row in rows] == ROWS
    assert [row.place for row in rows] == [f"{place} {number}" for number in range(1, 501)]
    assert not any(row.problem for row in rows)


def test_blank_lines_are_passed_over_but_counted_as_lines(tmp_path: Path) -> None:
    rows = read(tmp_path, "a.jsonl", b'{"a": 1}\n\n  \r\n{"a": 2}')
    assert [(row.place, row.values["a"]) for row in rows] == [("line 1", 1), ("line 4", 2)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": ', "not valid JSON"),
        (b"nonsense", "not valid JSON"),
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
def test_json_without_a_list_of_rows_is_refused_with_what_would_be_right(
    tmp_path: Path, content: bytes
) -> None:
    with pytest.raises(
        InputError, match="no list of rows; expected a list or an object with data or rows"
    ):
        read(tmp_path, "a.json", content)


@pytest.mark.data
def test_the_real_file_is_read_to_its_last_row(shared_data: Any) -> None:
    rows = JsonRows(shared_data / "anime" / "anime-20k.jsonl.zst")
    assert sum(1 for row in rows.iter_rows() if row.problem is None) >= 20_666


def values(folder: Path, document: Any, records: str | None = None) -> list[Any]:
    path = folder / "a.json"
    path.write_text(json.dumps(document))
    rows = list(JsonRows(path, ReadOptions(records=records)).iter_rows())
    assert not any(row.problem for row in rows)
    return [row.values for row in rows]


FILMS = [{"title": f"Film {number}", "cast": [{"name": "A"}, {"name": "B"}]} for number in range(3)]


@pytest.mark.row("N1")
@pytest.mark.parametrize(
    ("document", "records"),
    [
        ({"response": {"page": 1, "results": {"films": FILMS}}}, "response.results.films"),
        ({"films": FILMS, "makers": [{"name": "x"}]}, "films"),
        (
            {"pages": [{"films": FILMS[:2]}, {"films": FILMS[2:]}], "n": [{"a": 1}] * 9},
            "pages.films",
        ),
        (
            {"pages": [{"films": FILMS[:2]}, {"films": FILMS[2:]}], "n": [{"a": 1}] * 9},
            "pages[].films[]",
        ),
        ([{"films": FILMS}], "films"),
    ],
)
def test_records_are_found_anywhere_in_a_document_or_where_it_is_said(
    tmp_path: Path, document: Any, records: str
) -> None:
    assert values(tmp_path, document, records) == FILMS
    if "pages" not in records and isinstance(document, dict):
        assert values(tmp_path, document) == FILMS


@pytest.mark.row("N1")
def test_the_longest_list_is_the_table_and_the_others_are_named(tmp_path: Path) -> None:
    document = {"meta": {"makers": [{"name": "x"}]}, "films": {"all": FILMS}}
    rows = source(tmp_path, "a.json", json.dumps(document).encode())
    assert [row.values for row in rows.iter_rows()] == FILMS
    assert rows.notes == ("the records are read from 'films.all' (3)",)
    assert rows.other_tables == ("meta.makers",)
    makers = JsonRows(tmp_path / "a.json", ReadOptions(records="meta.makers"))
    assert makers.name.endswith("a.json#?records=meta.makers")
    assert [row.values for row in makers.iter_rows()] == [{"name": "x"}]
    with pytest.raises(
        InputError,
        match=r"no records at 'films\.al' \(did you mean 'films\.all'\?\); lists of objects",
    ):
        values(tmp_path, document, "films.al")


@pytest.mark.row("N1")
def test_objects_under_their_ids_are_records_with_their_keys(tmp_path: Path) -> None:
    document = {
        "cards": {"x1": {"name": "A", "cost": 1}, "x2": {"name": "B", "cost": 2, "text": "b"}}
    }
    assert values(tmp_path, document) == [
        {"key": "x1", "name": "A", "cost": 1},
        {"key": "x2", "name": "B", "cost": 2, "text": "b"},
    ]
    assert values(tmp_path, document["cards"]) == values(tmp_path, document)
    unlike = {"settings": {"a": 1}, "paths": {"b": 2}, "rows_of": {"films": FILMS}}
    assert values(tmp_path, unlike) == FILMS
    varied = {
        f"t{n}": dict.fromkeys((["source"], ["source", "charset"], ["gzip"], [])[n % 4], n)
        for n in range(12)
    }
    assert [
        row.values["key"] for row in read(tmp_path, "a.json", json.dumps(varied).encode())
    ] == list(varied)


@pytest.mark.row("N1")
@pytest.mark.parametrize(
    "document",
    [
        {"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, "y"]]},
        {"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}},
        [["a", "b"], [1, "x"], [2, "y"]],
    ],
)
def test_columns_and_rows_of_values_are_records(tmp_path: Path, document: Any) -> None:
    assert values(tmp_path, document) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.row("N1")
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_features_have_their_properties_as_columns_and_points_their_place(
    tmp_path: Path, name: str
) -> None:
    feature = {
        "type": "Feature",
        "id": 7,
        "geometry": {"type": "Point", "coordinates": [9.9, 48.4]},
        "properties": {"name": "Ulm", "people": 126_000},
    }
    whole = {"type": "FeatureCollection", "features": [feature, feature]}
    content = json.dumps(whole) if name == "a.json" else f"{json.dumps(feature)}\n" * 2
    rows = read(tmp_path, name, content.encode())
    assert dict(rows[0].values) == {
        "id": 7,
        "name": "Ulm",
        "people": 126_000,
        "longitude": 9.9,
        "latitude": 48.4,
    }
    assert len(rows) == 2


@pytest.mark.row("N1")
def test_values_that_are_not_a_number_are_empty_and_utf_16_is_read(tmp_path: Path) -> None:
    assert [
        row.values
        for row in read(tmp_path, "a.jsonl", b'{"a": NaN}\n{"a": -Infinity, "b": "NaN"}\n')
    ] == [
        {"a": None},
        {"a": None, "b": "NaN"},
    ]
    assert read(tmp_path, "a.json", json.dumps(FILMS).encode("utf-16"))[0].values == FILMS[0]


@pytest.mark.row("N1")
def test_lines_may_have_several_records_each(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"films": films}) + "\n" for films in (FILMS, [], FILMS[:1])]
    path.write_text("".join(lines))
    rows = list(JsonRows(path, ReadOptions(records="films")).iter_rows())
    assert [(row.place, row.values["title"]) for row in rows] == [
        ("line 1", "Film 0"),
        ("line 1", "Film 1"),
        ("line 1", "Film 2"),
        ("line 3", "Film 0"),
    ]


CITIES = ["Zürich", "Málaga", "Besançon"]


@pytest.mark.row("N19")
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_the_encoding_of_a_file_is_found_as_in_csv_files(
    tmp_path: Path, name: str, encoding: str
) -> None:
    rows = [{"city": city} for city in CITIES]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    text = (
        "\n".join(lines) if name.endswith("l") else json.dumps(rows, ensure_ascii=False, indent=1)
    )
    (tmp_path / name).write_bytes(f"{text}\n".encode(encoding))
    source = JsonRows(tmp_path / name)
    assert [row.values for row in source.iter_rows()] == rows
    assert bool(source.notes) == (encoding == "cp1252")


def test_a_given_encoding_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(
        json.dumps([{"city": "Kraków"}], ensure_ascii=False).encode("cp1250")
    )
    (row,) = JsonRows(tmp_path / "a.json", ReadOptions(encoding="windows-1250")).iter_rows()
    assert row.values == {"city": "Kraków"}
