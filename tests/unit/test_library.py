"""The library: which catalogues are there, what spec each follows, and on which shelf it is."""

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe, package_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.errors import ConflictError, InputError, NotFoundError, StorageError
from stackroom.library import KEPT_S, Installed, Library, find_changed_file
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.lock import CatalogueLock
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.port import RowSource

BOOKS = """
name = "books"
title = "Books"
summary = "Novels."

[fields.title]
type = "text"
role = "title"
search = true
"""
LONGER = BOOKS + '\n[fields.year]\ntype = "int"\nfilter = true\n'


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "catalogues")


def names(library: Library) -> list[str]:
    return [one.name for one in library.list_installed()]


def test_a_library_that_is_not_there_yet_is_empty(library: Library) -> None:
    assert library.list_installed() == []
    with pytest.raises(
        NotFoundError, match="no catalogue 'anime'; installed: none; run: stackroom init"
    ):
        library.get_installed("anime")


def test_a_catalogue_is_there_once_it_is_whole(library: Library) -> None:
    place = library.reserve("films", "anime")
    assert names(library) == []
    library.complete(place, source="films.jsonl")
    assert library.get_installed("films") == Installed(
        name="films", spec_name="anime", folder=library.folder / "films", sources=("films.jsonl",)
    )
    assert names(library) == ["films"]


@pytest.mark.parametrize(
    "name", ["", "Films", "my films", "-films", "a/b", "..", "x" * 64, "filmé"]
)
def test_a_name_that_is_none_is_refused_and_nothing_is_made(library: Library, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a catalogue"):
        library.reserve(name, "anime")
    assert not library.folder.exists()


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_name_that_a_catalogue_of_another_spec_has_is_refused(
    library: Library, is_whole: bool
) -> None:
    own, built_in = (
        library.reserve("novels", "books", declaration=BOOKS),
        library.reserve("films", "anime"),
    )
    if is_whole:
        library.complete(own, source="x")
        library.complete(built_in, source="x")
    for name, spec_name, declaration, holder in (
        ("novels", "anime", None, "books"),
        ("novels", "books", None, "books"),  # a built-in one of the same name is another
        ("novels", "papers", BOOKS, "books"),
        ("films", "anime", BOOKS, "anime"),
        ("films", "music", None, "anime"),
    ):
        with pytest.raises(
            InputError, match=f"'{name}' is a catalogue of '{holder}', not of '{spec_name}'"
        ):
            library.reserve(name, spec_name, declaration=declaration)
    assert own.own_declaration is not None
    assert own.own_declaration.read_text() == BOOKS
    assert built_in.own_declaration is None


def test_every_source_of_a_catalogue_is_remembered_once(library: Library) -> None:
    for source in ("a.csv", "b.csv", "a.csv"):
        library.complete(library.reserve("films", "anime"), source=source)
    assert library.get_installed("films").sources == ("a.csv", "b.csv")


def test_a_build_that_was_stopped_goes_on_in_the_same_place(library: Library) -> None:
    first = library.reserve("novels", "books", declaration=BOOKS)
    (first.folder / "part").write_text("kept")
    again = library.reserve("novels", "books", declaration=BOOKS)
    assert again == first
    assert (again.folder / "part").read_text() == "kept"
    assert names(library) == []


def test_a_first_build_that_came_to_nothing_leaves_nothing_and_an_installed_catalogue_stays(
    library: Library,
) -> None:
    place = library.reserve("novels", "books", declaration=BOOKS)
    library.abandon(place)
    assert not place.folder.exists()
    place = library.reserve("novels", "books", declaration=BOOKS)
    library.complete(place, source="x")
    library.abandon(place)
    assert names(library) == ["novels"]


@pytest.mark.parametrize(
    "left", [[], ["catalogue.toml"], ["building.json.new", "catalogue.toml.new"]]
)
def test_what_a_build_leaves_that_was_stopped_before_it_began_is_no_hindrance(
    library: Library, left: list[str]
) -> None:
    folder = library.folder / "novels"
    folder.mkdir(parents=True)
    for name in left:
        (folder / name).write_text("half")
    library.complete(library.reserve("novels", "books", declaration=BOOKS), source="x")
    assert sorted(path.name for path in folder.iterdir()) == ["catalogue.toml", "installed.json"]


@pytest.mark.parametrize("kept", ["records.sqlite", "lance/documents", "notes.txt"])
def test_a_catalogue_that_has_lost_its_marker_is_refused_and_not_removed(
    library: Library, kept: str
) -> None:
    path = library.folder / "novels" / kept
    path.parent.mkdir(parents=True)
    path.write_text("edits by hand")
    with pytest.raises(
        StorageError,
        match=r"novels has no installed.json but has .* write \{\"spec\": .* move the folder",
    ):
        library.reserve("novels", "anime")
    assert path.read_text() == "edits by hand"
    (library.folder / "novels" / "installed.json").write_text('{"spec": "anime"}')
    assert library.reserve("novels", "anime").folder == library.folder / "novels"
    assert path.read_text() == "edits by hand"


def test_what_is_left_of_a_build_keeps_its_marker_until_the_rest_is_gone(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = library.reserve("films", "anime")
    (place.folder / "index").mkdir()
    (place.folder / "records.sqlite").touch()

    def be_stopped(folder: Path) -> None:
        # which of its files goes first is nobody's choice
        (folder / "building.json").unlink(missing_ok=True)
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr("shutil.rmtree", be_stopped)
        with pytest.raises(KeyboardInterrupt):
            library.abandon(place)
    assert library.reserve("films", "anime") == place
    library.abandon(place)
    assert not place.folder.exists()


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '"anime"', "7"])
def test_a_damaged_marker_is_said_to_be_with_what_to_do(library: Library, text: str) -> None:
    library.complete(library.reserve("films", "anime"), source="x")
    (library.folder / "films" / "installed.json").write_text(text)
    library.complete(library.reserve("other", "anime"), source="x")
    assert names(library) == ["other"]
    assert list(library.check()) == ["films"]
    for refuse in (
        library.get_installed,
        library.find_installed,
        partial(library.reserve, spec_name="anime"),
    ):
        with pytest.raises(StorageError, match=r"installed.json is damaged; write"):
            refuse("films")


