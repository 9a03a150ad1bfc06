"""A gate that follows the library: catalogues that come, go, or follow another spec."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.library import BUILDING_FILE, INSTALLED_FILE, Installed, Library
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from support.libraries import add_rows

pytestmark = pytest.mark.row("N12")

SPEC = """
name = "films"
title = "Films"
summary = "Films."

[fields.title]
type = "text"
role = "title"
search = true
"""
WITH_YEARS = f'{SPEC}\n[fields.year]\ntype = "int"\nfilter = true\n'


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., None]:
    """Build or update a catalogue as another process would."""

    def build_one(name: str, *titles: str, declaration: str = SPEC) -> None:
        rows = tmp_path / f"{name}.jsonl"
        rows.write_text("".join(f'{{"title": "{title}", "year": 1995}}\n' for title in titles))
        with closing(App(Settings(home=tmp_path / "home"))) as app:
            add_rows(app, rows, declaration, name)

    return build_one


@pytest.fixture
def app(tmp_path: Path, build: Callable[..., None]) -> App:
    build("films", "Heat")
    return App(Settings(home=tmp_path / "home"))


def names_in(gate: Gate) -> list[str]:
    return [catalogue.name for catalogue in gate.toolbox_of(LOCAL_USER).catalogues]


def find(gate: Gate, catalogue: str, query: str) -> list[str]:
    answer = gate.call(LOCAL_USER, "search", {"query": query, "catalogue": catalogue})
    assert answer.structured is not None, answer.text
    return [hit["title"] for hit in answer.structured["results"]]


def test_a_named_catalogue_that_is_removed_and_put_back_elsewhere_is_followed_without_complaint(
    app: App, build: Callable[..., None]
) -> None:
    build("plays", "Hamlet")
    gate = app.build_gate(["films", "plays"])
    elsewhere = Library(app.library.folder)
    elsewhere.set_aside("plays", now=time.time())
    assert gate.refresh()
    assert (names_in(gate), app.catalogue_problems()) == (["films"], {})
    elsewhere.put_back("plays")
    assert gate.refresh()
    assert find(gate, "plays", "hamlet") == ["Hamlet"]


def test_a_catalogue_that_is_removed_while_it_is_being_opened_leaves_the_others_as_they_are(
    app: App, build: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, read = app.build_gate(), Workshop.spec_of

    def removed_meanwhile(workshop: Workshop, installed: Installed) -> LoadedSpec:
        found = read(workshop, installed)
        Library(app.library.folder).set_aside(installed.name, now=time.time())
        return found

    build("plays", "Hamlet")
    with monkeypatch.context() as patched:
        patched.setattr(Workshop, "spec_of", removed_meanwhile)
        gate.refresh()
    assert find(gate, "films", "heat") == ["Heat"]
    assert gate.refresh()
    assert (names_in(gate), app.catalogue_problems()) == (["films"], {})


def test_an_unfinished_catalogue_is_said_to_be_missing_and_served_once_its_build_has_finished(
    app: App, build: Callable[..., None]
) -> None:
    build("plays", "Hamlet")
    folder = app.library.folder / "plays"
    (folder / INSTALLED_FILE).rename(folder / BUILDING_FILE)  # as during its first build
    gate = app.build_gate(["films", "plays"])
    assert "Not to be searched yet: plays." in gate.instructions(LOCAL_USER)
    assert app.catalogue_problems()["catalogue plays"].startswith(
        "unfinished: its build is running"
    )
    build("plays", "Hamlet")
    assert gate.refresh()
    assert find(gate, "plays", "hamlet") == ["Hamlet"]
    assert app.catalogue_problems() == {}


def test_a_catalogue_that_follows_another_spec_is_opened_by_it(
    app: App, build: Callable[..., None]
) -> None:
    gate = app.build_gate()
    assert find(gate, "films", "heat") == ["Heat"]
    build("films", "Heat", declaration=WITH_YEARS)
    assert gate.refresh()
    answer = gate.call(LOCAL_USER, "search", {"query": "heat", "filters": {"year": {"min": 1990}}})
    assert answer.structured is not None, answer.text
    assert [hit["title"] for hit in answer.structured["results"]] == ["Heat"]


def test_a_catalogue_whose_folder_is_gone_leaves_the_lists_and_calls_about_it_say_so(
    app: App, build: Callable[..., None]
) -> None:
    build("plays", "Hamlet")
    gate = app.build_gate()
    away = (app.library.folder / "plays").rename(app.settings.home / "away")
    assert gate.refresh()
    assert names_in(gate) == ["films"]
    refused = gate.call(LOCAL_USER, "search", {"query": "hamlet", "catalogue": "plays"})
    assert (refused.error_code, "the folder of catalogue 'plays' is missing" in refused.text) == (
        "storage",
        True,
    )
    every = gate.call(LOCAL_USER, "search", {"query": "heat"})
    assert every.structured is not None
    assert any(note.startswith("plays: skipped") for note in every.structured["notes"])
    assert list(app.catalogue_problems()) == ["catalogue plays"]
    away.rename(app.library.folder / "plays")
    assert gate.refresh()
    assert names_in(gate) == ["films", "plays"]
    assert find(gate, "plays", "hamlet") == ["Hamlet"]
    assert app.catalogue_problems() == {}


def test_while_the_whole_library_is_gone_the_lists_stay_and_every_call_is_a_storage_error(
    app: App,
) -> None:
    gate = app.build_gate()
    tools = [tool.name for tool in gate.list_tools(LOCAL_USER)]
    away = app.library.folder.rename(app.settings.home / "away")
    gate.refresh()
    assert [tool.name for tool in gate.list_tools(LOCAL_USER)] == tools
    assert gate.call(LOCAL_USER, "search", {"query": "heat"}).error_code == "storage"
    assert not app.can_answer()
    away.rename(app.library.folder)
    gate.refresh()
    app.conditions.forget("films")  # the pause is over
    assert find(gate, "films", "heat") == ["Heat"]
    assert app.can_answer()


def test_an_edit_of_records_whose_file_was_taken_away_is_refused(
    app: App, build: Callable[..., None]
) -> None:
    build("plays", "Hamlet")
    catalogue = app.open_catalogue("plays")
    assert catalogue.shelf.reader().change_no
    (app.library.folder / "plays" / "records.sqlite").unlink()
    with pytest.raises(StorageError, match=r"records\.sqlite is missing"):
        catalogue.shelf.writer()
