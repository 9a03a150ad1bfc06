"""Rows that are one record, against a plain reference: any table, and any table added after it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.catalogue.compiler import compile_text
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import build_mapping
from stackroom.ingest.pipeline import IngestReport, Target, ingest
from stackroom.model.scope import WHOLE
from support.ingesting import ListedRows
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("N1")

SPEC = compile_text(
    """
name = "things"
title = "Things"
summary = "For tests."
group = "key"
[fields]
name = { type = "text", role = "title" }
size = { type = "int" }
parts = { type = "text[]", template = "{amount} {part}" }
marks = { type = "text[]", split = "," }
""",
    origin="things.toml",
)

Row = Mapping[str, str]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["1", "2", "3", " 3 "]),
            "name": st.sampled_from(["", "Lamp", "Table"]),
            "size": st.sampled_from(["", "7", "8", "large"]),
            "amount": st.sampled_from(["", "2"]),
            "part": st.sampled_from(["", "leg", "bulb"]),
            "marks": st.sampled_from(["", "a", "a,b", "c, a"]),
        }
    ),
    min_size=1,
    max_size=12,
)

FIRST = ("name", "size")
"""The fields that have the first value of a group; other values are left out, and counted."""


def reference(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return the records of a table as one would write them down by hand."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["key"].strip(), []).append(row)
    return {key: fields for key, group in groups.items() if (fields := _fields(group))}


def _fields(group: Sequence[Row]) -> dict[str, Any]:
    names = [row["name"] for row in group if row["name"]]
    sizes = [int(row["size"]) for row in group if row["size"].isdigit()]
    parts = [text for row in group if (text := f"{row['amount']} {row['part']}".strip())]
    marks = [mark.strip() for row in group for mark in row["marks"].split(",") if mark.strip()]
    fields = {"name": names[:1], "size": sizes[:1]}
    found: dict[str, Any] = {name: values[0] for name, values in fields.items() if values}
    lists = {"parts": parts, "marks": marks}
    return found | {name: tuple(dict.fromkeys(values)) for name, values in lists.items() if values}


def records_of(shelf: MemoryShelf) -> dict[str, dict[str, Any]]:
    reader = shelf.reader()
    found = reader.fetch(reader.scan(scope=WHOLE, limit=1_000), scope=WHOLE)
    return {record.id: dict(record.fields) for record in found.values()}


@given(ROWS, ROWS, st.booleans())
def test_a_grouped_table_is_what_one_would_write_down_by_hand(
    first: list[Row], second: list[Row], has_digests: bool
) -> None:
    shelf, ledger = MemoryShelf(SPEC, model=None), Ledger()

    def add(rows: Sequence[Row]) -> IngestReport:
        target = Target(spec=SPEC, mapping=build_mapping(SPEC), writer=shelf, ledger=ledger)
        return ingest(
            ListedRows(rows, has_digests=has_digests), target, progress=lambda _report: None
        )

    for rows in (first, second):
        if not reference(rows):  # a table that makes no record is refused, and removes none
            continue
        before, after = records_of(shelf), reference(rows)
        report = add(rows)
        assert records_of(shelf) == after
        assert report.written == sum(before.get(one) != fields for one, fields in after.items())
        assert report.removed == len(before.keys() - after.keys())
        kept = [
            (row[name], after[key].get(name))
            for row in rows
            if (key := row["key"].strip()) in after
            for name in FIRST
        ]
        unread = sum(cell not in ("", str(value)) for cell, value in kept)
        # unchanged rows are not read again
        assert sum(report.unread_cells.values()) == unread or has_digests
