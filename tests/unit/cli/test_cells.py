"""Dates, numbers with units, yes and no, and rows that are one record, from a file to an answer."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.gate.gate import Gate
from stackroom.settings import load_settings

pytestmark = pytest.mark.row("N1")
Run = Callable[..., Any]

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
DRINKS = """
name = "drinks"
title = "Drinks"
summary = "For tests."
group = "drink_id"
[fields]
drink = { type = "text", role = "title", search = true }
ingredients = { type = "text[]", template = "{measure} {ingredient}", search = true }
"""
DRINK_ROWS = """\
drink_id,drink,measure,ingredient
7,Gin Tonic,4 cl,Gin
8,Daiquiri,6 cl,Rum
7,Gin Tonic,,Tonic water
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, spec, rows in (("albums", ALBUMS, ALBUM_ROWS), ("drinks", DRINKS, DRINK_ROWS)):
        (tmp_path / f"{name}.toml").write_text(spec)
        (tmp_path / f"{name}.csv").write_text(rows)
    return tmp_path


def add(run: Run, folder: Path, name: str) -> Any:
    added = run(["add", str(folder / f"{name}.csv"), "--spec", str(folder / f"{name}.toml"), "--no-embed"])
    assert added.code == 0, added.err
    return added


@pytest.fixture
def gate(run: Run, folder: Path) -> Iterator[Gate]:
    """A server of albums and drinks."""
    add(run, folder, "albums")
    add(run, folder, "drinks")
    with closing(App(load_settings())) as app:
        yield app.build_gate()


def test_unreadable_cells_are_told_and_listed_and_cost_no_record(run: Run, folder: Path) -> None:
    added = add(run, folder, "albums")
    assert "5 written" in added.out
    assert "note: length: 2 cells are left out; line 4: 'length' is 'n.n.', not a number in min" in added.out
    assert "note: released: 1 cell is left out; line 6: 'released' is 'n.n.', not a date such as" in added.out
    listed = json.loads(run(["rejects", "albums", "--json"]).out)
    cells = [(one["place"], one["field"]) for one in listed if "field" in one]
    assert cells == [("line 4", "length"), ("line 5", "length"), ("line 6", "released")]
    assert "cells left out of their records" in run(["rejects", "albums"]).out


def test_what_was_mended_in_the_file_is_listed_no_more(run: Run, folder: Path) -> None:
    add(run, folder, "albums")
    (folder / "albums.csv").write_text(ALBUM_ROWS.replace("n.n.", "").replace("1 Season", "44 min"))
    assert "left out" not in add(run, folder, "albums").out
    assert not [one for one in json.loads(run(["rejects", "albums", "--json"]).out) if "field" in one]


def test_options_of_a_command_take_years_and_yes(run: Run, gate: Gate) -> None:
    rows = json.loads(run(["search", "albums", "harbour OR grass", "--live", "yes", "--json"]).out)
    assert "Tall Grass" in json.dumps(rows)
    rows = json.loads(run(["search", "albums", "grass", "--released", "1960..1969", "--json"]).out)
    assert "Tall Grass" in json.dumps(rows)
