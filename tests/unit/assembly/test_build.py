"""Building: what depends on the records follows them."""

from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.scope import WHOLE
from stackroom.settings import Settings
from support.libraries import add_rows

SPEC = """
name = "films"
title = "Films"
summary = "Films."
editable = true
id = "id"

[fields.title]
type = "text"
role = "title"
search = true
"""


@pytest.fixture
def app(tmp_path: Path) -> App:
    """A library with a catalogue that can be edited."""
    (tmp_path / "films.jsonl").write_text(
        '{"id": "1", "title": "Heat"}\n{"id": "2", "title": "Alien"}\n'
    )
    app = App(Settings(home=tmp_path / "home"))
    add_films(app, tmp_path)
    return app


def add_films(app: App, folder: Path) -> int:
    """Build the catalogue, or bring it up to date; return how many records were written."""
    return add_rows(app, folder / "films.jsonl", SPEC).written


def test_a_lost_ledger_is_learnt_anew_and_what_no_row_names_stays_and_is_counted(
    app: App, tmp_path: Path
) -> None:
    def refresh_from_source(*rows: str) -> IngestReport:
        (tmp_path / "films.jsonl").write_text("\n".join(rows))
        return add_rows(app, tmp_path / "films.jsonl", SPEC)

    for path in app.library.get_installed("films").folder.glob("ledger.sqlite*"):
        path.unlink()
    heat, brazil = '{"id": "1", "title": "Heat"}', '{"id": "3", "title": "Brazil"}'
    report = refresh_from_source(heat, brazil)
    assert (report.written, report.unchanged, report.removed, report.unplaced) == (1, 1, 0, 1)
    report = refresh_from_source(heat)
    assert (report.unchanged, report.removed, report.unplaced) == (1, 1, 0)
    app.close()


def test_a_build_without_embedding_keeps_the_vectors_of_what_stays_the_same(
    tmp_path: Path, embedding_server: Any
) -> None:
    app = App(Settings(home=tmp_path / "home", embedding=embedding_server.settings()))
    spec = (
        f'{SPEC}\n[fields.year]\ntype = "int"\nfilter = true\n\n[embed]\ntemplate = "{{title}}"\n'
    )

    def add(*rows: str, embed: bool) -> IngestReport:
        (tmp_path / "films.jsonl").write_text("\n".join(rows))
        return add_rows(app, tmp_path / "films.jsonl", spec, embed=embed)

    def has_vector() -> list[bool]:
        reader = app.open_catalogue("films").shelf.reader()
        vectors = reader.vectors(reader.scan(scope=WHOLE, limit=9))
        return [bool(vector.any()) for vector in vectors]

    heat, alien = '{"id": "1", "title": "Heat"}', '{"id": "2", "title": "Alien"}'
    add(heat, alien, embed=True)
    assert has_vector() == [True, True]
    assert add(heat, alien, embed=False).unchanged == 2
    assert has_vector() == [True, True]
    dated, more = heat.replace("}", ', "year": 1995}'), '{"id": "3", "title": "Brazil"}'
    renamed = alien.replace("Alien", "Aliens")
    assert add(dated, renamed, more, embed=False).written == 3
    assert has_vector() == [True, False, False]
    assert add(dated, renamed, more, embed=False).unchanged == 3
    assert add(dated, renamed, more, embed=True).embedded == 2
    assert has_vector() == [True, True, True]
    app.close()
