"""Uploaded tables when something goes wrong: others with the same name, disks, several servers, odd files."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.assembly.proposal import propose
from stackroom.assembly.tables import uploads, worker
from stackroom.assembly.tables.forms import PieceParams, ProposalBody, TableState
from stackroom.assembly.tables.tables import Tables
from stackroom.assembly.tables.uploads import FOLDER, make_upload, remove_left_over
from stackroom.errors import BusyError, ConflictError, StorageError
from stackroom.model.scope import WHOLE
from stackroom.settings import Settings
from stackroom.shelf.lock import CatalogueLock
from stackroom.sources.location import NO_OPTIONS
from stackroom.sources.opener import open_file

pytestmark = [pytest.mark.row("N13"), pytest.mark.row("A11")]

OWNER = "ada"
WAIT_S = 120.0
PLAYS = b"code,play,year\np1,Hamlet,1603\np2,Macbeth,1606\np3,The Tempest,1611\n"
OTHERS = b"code,play,year\nq1,Faust,1808\n"


class Here:
    """Runs workers in the process of the tests, which starts faster than one of its own."""

    before: Callable[[str], None] = staticmethod(lambda _do: None)
    """What happens before a request is carried out."""

    @classmethod
    def run(cls, request: Mapping[str, Any], **_more: Any) -> Mapping[str, Any]:
        """Carry out a request."""
        cls.before(request["do"])
        return worker.answer(request, lambda _message: None)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(Settings(home=tmp_path / "home"))
    yield app
    app.close()


@pytest.fixture
def tables(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    monkeypatch.setattr("stackroom.assembly.tables.tables.run_worker", Here.run)
    tables = Tables(app, monotonic=lambda: 0.0)
    yield tables
    tables.stop()


def send(tables: Tables, content: bytes = PLAYS, file: str = "plays.csv") -> str:
    table_id = tables.begin(OWNER, file=file, size_bytes=len(content)).id
    tables.receive(OWNER, table_id, content, offset=0)
    assert tables.wait(OWNER, table_id, WAIT_S).state is TableState.PROPOSED
    return table_id


def build(tables: Tables, table_id: str) -> tuple[TableState, str]:
    tables.build(OWNER, table_id, embed=False)
    state = tables.wait(OWNER, table_id, WAIT_S)
    return state.state, state.problem or ""


def add_others(app: App, *, name: str = "plays") -> None:
    """Add a table as `stackroom add` does."""
    file = app.settings.home / "others.csv"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(OTHERS)
    recipe = own_recipe(propose(open_file(file, NO_OPTIONS), name=name).loaded)
    add_catalogue(
        app, open_file(file, NO_OPTIONS), recipe=recipe, name=name, progress=lambda _report: None, embed=False
    )


def count(app: App, name: str = "plays") -> int:
    other = App(app.settings)
    try:
        return other.open_catalogue(name).shelf.reader().count(WHOLE)
    finally:
        other.close()


def file_of(app: App, table_id: str, file: str = "plays.csv") -> Path:
    return app.settings.home / FOLDER / table_id / file


def test_a_catalogue_that_others_have_added_to_is_not_removed_with_the_table(app: App, tables: Tables) -> None:
    table_id = send(tables)
    assert build(tables, table_id) == (TableState.BUILT, "")
    add_others(app)
    with pytest.raises(ConflictError, match="'plays' has records that are not of this table, so it stays"):
        tables.discard(OWNER, table_id)
    assert (count(app), tables.find_state(OWNER, table_id).state) == (4, TableState.BUILT)
    assert file_of(app, table_id).read_bytes() == PLAYS


def test_a_catalogue_that_is_being_written_to_is_not_removed_until_that_is_done(
    app: App, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LOCK_TIMEOUT_S", 0.0)
    table_id = send(tables)
    assert build(tables, table_id) == (TableState.BUILT, "")
    folder = app.library.get_installed("plays").folder
    with CatalogueLock(folder, "plays").held(0), pytest.raises(BusyError):
        tables.discard(OWNER, table_id)
    assert (count(app), app.library.removed) == (3, set())
    tables.discard(OWNER, table_id)
    assert (folder.exists(), file_of(app, table_id).parent.exists()) == (False, False)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_build_neither_takes_nor_removes_a_catalogue_that_somebody_has_made_meanwhile(
    app: App, tables: Tables, monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    table_id = send(tables)

    def be_overtaken(_do: str) -> None:
        if is_whole:
            add_others(app)
        else:
            declaration = tables.get_proposal(OWNER, table_id).declaration
            app.library.reserve("plays", "plays", declaration=declaration)

    monkeypatch.setattr(Here, "before", be_overtaken)
    state, problem = build(tables, table_id)
    assert state is TableState.FAILED
    assert problem == "'name': there is a catalogue 'plays' already; choose another name"
    if is_whole:
        assert count(app) == 1
    else:
        assert app.library.list_unfinished() == ["plays"]
    monkeypatch.undo()


def test_a_build_that_ends_early_removes_its_own_catalogue_and_none_that_somebody_goes_on_with(
    app: App, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_id = send(tables)
    declaration = tables.get_proposal(OWNER, table_id).declaration

    def be_killed(_do: str) -> None:
        app.library.reserve("plays", "plays", declaration=declaration, upload=table_id)
        raise StorageError("killed")

    def be_killed_later(do: str) -> None:
        try:
            be_killed(do)
        finally:
            app.library.reserve("plays", "plays", declaration=declaration)

    monkeypatch.setattr(Here, "before", be_killed)
    assert build(tables, table_id) == (TableState.FAILED, "killed")
    assert not (app.library.folder / "plays").exists()
    monkeypatch.setattr(Here, "before", be_killed_later)
    assert build(tables, table_id) == (TableState.FAILED, "killed")
    assert app.library.list_unfinished() == ["plays"]


def test_what_cannot_be_deleted_is_said_and_no_table_stays_as_being_built(
    app: App, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = shutil.rmtree

    def refuse(path: Path, **more: Any) -> None:
        if path.name == "plays":
            raise OSError(39, "Directory not empty")
        remove(path, **more)

    def be_killed(_do: str) -> None:
        app.library.reserve("plays", "plays", declaration="", upload=half)
        raise StorageError("killed")

    whole, half = send(tables, file="whole.csv"), send(tables)
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", refuse)
        broken.setattr(Here, "before", be_killed)
        state, problem = build(tables, half)
        assert (state, problem.startswith("killed; what there is of it is not deleted: ")) == (TableState.FAILED, True)
    tables.change(OWNER, whole, ProposalBody(name="stage"))
    assert build(tables, whole) == (TableState.BUILT, "")
    folder = app.library.folder / "stage"
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", lambda *_path, **_more: refuse(Path("plays")))
        with pytest.raises(StorageError, match="cannot be deleted: Directory not empty"):
            tables.discard(OWNER, whole)
    tables.discard(OWNER, whole)
    assert not folder.exists()


def test_a_table_may_have_any_name_of_a_file_also_a_long_one(app: App, tables: Tables) -> None:
    rows = b'[{"play": "Hamlet", "year": 1603}, {"play": "Macbeth", "year": 1606}]'
    for name in ("upload.json", ".upload.json"):
        table_id = send(tables, rows, name)
        assert build(tables, table_id) == (TableState.BUILT, "")
        assert file_of(app, table_id, "upload.json").read_bytes() == rows
    long = tables.begin(OWNER, file=f"{'é' * 240}.csv", size_bytes=10)
    (file,) = (path for path in file_of(app, long.id).parent.iterdir() if path.suffix == ".csv")
    assert len(file.name.encode()) <= 200
    with pytest.raises(StorageError, match="the library cannot be written"):
        make_upload(app.settings.home, "too-long", f"{'x' * 300}.csv", size_bytes=10)
    assert not (app.settings.home / FOLDER / "too-long").exists()


def test_the_place_of_a_piece_may_be_beyond_a_gigabyte() -> None:
    assert PieceParams.model_validate({"offset": "1000000000"}).offset == 10**9
    with pytest.raises(ValueError, match="must be a whole number of at most 15 digits"):
        PieceParams.model_validate({"offset": "1e9"})


def test_files_that_another_server_deletes_at_the_same_time_are_no_hindrance(app: App, tables: Tables) -> None:
    ids = [tables.begin(OWNER, file="plays.csv", size_bytes=10).id for _ in range(2)]

    def be_overtaken() -> float:
        for one in ids:
            shutil.rmtree(file_of(app, one).parent, ignore_errors=True)
        return 0.0

    remove_left_over(app.settings.home, app.library, now=be_overtaken)
    assert not any(file_of(app, one).exists() for one in ids)


def test_the_file_of_a_catalogue_stays_while_its_marker_is_damaged_and_where_the_library_was_moved(
    app: App, tables: Tables, tmp_path: Path
) -> None:
    table_id = send(tables)
    assert build(tables, table_id) == (TableState.BUILT, "")
    marker = app.library.folder / "plays" / "installed.json"
    whole = marker.read_bytes()
    marker.write_text("{")
    remove_left_over(app.settings.home, app.library, now=lambda: 1e12)
    assert file_of(app, table_id).read_bytes() == PLAYS
    marker.write_bytes(whole)
    moved = App(Settings(home=tmp_path / "moved"))
    shutil.copytree(app.settings.home, moved.settings.home)
    remove_left_over(moved.settings.home, moved.library, now=lambda: 1e12)
    assert file_of(moved, table_id).read_bytes() == PLAYS
    moved.close()
