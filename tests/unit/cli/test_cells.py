"""Dates, numbers with units, yes and no, from a file to an answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackroom.settings import Settings
from support.libraries import opened
from support.terminals import Run

pytestmark = pytest.mark.row("N1")

ALBUMS = """
name = "albums"
title = "Albums"
summary = "For tests."
id = "id"
[fields]
name = { type = "text", role = "title", search = true }
released = { type = "date", role = "time", filter = true }
length = { type = "int", unit = "min", filter = true }
live = { type = "text", filter = true, facet = true }
"""
ALBUM_ROWS = """\
id,name,released,length,live
a,Blue Hour,16 June 1997,53 min,N
b,Tall Grass,July 1963,41 minutes,Y
c,Late Trains,1983,n.n.,N
d,,26-Oct-12,1 Season,Y
e,Harbour,n.n.,70,N
,,,,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "albums.toml").write_text(ALBUMS)
    (tmp_path / "albums.csv").write_text(ALBUM_ROWS)
    return tmp_path


def add(run: Run, folder: Path) -> Any:
    added = run(f"add {folder / 'albums.csv'} --spec {folder / 'albums.toml'} --no-embed")
    assert added.code == 0, added.err
    return added


def test_unreadable_cells_are_told_and_listed_and_cost_no_record(run: Run, folder: Path) -> None:
    added = add(run, folder)
    assert "5 written" in added.out
    assert (
        "note: length: 2 cells are left out; line 4: 'length' is 'n.n.', not a number in min"
        in added.out
    )
    assert (
        "note: released: 1 cell is left out; line 6: 'released' is 'n.n.', not a date such as"
        in added.out
    )
    listed = json.loads(run("rejects albums --json").out)
    cells = [(one["place"], one["field"]) for one in listed if "field" in one]
    assert cells == [("line 4", "length"), ("line 5", "length"), ("line 6", "released")]
    assert "cells left out of their records" in run("rejects albums").out


@pytest.mark.row("N19")
def test_the_text_of_a_cell_is_shown_with_its_value_until_it_is_plainly_written(
    folder: Path, run: Run, home: Path
) -> None:
    notes = add(run, folder).out
    assert "note: cells read as a date: released 3 ('16 June 1997', line 2)" in notes
    with opened(Settings(home=home), "albums") as library:
        (browsed,) = library.structured("browse", catalogue="albums")["catalogues"]
        told = library.call("browse", catalogue="albums").text
    reading = "released: 3 read as a date ('16 June 1997', line 2)"
    assert (browsed["changed"], f"cells of {reading}" in told) == ([reading], True)
    assert run("get albums a --json").json["written"] == {"released": "16 June 1997"}
    assert "written" not in run("get albums e --json").json
    (folder / "albums.csv").write_text(ALBUM_ROWS.replace("16 June 1997", "1997-06-16"))
    assert "released 2 ('26-Oct-12', line 5)" in add(run, folder).out
    assert "written" not in run("get albums a --json").json
