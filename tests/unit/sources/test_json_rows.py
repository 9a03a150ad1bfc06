"""Rows from JSON and JSON Lines, plain and packed, whole and broken."""

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from support.reading import opened_as, told

pytestmark = [pytest.mark.row("A10"), pytest.mark.row("N1"), pytest.mark.row("N19")]

ROWS = [{"title": f"Title {number}", "text": "käse 日本 " * 20} for number in range(500)]
LINES = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)
LIST = json.dumps(ROWS).encode()
NESTED = json.dumps({"license": "x", "data": ROWS}).encode()


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
    rows = list(opened_as(tmp_path, name, content).iter_rows())
    assert [row.values for row in rows] == ROWS
    assert [row.place for row in rows] == [f"{place} {number}" for number in range(1, 501)]


READ: dict[str, tuple[str, str, str]] = {
    "blank lines are passed over, but counted as lines": (
        "a.jsonl",
        '{"a": 1}\n\n  \r\n{"a": 2}',
        "line 1: a=1\nline 4: a=2",
    ),
    "a broken line has its problem, and the others are read": (
        "a.jsonl",
        '{"a": 1}\nnonsense\n{"a": \n[1, 2]\n"text"\nnull\n{"a": 2}\n',
        (
            "line 1: a=1\n"
            "line 2: PROBLEM not valid JSON: invalid literal, expected 'null'\n"
            "line 3: PROBLEM not valid JSON: unexpected end of data\n"
            "line 4: PROBLEM a list, not an object\nline 5: PROBLEM a str, not an object\n"
            "line 6: PROBLEM a NoneType, not an object\nline 7: a=2"
        ),
    ),
    "rows of a list that are no objects have a problem each": (
        "a.json",
        '[{"a": 1}, 7]',
        "row 1: a=1\nrow 2: PROBLEM a int, not an object",
    ),
    "values that are not a number are empty": (
        "a.jsonl",
        '{"a": NaN}\n{"a": -Infinity, "b": "NaN"}\n',
        "line 1: a=None\nline 2: a=None, b='NaN'",
    ),
    "objects under their ids are records with their keys": (
        "a.json",
        '{"cards": {"x1": {"name": "A"}, "x2": {"name": "B", "text": "b"}}}',
        "row 1: key='x1', name='A'\nrow 2: key='x2', name='B', text='b'",
    ),
    "objects under their ids may be the whole document": (
        "a.json",
        '{"x1": {"name": "A"}, "x2": {"name": "B", "text": "b"}}',
        "row 1: key='x1', name='A'\nrow 2: key='x2', name='B', text='b'",
    ),
    "objects of many forms under their ids are records too": (
        "a.json",
        '{"t0": {"source": 1}, "t1": {"source": 2, "charset": 2}, "t2": {"gzip": 3}, "t3": {},'
        ' "t4": {"source": 1}, "t5": {"source": 2, "charset": 2}, "t6": {"gzip": 3}, "t7": {},'
        ' "t8": {"source": 1}, "t9": {"source": 2, "charset": 2}, "ta": {"gzip": 3}, "tb": {}}',
        (
            "row 1: key='t0', source=1\nrow 2: key='t1', source=2, charset=2\n"
            "row 3: key='t2', gzip=3\nrow 4: key='t3'\nrow 5: key='t4', source=1\n"
            "row 6: key='t5', source=2, charset=2\nrow 7: key='t6', gzip=3\n"
            "row 8: key='t7'\nrow 9: key='t8', source=1\n"
            "row 10: key='t9', source=2, charset=2\nrow 11: key='ta', gzip=3\n"
            "row 12: key='tb'"
        ),
    ),
    "objects that are unlike are no records": (
        "a.json",
        '{"settings": {"a": 1}, "paths": {"b": 2}, "of": {"films": [{"n": 1}]}}',
        "row 1: n=1\nNOTE the records are read from 'of.films' (1)",
    ),
    "columns and rows of values are records": (
        "a.json",
        '{"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, "y"]]}',
        "row 1: a=1, b='x'\nrow 2: a=2, b='y'",
    ),
    "columns with the number of each row are records": (
        "a.json",
        '{"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}}',
        "row 1: a=1, b='x'\nrow 2: a=2, b='y'",
    ),
    "a list of lists has the names first": (
        "a.json",
        '[["a", "b"], [1, "x"], [2, "y"]]',
        "row 1: a=1, b='x'\nrow 2: a=2, b='y'",
    ),
    "features have their properties as columns, and points their place": (
        "a.json",
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "id": 7, "geometry":'
        ' {"type": "Point", "coordinates": [9.9, 48.4]}, "properties": {"name": "Ulm"}}]}',
        "row 1: id=7, name='Ulm', longitude=9.9, latitude=48.4",
    ),
    "features may be lines": (
        "a.jsonl",
        '{"type": "Feature", "id": 7, "geometry": {"type": "Point", "coordinates": [9.9, 48.4]},'
        ' "properties": {"name": "Ulm"}}\n',
        "line 1: id=7, name='Ulm', longitude=9.9, latitude=48.4",
    ),
}


