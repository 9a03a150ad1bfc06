"""Sample data gives way to a source of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, add_sample, open_rows, package_recipe
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES, CataloguePackage, Sample
from stackroom.settings import Settings
from support.terminals import Run

pytestmark = pytest.mark.row("N11")

MINE = {"id": "mine", "title": "On Bread", "abstract": "Flour and water."}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with the sample of papers."""
    home = tmp_path / "home"
    app = App(Settings(home=home))
    add_sample(app, "papers", progress=lambda _report: None, embed=False)
    app.close()
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    return home


def write(folder: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> str:
    path = folder / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def titles(home: Path) -> set[str]:
    app = App(Settings(home=home))
    reader = app.open_catalogue("papers").shelf.reader()
    keys = reader.scan(scope=WHOLE, limit=500)
    found = {str(record.get("title")) for record in reader.fetch(keys, scope=WHOLE).values()}
    app.close()
    return found


def sources(home: Path) -> tuple[str, ...]:
    return App(Settings(home=home)).library.get_installed("papers").sources


def test_a_source_added_to_a_catalogue_with_the_sample_replaces_the_sample_and_says_so(
    home: Path, tmp_path: Path, run: Run
) -> None:
    told = run(["add", write(tmp_path, MINE), "--as", "papers", "--no-embed"])
    assert told.code == 0, told.err
    assert "note: the sample data was replaced: 161 sample records were removed" in told.out
    assert titles(home) == {"On Bread"}
    assert sources(home) == (str(tmp_path / "rows.jsonl"),)


def test_a_row_that_is_also_in_the_sample_stays(home: Path, tmp_path: Path, run: Run) -> None:
    same = {"id": "another-id", "title": "attention is all  you need"}
    assert run(["add", write(tmp_path, MINE, same), "--as", "papers", "--no-embed"]).code == 0
    assert titles(home) == {"On Bread", "attention is all you need"}
    assert json.loads(run(["rejects", "papers", "--json"]).out) == []


def test_a_declaration_in_a_folder_of_its_own_does_not_stop_a_source_from_being_recognised(
    tmp_path: Path,
) -> None:
    files = Sample(name="games", files=tmp_path / "games" / "data" / "sample.jsonl")
    package = CataloguePackage(
        declaration=tmp_path / "games" / "declared" / "catalogue.toml", samples=(files,)
    )
    assert package.is_sample(str(files.files))
    assert not package.is_sample(str(tmp_path / "mine.jsonl"))


def test_a_library_in_which_sample_and_own_rows_were_mixed_loses_the_sample_at_the_next_reading(
    home: Path, tmp_path: Path, run: Run
) -> None:
    app = App(Settings(home=home))
    location = write(tmp_path, MINE)
    package = PACKAGES.get("papers")
    recipe = package_recipe(package)
    add_catalogue(
        app,
        open_rows(package, location),
        recipe=recipe,
        name="papers",
        progress=lambda _report: None,
        embed=False,
    )
    app.close()
    assert len(titles(home)) == 162
    told = run(["add", location, "--as", "papers", "--no-embed"])
    assert "note: the sample data was replaced: 161 sample records were removed" in told.out
    assert titles(home) == {"On Bread"}
