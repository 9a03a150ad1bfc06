"""Tables that are uploaded to a server: received in pieces, proposed, changed, built beside serving, and undone."""

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.assembly.proposal import propose
from stackroom.assembly.tables import uploads
from stackroom.assembly.tables.forms import ProposalBody, ProposalResult, TableState
from stackroom.assembly.tables.process import run_worker
from stackroom.assembly.tables.tables import MOST_TABLES, Tables
from stackroom.assembly.tables.uploads import DAY_S, FOLDER, UPLOAD_FILE, remove_left_over
from stackroom.background.identity import identity_of_this_process
from stackroom.background.processes import ChildProcess
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    StorageError,
    TooLargeError,
)
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import ServerSettings, Settings
from stackroom.sources.json_rows import JsonRows

pytestmark = pytest.mark.row("N13")

OWNER = "ada"
WAIT_S = 120.0
PLAYS = b"""code,play,year,note
p1,Hamlet,1603,a prince who waits
p2,Macbeth,1606,a thane who does not
p3,The Tempest,1611,an island and a storm
"""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def open_tables(home: Path, *, clock: Clock | None = None, **settings: int) -> tuple[App, Tables]:
    app = App(Settings(home=home, server=ServerSettings.model_validate(settings)))
    return app, Tables(app, monotonic=clock or Clock())


def send(tables: Tables, content: bytes = PLAYS, file: str = "plays.csv") -> str:
    """Send a file in two pieces, and wait until it is read."""
    table_id = tables.begin(OWNER, file=file, size_bytes=len(content)).id
    tables.receive(OWNER, table_id, content[:20], offset=0)
    tables.receive(OWNER, table_id, content[20:], offset=20)
    tables.wait(OWNER, table_id, WAIT_S)
    return table_id


def column(proposal: ProposalResult, name: str) -> dict[str, object]:
    return next(one.model_dump() for one in proposal.columns if one.column == name)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, Tables]]:
    home = tmp_path_factory.mktemp("home")
    app, tables = open_tables(home)
    rows = home / "films.jsonl"
    rows.write_text('{"title": "Heat"}\n')
    source = JsonRows(rows)
    films = own_recipe(propose(source, name="films").loaded)
    add_catalogue(app, source, recipe=films, name="films", progress=lambda _report: None, embed=False)
    yield app, tables
    tables.stop()
    app.close()


def names_in(gate: Gate) -> list[str]:
    return [catalogue.name for catalogue in gate.toolbox_of(LOCAL_USER).catalogues]


def test_a_table_is_proposed_changed_built_found_and_undone(opened: tuple[App, Tables]) -> None:
    app, tables = opened
    gate = app.build_gate()
    table_id = send(tables)
    proposal = tables.get_proposal(OWNER, table_id)
    assert (proposal.name, proposal.title, proposal.record_title, proposal.id) == ("plays", "Plays", "play", "code")
    assert column(proposal, "year")["examples"] == ["1603", "1606", "1611"]
    assert [hit["title"] for hit in proposal.results] == ["Hamlet", "Macbeth", "The Tempest"]

    changed = ProposalBody.model_validate(
        {"name": "stage", "title": "On stage", "columns": {"note": {"role": "body"}, "year": {"use": "drop"}}}
    )
    proposal = tables.change(OWNER, table_id, changed)
    assert (proposal.title, proposal.body, column(proposal, "year")["field"]) == ("On stage", "note", None)

    for wrong, says in (
        ({"columns": {"yaer": {"use": "drop"}}}, r"drop: the table has no column 'yaer' \(did you mean 'year'"),
        ({"columns": {"year": {"role": "body"}}}, "role: 'year' is int, and body needs text"),
        ({"record_title": "plot"}, "title: the table has no column 'plot'"),
    ):
        with pytest.raises(InputError, match=says) as refused:
            tables.change(OWNER, table_id, ProposalBody.model_validate(wrong))
        assert str(app.settings.home) not in refused.value.message
    with pytest.raises(ConflictError, match="'name': there is a catalogue 'films' already"):
        tables.change(OWNER, table_id, ProposalBody(name="films"))
    assert tables.get_proposal(OWNER, table_id).title == "On stage"

    tables.build(OWNER, table_id, embed=True)
    state = tables.wait(OWNER, table_id, WAIT_S)
    assert (state.state, state.problem, state.catalogue) == (TableState.BUILT, None, "stage")
    assert state.report[0] == "3 records were written"
    assert "it is found by words alone" in state.report[-1]  # the library has no model
    assert gate.refresh()
    found = gate.call(LOCAL_USER, "search", {"query": "island", "catalogue": "stage"}).structured
    assert found is not None
    assert [hit["title"] for hit in found["results"]] == ["The Tempest"]
    source = Path(app.library.get_installed("stage").sources[0])
    assert source.read_bytes() == PLAYS

    tables.discard(OWNER, table_id)
    assert gate.refresh()
    gate.refresh()
    assert (names_in(gate), app.catalogue_problems(), source.exists()) == (["films"], {}, False)


def test_a_file_that_is_no_table_says_so_and_can_be_discarded(opened: tuple[App, Tables]) -> None:
    app, tables = opened
    table_id = send(tables, b"this is no workbook, whatever its name says", "plays.xlsx")
    state = tables.find_state(OWNER, table_id)
    assert state.state is TableState.FAILED
    assert state.problem is not None
    assert state.problem.startswith("plays.xlsx: ")
    with pytest.raises(ConflictError, match=r"plays\.xlsx"):
        tables.build(OWNER, table_id, embed=False)
    tables.discard(OWNER, table_id)
    with pytest.raises(NotFoundError, match="no table"):
        tables.find_state(OWNER, table_id)
    assert not (app.settings.home / FOLDER / table_id).exists()


