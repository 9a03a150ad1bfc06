"""A cell of a row as a field's value."""

import math
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import DateOrder, FieldSpec, FieldType
from stackroom.errors import InputError
from stackroom.ingest.mapping import ReadRow, build_mapping
from stackroom.model.record import Tag

TITLED = """
name = "table"
title = "Table"
summary = "A table"
[fields.title]
type = "text"
role = "title"
"""


def read_whole(raw: Any, kind: FieldType, **more: Any) -> ReadRow:
    field = FieldSpec(name="field", type=kind, source_path="field", **more)
    spec = compile_text(TITLED, origin="test")
    read_row = build_mapping(replace(spec, fields={**spec.fields, "field": field})).read_row
    assert read_row is not None
    return read_row({"title": "One", "field": raw})


def read(raw: Any, kind: FieldType, **more: Any) -> Any:
    (record,), unread, _ = read_whole(raw, kind, **more)
    if unread:
        raise InputError(unread[0].reason)
    return record.get("field")


@pytest.mark.row("N19")
@pytest.mark.parametrize(
    ("kind", "plain", "written"),
    [
        (
            "int",
            ("7", " -7 ", "70.00", "91 min", "91 minutes", 7, 7.0, None),
            ("1,234", "007", "+7", "2k", "about 7"),
        ),
        (
            "float",
            ("12.50", "0.1234567890123456", 1.5),
            ("1.249,90", "45 %", "1e3", "12.12345678901234567890"),
        ),
        (
            "date",
            ("2015", "2015/04", "2015-04-30 00:00:00", date(2015, 4, 30)),
            ("30/4/15", "March 3, 2009"),
        ),
        (
            "date",
            ("2015-04-30",),
            ("2015-04-30T14:22:00Z", datetime(2015, 4, 30, 14, 22, tzinfo=UTC)),
        ),
        ("enum", ("yes", "no", True), ("Yes", "1", "ja")),
        ("text", ("1,234", "a < b & c"), ("<p>1</p>", "Tom &amp; Jerry")),
    ],
)
def test_the_text_of_a_cell_is_kept_where_its_value_does_not_say_all_of_it(
    kind: str, plain: tuple[Any, ...], written: tuple[Any, ...]
) -> None:
    how: dict[str, Any] = {"int": {"unit": "min"}, "enum": {"values": ("yes", "no")}}.get(kind, {})
    texts = {
        raw: read_whole(raw, FieldType(kind), **how).written.get("field")
        for raw in (*plain, *written)
    }
    assert texts == dict.fromkeys(plain) | {raw: str(raw) for raw in written}


@pytest.mark.parametrize("kind", [kind for kind in FieldType if kind is not FieldType.ENUM])
@pytest.mark.parametrize("raw", [None, "", "  ", "[]", "{}", math.nan, '=""'])
def test_a_cell_without_a_value_is_nothing(kind: FieldType, raw: Any) -> None:
    assert read(raw, kind) is None


@pytest.mark.parametrize("kind", [FieldType.TEXT, FieldType.URL])
@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("Bread", "Bread"),
        ("  Bread \n", "Bread"),
        ('="0439023483"', "0439023483"),
        (7, "7"),
        (7.0, "7"),
        (7.25, "7.25"),
        (True, "true"),
        (["a", None, "b"], "a, b"),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_a_text_is_what_the_cell_says(kind: FieldType, raw: Any, value: str) -> None:
    assert read(raw, kind) == value


@pytest.mark.parametrize("raw", [7, 7.0, "7", "7.0", "7,000.0", "-7"])
def test_a_whole_number_is_an_int(raw: Any) -> None:
    found = read(raw, FieldType.INT)
    assert type(found) is int
    assert abs(found) in (7, 7000)


@pytest.mark.parametrize("kind", [FieldType.INT, FieldType.FLOAT])
@pytest.mark.parametrize(
    "raw",
    ["many", "7 days", "1-2", "12:30", True, [7], {"n": 7}, math.inf, "1e999", "1" + "0" * 400],
)
def test_what_is_no_number_is_refused_by_the_name_of_the_field(kind: FieldType, raw: Any) -> None:
    with pytest.raises(InputError, match=r"^'field' is .{1,64}, not a number$"):
        read(raw, kind)


