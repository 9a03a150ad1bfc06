"""Tables that are uploaded to a server: received in pieces, built beside serving by the command,
and undone.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackroom.admin.uploads import (
    DAY_S,
    MOST_TABLES,
    BeginBody,
    Piece,
    TableResult,
    TableState,
    Uploads,
)
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    TooLargeError,
)
from stackroom.gate.gate import Gate
from stackroom.ingest.proposal import profile_table
from stackroom.library import TABLES_FOLDER
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import ServerSettings, Settings
from stackroom.sources import received
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


def open_uploads(home: Path, *, clock: Clock | None = None, **settings: int) -> tuple[App, Uploads]:
    app = App(Settings(home=home, server=ServerSettings.model_validate(settings)))
    return app, Uploads(app, monotonic=clock or Clock())


def ask(table_id: str = "", *, offset: int = 0, owner: str = OWNER, **body: Any) -> Any:
    """Return the call of a user about a table, and its parameters."""
    call = SimpleNamespace(principal=replace(LOCAL_USER, name=owner))
    if "file" in body:
        return call, BeginBody(**body)
    return call, Piece(id=table_id, offset=offset, content=body.get("piece", b""))


def begin(tables: Uploads, file: str = "plays.csv", size_bytes: int = 10) -> TableResult:
    return tables.begin_table(*ask(file=file, size_bytes=size_bytes))


def send(tables: Uploads, content: bytes = PLAYS, file: str = "plays.csv") -> str:
    """Send a file in two pieces."""
    table_id = begin(tables, file, len(content)).id
    tables.send_piece(*ask(table_id, piece=content[:20]))
    tables.send_piece(*ask(table_id, piece=content[20:], offset=20))
    return table_id


def built(tables: Uploads, table_id: str) -> TableResult:
    """Wait until a table is built, and return its state."""
    until = time.monotonic() + WAIT_S
    while (
        state := tables.show_table(*ask(table_id))
    ).state is TableState.BUILDING and time.monotonic() < until:
        time.sleep(0.01)
    return state


def add_films(app: App, name: str = "films") -> None:
    rows = app.settings.home / f"{name}.jsonl"
    rows.write_text('{"title": "Heat"}\n')
    source = JsonRows(rows)
    recipe = own_recipe(profile_table(source).propose(name=name).loaded)
    add_catalogue(app, source, recipe=recipe, name=name, progress=lambda _report: None, embed=False)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, Uploads]]:
    app, tables = open_uploads(tmp_path_factory.mktemp("home"))
    add_films(app)
    yield app, tables
    tables.stop()
    app.close()


def names_in(gate: Gate) -> list[str]:
    return [catalogue.name for catalogue in gate.toolbox_of(LOCAL_USER).catalogues]


def test_a_table_is_built_found_and_undone(
    opened: tuple[App, Uploads], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "orjson.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)  # nothing is imported from the current folder
    app, tables = opened
    gate = app.build_gate()
    table_id = send(tables)
    state = built(tables, table_id)
    assert (state.state, state.problem, state.catalogue) == (TableState.BUILT, None, "plays")
    assert state.report[0] == "3 records were written"
    assert "it is found by words alone" in state.report[-1]  # the library has no model
    assert gate.refresh()
    found = gate.call(LOCAL_USER, "search", {"query": "island", "catalogue": "plays"}).structured
    assert found is not None
    assert [hit["title"] for hit in found["results"]] == ["The Tempest"]
    source = Path(app.library.get_installed("plays").sources[0])
    assert source.read_bytes() == PLAYS

    tables.discard_table(*ask(table_id))
    app.library.set_aside("plays", now=time.time())
    assert gate.refresh()
    gate.refresh()
    assert (names_in(gate), app.catalogue_problems()) == (["films"], {})

    app.library.put_back("plays")  # its source is kept as long as it is
    tables.look()
    assert gate.refresh()
    assert (names_in(gate), source.read_bytes()) == (["films", "plays"], PLAYS)
    app.library.set_aside("plays", now=time.time())
    assert gate.refresh()


@pytest.mark.row("A11")
def test_a_build_that_is_cancelled_leaves_nothing_behind(opened: tuple[App, Uploads]) -> None:
    app, tables = opened
    rows = b"".join(b"r%d,play number %d\n" % (number, number) for number in range(20_000))
    table_id = send(tables, b"code,play\n" + rows, "many.csv")
    until = time.monotonic() + WAIT_S
    while not (app.library.folder / "many").exists() and time.monotonic() < until:
        time.sleep(0.01)
    tables.discard_table(*ask(table_id))
    assert not (app.library.folder / "many").exists()
    assert not (app.settings.home / TABLES_FOLDER / table_id).exists()


def test_what_is_sent_is_bounded_and_every_refusal_names_its_field(tmp_path: Path) -> None:
    _app, tables = open_uploads(tmp_path, max_upload_mb=1)
    with pytest.raises(TooLargeError, match="'size_bytes': 1,000,001 is more than 1,000,000"):
        begin(tables, size_bytes=1_000_001)
    with pytest.raises(InputError, match="'size_bytes': the file is empty, or a folder"):
        begin(tables, size_bytes=0)
    with pytest.raises(InputError, match=r"'file': 'plays\.exe' is no table"):
        begin(tables, "plays.exe")
    table = begin(tables, "../../C:\\x\\my #1 plays*.csv")
    assert table.file == "my #1 plays*.csv"
    path = tmp_path / TABLES_FOLDER / table.id / "my_1_plays_.csv"
    assert (path.is_file(), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (
        True,
        0o600,
        0o700,
    )
    with pytest.raises(
        ConflictError, match="'offset': 3 is not where the next piece begins, which is 0"
    ):
        tables.send_piece(*ask(table.id, piece=b"abc", offset=3))
    with pytest.raises(TooLargeError, match="the file has 10 bytes"):
        tables.send_piece(*ask(table.id, piece=b"more than ten"))
    with pytest.raises(NotFoundError, match="of yours"):
        tables.send_piece(*ask(table.id, piece=b"abc", owner="eve"))
    for _ in range(MOST_TABLES - 1):
        begin(tables)
    with pytest.raises(ConflictError, match="8 tables wait"):
        begin(tables)
    tables.stop()
    assert list((tmp_path / TABLES_FOLDER).iterdir()) == []


def test_a_server_may_take_no_tables(tmp_path: Path) -> None:
    _app, tables = open_uploads(tmp_path, max_upload_mb=0)
    with pytest.raises(ForbiddenError, match=r"'server\.max_upload_mb' is 0"):
        begin(tables)


def test_a_file_for_which_the_disk_has_no_room_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _app, tables = open_uploads(tmp_path)
    monkeypatch.setattr(received, "LEAST_FREE_BYTES", 2**60)
    with pytest.raises(ExpectedError, match="'size_bytes': there is too little room"):
        begin(tables)
    assert list((tmp_path / TABLES_FOLDER).iterdir()) == []


def test_tables_are_deleted_after_a_day_and_no_file_of_a_catalogue(tmp_path: Path) -> None:
    clock = Clock()
    app, tables = open_uploads(tmp_path, clock=clock)
    old = begin(tables)
    for name in ("left", "used", "fresh"):
        (tmp_path / TABLES_FOLDER / name).mkdir()
    yesterday = time.time() - DAY_S
    for name in ("left", "used"):
        os.utime(tmp_path / TABLES_FOLDER / name, (yesterday, yesterday))
    add_films(app)
    app.library.complete(
        app.library.get_installed("films"),
        source=str(tmp_path / TABLES_FOLDER / "used" / "plays.csv"),
    )
    clock.now = DAY_S / 2
    young = begin(tables)
    clock.now = DAY_S
    tables.look()
    assert [table.id for table in tables.list_tables(*ask()).tables] == [young.id]
    assert {path.name for path in (tmp_path / TABLES_FOLDER).iterdir()} == {
        "used",
        "fresh",
        young.id,
    }
    assert old.id not in {path.name for path in (tmp_path / TABLES_FOLDER).iterdir()}