@pytest.mark.row("A11")
def test_a_build_that_is_cancelled_leaves_nothing_behind(
    opened: tuple[App, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, tables = opened
    rows = b"".join(b"r%d,play number %d\n" % (number, number) for number in range(20_000))
    table_id = send(tables, b"code,play\n" + rows, "many.csv")
    has_begun = threading.Event()

    def watched(request: Mapping[str, Any], *, on_progress: Any, **more: Any) -> Mapping[str, Any]:
        return run_worker(request, on_progress=lambda told: (on_progress(told), has_begun.set()), **more)

    monkeypatch.setattr("stackroom.assembly.tables.tables.run_worker", watched)
    tables.build(OWNER, table_id, embed=False)
    assert has_begun.wait(WAIT_S)
    assert app.library.list_unfinished() == ["many"]
    tables.discard(OWNER, table_id)
    assert not (app.library.folder / "many").exists()
    assert not (app.settings.home / FOLDER / table_id).exists()


@pytest.mark.row("A11")
def test_a_process_ends_with_the_server_that_started_it_and_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orjson.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)

    def lose(child: ChildProcess) -> None:
        child.input.close()
        assert child.wait(WAIT_S)

    with pytest.raises(StorageError, match="ended with exit code 0"):
        run_worker({}, timeout_s=WAIT_S, on_start=lose)


def test_what_is_sent_is_bounded_and_every_refusal_names_its_field(tmp_path: Path) -> None:
    _app, tables = open_tables(tmp_path, max_upload_mb=1)
    with pytest.raises(TooLargeError, match="'size_bytes': 1,000,001 is more than 1,000,000"):
        tables.begin(OWNER, file="plays.csv", size_bytes=1_000_001)
    with pytest.raises(InputError, match="'size_bytes': the file is empty, or a folder"):
        tables.begin(OWNER, file="plays.csv", size_bytes=0)
    with pytest.raises(InputError, match=r"'file': 'plays\.exe' is no table"):
        tables.begin(OWNER, file="plays.exe", size_bytes=10)
    table = tables.begin(OWNER, file="../../C:\\x\\my #1 plays*.csv", size_bytes=10)
    assert table.file == "my #1 plays*.csv"
    path = tmp_path / FOLDER / table.id / "my_1_plays_.csv"
    assert (path.is_file(), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (True, 0o600, 0o700)
    with pytest.raises(ConflictError, match="'offset': 3 is not where the next piece begins, which is 0"):
        tables.receive(OWNER, table.id, b"abc", offset=3)
    with pytest.raises(TooLargeError, match="the file has 10 bytes"):
        tables.receive(OWNER, table.id, b"more than ten", offset=0)
    with pytest.raises(NotFoundError, match="of yours"):
        tables.receive("eve", table.id, b"abc", offset=0)
    with pytest.raises(ConflictError, match="the table is receiving"):
        tables.build(OWNER, table.id, embed=False)
    for _ in range(MOST_TABLES - 1):
        tables.begin(OWNER, file="plays.csv", size_bytes=10)
    with pytest.raises(ConflictError, match="8 tables wait"):
        tables.begin(OWNER, file="plays.csv", size_bytes=10)
    tables.stop()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_server_may_take_no_tables(tmp_path: Path) -> None:
    _app, tables = open_tables(tmp_path, max_upload_mb=0)
    with pytest.raises(ForbiddenError, match=r"'server\.max_upload_mb' is 0"):
        tables.begin(OWNER, file="plays.csv", size_bytes=10)


def test_a_file_for_which_the_disk_has_no_room_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _app, tables = open_tables(tmp_path)
    monkeypatch.setattr(uploads, "LEAST_FREE_BYTES", 2**60)
    with pytest.raises(ExpectedError, match="'size_bytes': there is too little room"):
        tables.begin(OWNER, file="plays.csv", size_bytes=10)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_tables_are_deleted_after_a_day(tmp_path: Path) -> None:
    clock = Clock()
    _app, tables = open_tables(tmp_path, clock=clock)
    old = tables.begin(OWNER, file="plays.csv", size_bytes=10)
    clock.now = DAY_S / 2
    young = tables.begin(OWNER, file="plays.csv", size_bytes=10)
    clock.now = DAY_S
    tables.look()
    assert [one.id for one in tables.list_of(OWNER).tables] == [young.id]
    assert not (tmp_path / FOLDER / old.id).exists()


def test_a_start_deletes_what_ended_servers_left_and_no_file_of_a_catalogue(tmp_path: Path) -> None:
    app, tables = open_tables(tmp_path)
    live, dead, used, orphan = (tables.begin(OWNER, file="plays.csv", size_bytes=10).id for _ in range(4))
    folder = tmp_path / FOLDER
    gone = f"{identity_of_this_process()}0"
    for name in (dead, used):
        (folder / name / UPLOAD_FILE).write_text(f'{{"process": "{gone}"}}')
    (folder / orphan / UPLOAD_FILE).unlink()
    app.library.reserve("half", "half", declaration="", upload=dead)
    app.library.reserve("other", "other", declaration="")
    whole = app.library.reserve("plays", "plays", declaration="")
    app.library.complete(whole, source=str(folder / used / "plays.csv"))
    remove_left_over(tmp_path, app.library)
    assert {path.name for path in folder.iterdir()} == {live, used, orphan}
    assert sorted(path.name for path in app.library.folder.iterdir()) == ["other", "plays"]
    tomorrow = time.time() + DAY_S
    remove_left_over(tmp_path, app.library, now=lambda: tomorrow)
    assert {path.name for path in folder.iterdir()} == {used}
    assert not (folder / used / UPLOAD_FILE).exists()