def test_a_first_build_that_has_not_ended_is_told_from_a_catalogue_that_is_not_there(
    library: Library,
) -> None:
    place = library.reserve("films", "anime")
    assert library.list_unfinished() == ["films"]
    assert library.check() == {}
    with pytest.raises(
        NotFoundError, match=r"catalogue 'films' is unfinished: .* run the same stackroom add again"
    ):
        library.get_installed("films")
    library.complete(place, source="x")
    assert library.list_unfinished() == []


def test_a_catalogue_that_has_lost_its_marker_is_told_with_what_to_do(library: Library) -> None:
    library.complete(library.reserve("films", "anime"), source="x")
    (library.folder / "films" / "records.sqlite").touch()
    (library.folder / "films" / "installed.json").unlink()
    (library.folder / ".cache").mkdir()
    assert library.check().keys() == {"films"}
    with pytest.raises(
        StorageError, match=r"films has no installed.json but has records.sqlite; .* write"
    ):
        library.get_installed("films")


def test_a_name_that_another_process_takes_at_the_same_moment_is_refused(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def be_overtaken(fresh: Path, folder: Path) -> None:
        monkeypatch.undo()
        library.reserve("novels", "books", declaration=LONGER)
        rename(fresh, folder)

    monkeypatch.setattr(os, "rename", be_overtaken)
    with pytest.raises(ConflictError, match="'name': there is a catalogue 'novels' already"):
        library.reserve("novels", "books", declaration=BOOKS)
    assert (library.folder / "novels" / "catalogue.toml").read_text() == LONGER
    assert [path.name for path in library.folder.iterdir()] == ["novels"]


def test_a_removed_catalogue_is_kept_for_a_day_and_can_be_put_back(library: Library) -> None:
    library.complete(library.reserve("films", "anime"), source="x")
    library.set_aside("films", now=1_000.0)
    assert (library.list_installed(), library.check(), library.list_unfinished()) == ([], {}, [])
    assert library.was_removed("films", since=999.0)
    assert not library.was_removed("films", since=1_001.0)
    assert [one.sources for one in library.list_removed()] == [("x",)]
    library.put_back("films")
    assert [one.name for one in library.list_installed()] == ["films"]
    assert not library.was_removed("films", since=0)
    library.set_aside("films", now=2_000.0)
    library.purge(now=2_000.0 + KEPT_S - 1)
    assert library.find_removed("films") is not None
    library.purge(now=2_000.0 + KEPT_S)
    with pytest.raises(
        NotFoundError, match="no catalogue 'films' was removed within a day; none was"
    ):
        library.put_back("films")


def test_the_last_of_several_removals_of_a_name_is_put_back_and_never_over_another(
    library: Library,
) -> None:
    for number, source in enumerate("abc"):
        library.complete(library.reserve("films", "anime"), source=source)
        library.set_aside("films", now=number)
    library.put_back("films")
    assert library.get_installed("films").sources == ("c",)
    with pytest.raises(ConflictError, match="there is a catalogue 'films' already"):
        library.put_back("films")


def test_whoever_waits_to_write_a_removed_catalogue_does_not_make_its_folder_again(
    library: Library,
) -> None:
    library.complete(library.reserve("films", "anime"), source="x")
    library.set_aside("films", now=1_000.0)
    with (
        pytest.raises(StorageError, match="'films' cannot be written to: No such file"),
        CatalogueLock(library.folder / "films", "films").held(0.0),
    ):
        pass
    library.put_back("films")
    assert [one.name for one in library.list_installed()] == ["films"]


def test_a_renamed_catalogue_is_as_it_was_and_its_former_name_counts_as_removed(
    library: Library,
) -> None:
    library.complete(library.reserve("novels", "books", declaration=BOOKS), source="x")
    before = library.get_installed("novels")
    library.rename("novels", "books", now=1_000.0)
    after = library.get_installed("books")
    assert (after.sources, after.spec_name, library.check()) == (
        before.sources,
        before.spec_name,
        {},
    )
    assert library.was_removed("novels", since=1_000.0)
    for wrong, error in (("Big Books", InputError), ("books", ConflictError)):
        with pytest.raises(error):
            library.rename("books", wrong, now=1_000.0)


def test_the_words_of_an_owner_stay_when_a_catalogue_is_built_again(library: Library) -> None:
    library.complete(library.reserve("films", "anime"), source="x")
    library.describe(replace(library.get_installed("films"), title="Films we own", editable=False))
    library.complete(library.reserve("films", "anime"), source="y")
    known = library.get_installed("films")
    assert (known.title, known.summary, known.editable, known.sources) == (
        "Films we own",
        "",
        False,
        ("x", "y"),
    )
    assert find_changed_file(known.folder) is None


def add(app: App, rows: Path | RowSource, name: str, declaration: str | None) -> None:
    recipe = package_recipe(PACKAGES.get("anime"))
    if declaration is not None:
        recipe = own_recipe(
            LoadedSpec(spec=compile_text(declaration, origin="x"), declaration=declaration)
        )
    source = JsonRows(rows) if isinstance(rows, Path) else rows
    add_catalogue(app, source, recipe=recipe, name=name, progress=lambda _report: None, embed=False)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"title": f"Title {number}", "year": 2000 + number, "sources": [f"https://x.org/{number}"]}
        for number in (1, 2)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_catalogue_is_opened_with_its_own_spec_and_another_with_the_built_in_one(
    tmp_path: Path, rows: Path
) -> None:
    app = App(Settings(home=tmp_path / "home"))
    add(app, rows, "novels", LONGER)
    add(app, rows, "films", None)
    try:
        assert app.open_catalogue("novels").spec == compile_text(LONGER, origin="x")
        assert app.open_catalogue("films").spec == PACKAGES.get("anime").spec
        assert app.open_catalogue("novels") is app.open_catalogue("novels")
    finally:
        app.close()