def test_a_part_of_a_whole_and_a_number_beyond_all_columns_are_refused() -> None:
    with pytest.raises(InputError, match=r"'field' is '7.5', not a whole number"):
        read("7.5", FieldType.INT)
    with pytest.raises(InputError, match="not a number"):
        read(10**400, FieldType.FLOAT)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("2015-04-30", "2015-04-30"),
        (20150430, "2015-04-30"),
        ("2015", "2015"),
        (2015, "2015"),
        (2015.0, "2015"),
        (date(2015, 4, 30), "2015-04-30"),
        (datetime(2015, 4, 30, 12, tzinfo=UTC), "2015-04-30"),
    ],
)
def test_a_date_is_read_in_the_ways_that_tables_write_it(raw: Any, value: str) -> None:
    assert read(raw, FieldType.DATE) == value


@pytest.mark.parametrize(
    "raw", ["yesterday", "2015-02-30", "2015-13", "12", True, ["2015"] * 2, "x" * 999]
)
def test_what_is_no_date_is_refused_with_one_that_is(raw: Any) -> None:
    with pytest.raises(InputError, match=r"^'field' is .{1,64}, not a date such as 2015-04-30$"):
        read(raw, FieldType.DATE)


@pytest.mark.parametrize("raw", ["04/30/2015", "4/30/15"])
def test_the_order_of_day_and_month_is_that_of_the_column(raw: str) -> None:
    assert read(raw, FieldType.DATE, date_order=DateOrder.MONTH_FIRST) == "2015-04-30"
    advice = (
        r'date such as 2015-04-30; if the month comes first in this column, add date_order = "mdy"'
        r" to the field$"
    )
    with pytest.raises(InputError, match=advice):
        read(raw, FieldType.DATE)


@pytest.mark.parametrize("raw", ["yes", "Y", "true", True, "t", "1", 1, "ja", "oui", "sí", "x"])
def test_a_choice_of_yes_and_no_is_known_in_every_spelling(raw: Any) -> None:
    assert read(raw, FieldType.ENUM, values=("yes", "no")) == "yes"
    assert read(raw, FieldType.ENUM, values=("Nein", "Ja")) == "Ja"


@pytest.mark.parametrize(
    ("raw", "split", "value"),
    [
        (["a", "b"], "", ("a", "b")),
        (["a", " a ", None, "", "b"], "", ("a", "b")),
        ("a", "", ("a",)),
        ("a; b;c", "", ("a; b;c",)),
        ("a; b;;c ", "; ", ("a", "b", "c")),
        ('["a", "b"]', "", ("a", "b")),
        ("['a', 'b']", ";", ("a", "b")),
        ("[a, b]", "", ("[a, b]",)),
        (
            [{"name": "Ann"}, {"title": "Bo"}, {"value": "Cy"}, {"other": "D"}],
            "",
            ("Ann", "Bo", "Cy"),
        ),
        ([1, 2.0, True], "", ("1", "2", "true")),
        ("[]", "", None),
        (";;", ";", None),
    ],
)
def test_a_list_is_read_from_a_list_or_a_text_each_item_once(
    raw: Any, split: str, value: Any
) -> None:
    assert read(raw, FieldType.TEXTS, split=split) == value
    tags = tuple(Tag("", text) for text in value) if value else None
    assert read(raw, FieldType.TAGS, split=split) == tags


@pytest.mark.parametrize(("raw", "shown"), [("Film", "'Film'"), (7, "'7'")])
def test_an_unknown_choice_is_refused_with_those_that_there_are(raw: Any, shown: str) -> None:
    with pytest.raises(InputError, match=f"'field' is {shown}; expected one of TV, MOVIE"):
        read(raw, FieldType.ENUM, values=("TV", "MOVIE"))


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"a": [1]}, {"a": [1]}),
        ('{"a": [1]}', {"a": [1]}),
        (" [1, 2]", [1, 2]),
        ("{not json", "{not json"),
        ("plain", "plain"),
        (7, 7),
    ],
)
def test_json_is_kept_and_read_from_a_text(raw: Any, value: Any) -> None:
    assert read(raw, FieldType.JSON) == value


@pytest.mark.parametrize("raw", ["[" * 5_000 + "]" * 5_000, "{" * 5_000], ids=["list", "object"])
def test_a_cell_nested_beyond_reason_is_a_text(raw: str) -> None:
    assert read(raw, FieldType.TEXTS) == (raw,)
    assert read(raw, FieldType.JSON) == raw