@pytest.mark.parametrize("case", READ)
def test_a_file_is_read_as_it_is_meant(tmp_path: Path, case: str) -> None:
    name, content, rows = READ[case]
    assert told(opened_as(tmp_path, name, content)) == rows


NO_LIST = "no list of rows; expected a list or an object with data or rows"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'[\n{"a": 1},\n{"a": }\n]', r"a\.json: not valid JSON at line 3, column \d+"),
        *((content, NO_LIST) for content in (b"{}", b"7", b'{"data": {}}', b'{"title": "one"}')),
    ],
)
def test_a_document_without_rows_is_refused_with_what_would_be_right(
    tmp_path: Path, content: bytes, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        told(opened_as(tmp_path, "a.json", content))


FILMS = [{"title": f"Film {number}", "cast": [{"name": "A"}, {"name": "B"}]} for number in range(3)]
PAGES = {"pages": [{"films": FILMS[:2]}, {"films": FILMS[2:]}], "n": [{"a": 1}] * 9}


@pytest.mark.parametrize(
    ("document", "records"),
    [
        ({"response": {"page": 1, "results": {"films": FILMS}}}, None),
        ({"response": {"page": 1, "results": {"films": FILMS}}}, "response.results.films"),
        ({"films": FILMS, "makers": [{"name": "x"}]}, None),
        ({"films": FILMS, "makers": [{"name": "x"}]}, "films"),
        (PAGES, "pages.films"),
        (PAGES, "pages[].films[]"),
        ([{"films": FILMS}], "films"),
    ],
)
def test_records_are_found_anywhere_in_a_document_or_where_it_is_said(
    tmp_path: Path, document: Any, records: str | None
) -> None:
    source = opened_as(tmp_path, "a.json", json.dumps(document), records=records)
    assert [row.values for row in source.iter_rows()] == FILMS


def test_the_longest_list_is_the_table_and_the_others_are_named(tmp_path: Path) -> None:
    document = json.dumps({"meta": {"makers": [{"name": "x"}]}, "films": {"all": FILMS}})
    source = opened_as(tmp_path, "a.json", document)
    assert [row.values for row in source.iter_rows()] == FILMS
    assert source.notes == ("the records are read from 'films.all' (3)",)
    assert source.other_tables == ("meta.makers",)
    makers = opened_as(tmp_path, "a.json", document, records="meta.makers")
    assert makers.name.endswith("a.json#?records=meta.makers")
    assert [row.values for row in makers.iter_rows()] == [{"name": "x"}]
    with pytest.raises(
        InputError,
        match=r"no records at 'films\.al' \(did you mean 'films\.all'\?\); lists of objects",
    ):
        told(opened_as(tmp_path, "a.json", document, records="films.al"))


def test_lines_may_have_several_records_each(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"films": films}) for films in (FILMS, [], FILMS[:1]))
    rows = list(opened_as(tmp_path, "a.jsonl", lines, records="films").iter_rows())
    assert [row.place for row in rows] == ["line 1"] * 3 + ["line 3"]
    assert [row.values for row in rows] == [*FILMS, FILMS[0]]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_the_encoding_of_a_file_is_found_as_in_csv_files(
    tmp_path: Path, name: str, encoding: str
) -> None:
    rows = [{"city": city} for city in ("Zürich", "Málaga", "Besançon")]
    shown = rows if name.endswith("l") else [rows]
    text = "\n".join(json.dumps(part, ensure_ascii=False) for part in shown)
    source = opened_as(tmp_path, name, f"{text}\n".encode(encoding))
    assert [row.values for row in source.iter_rows()] == rows
    assert bool(source.notes) == (encoding == "cp1252")
