"""A catalogue whose store fails while it is served fails alone: the others answer, it is named, and
no path is told.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.assembly.serving import ToolChoice
from stackroom.cli.host import AdminServer
from stackroom.control.control import Control
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.settings import Settings

DAMAGED = "handbook"
SERVED = (DAMAGED, "dnd", "music", "anime")
BEGINNING_BYTES = 50_000
READER = replace(LOCAL_USER, name="reader", actions=frozenset({Action.ACCESS_CATALOG}))


def overwrite(folder: Path, most_bytes: int | None = None) -> None:
    """Overwrite the store, or its beginning, and what SQLite keeps beside it, with random bytes."""
    for path in folder.glob("records.sqlite*"):
        with path.open("r+b") as file:
            file.write(os.urandom(most_bytes or path.stat().st_size))


FAULTS: dict[str, Callable[[Path], None]] = {
    "overwritten": overwrite,
    "its folder is gone": shutil.rmtree,
    "its records are gone": lambda folder: (
        [path.unlink() for path in folder.glob("records.sqlite*")] and None
    ),
    "a folder in their place": lambda folder: (
        [path.unlink() for path in folder.glob("records.sqlite*")]
        and (folder / "records.sqlite").mkdir()
    ),
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "how is on-call paid", "catalogue": DAMAGED}),
    ("search", {"query": "", "catalogue": DAMAGED}),
    ("search_handbook", {"query": "how is on-call paid"}),
    ("search_documents", {"query": "how is on-call paid", "sources": [DAMAGED]}),
    ("browse", {"catalogue": DAMAGED, "field": "section"}),
    ("fetch", {"id": f"{DAMAGED}/engineering/code-review.md"}),
    ("similar", {"id": f"{DAMAGED}/engineering/code-review.md"}),
]
ADMIN_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("debug.sql", {"query": "select count(*) from items", "catalogue": DAMAGED}),
]
OTHER_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "dragon breath", "catalogue": "dnd"}),
    ("search_documents", {"query": "dragon breath", "sources": ["dnd"]}),
    ("search_anime", {"query": "dragon"}),
    ("catalog.search", {"query": "blues"}),
    ("browse", {"catalogue": "anime", "by": ["year"]}),
]


@pytest.fixture
def home(whole_home: Path, tmp_path: Path) -> Path:
    for name in SERVED:
        shutil.copytree(whole_home / "catalogues" / name, tmp_path / "home" / "catalogues" / name)
    return tmp_path / "home"


@pytest.fixture
def app(home: Path) -> Iterator[App]:
    with closing(App(Settings(home=home))) as app:
        yield app


@pytest.fixture
def serve(app: App, home: Path) -> Iterator[Callable[..., Gate]]:
    """Open catalogues with the tools of administrators."""
    with closing(Control.open(Settings(home=home))) as control:
        admin = AdminServer(app, control)
        yield lambda *names: app.build_gate(names, tools=ToolChoice.ALL, server_tools=admin.tools)
        admin.stop()


@pytest.fixture
def gate(serve: Callable[..., Gate], home: Path) -> Gate:
    """The gate over catalogues, each of which answered once before one was damaged."""
    gate = serve()
    answer(gate, "search", query="dragon")
    answer(gate, "search_handbook", query="code review")
    overwrite(home / "catalogues" / DAMAGED, BEGINNING_BYTES)
    return gate


def answer(gate: Gate, tool: str, **arguments: Any) -> dict[str, Any]:
    found = gate.call(LOCAL_USER, tool, arguments)
    assert not found.is_error, found.text
    assert found.structured is not None
    return found.structured


def error_of(work: Callable[[], Any]) -> ExpectedError:
    with pytest.raises(ExpectedError) as caught:
        work()
    return caught.value


@pytest.mark.row("T8")
@pytest.mark.parametrize("fault", FAULTS)
def test_on_every_path_it_is_a_storage_error_that_names_it_and_no_path_of_the_server(
    serve: Callable[..., Gate], home: Path, fault: str
) -> None:
    gate = serve()
    FAULTS[fault](home / "catalogues" / DAMAGED)
    gate.refresh()
    calls = [(READER, *call) for call in CALLS] + [(LOCAL_USER, *call) for call in ADMIN_CALLS]
    errors = [gate.call(principal, tool, arguments).error for principal, tool, arguments in calls]
    uris = (
        f"documents://{DAMAGED}/engineering/code-review.md",
        f"stackroom://{DAMAGED}/engineering/code-review.md",
    )
    errors += [error_of(lambda uri=uri: gate.read(READER, uri)) for uri in uris]
    assert {
        (error.code, error.http_status, bool(error.retry_after_s)) for error in errors if error
    } == {("storage", 503, True)}
    assert None not in errors
    assert [
        error.message for error in errors[: len(CALLS)] if error and str(home) in error.message
    ] == []
    assert str(home) not in gate.call(READER, "search", {"query": "dragon"}).text
    info = answer(gate, "server.query", query_type="info")
    assert f"catalogue {DAMAGED}" in str(info)
    for kind in ("index", "integrity"):
        answer(gate, "debug.inspect", query_type=kind)


@pytest.mark.row("T8")
@pytest.mark.parametrize(("tool", "arguments"), OTHER_CALLS)
def test_a_call_that_is_not_about_the_damaged_catalogue_is_answered_and_kept(
    gate: Gate, tool: str, arguments: dict[str, Any]
) -> None:
    first = answer(gate, tool, **arguments)
    assert gate.cache is not None
    hits = gate.cache.statistics().hits
    assert answer(gate, tool, **arguments) == first
    assert gate.cache.statistics().hits == hits + 1


@pytest.mark.row("T4", "T6")
def test_what_is_about_all_answers_from_the_others_names_the_one_it_skipped_and_is_not_kept(
    app: App, gate: Gate
) -> None:
    assert gate.cache is not None
    entries = gate.cache.statistics().entries
    found = answer(gate, "search", query="dragon on-call pay")
    assert found["results"]
    assert any(
        note.startswith(f"{DAMAGED}: skipped, its storage cannot be read")
        for note in found["notes"]
    )
    told = gate.call(LOCAL_USER, "search_documents", {"query": "dragon on-call pay"})
    assert told.structured is not None
    assert told.structured["skipped"] == [DAMAGED]
    assert f"skipped: {DAMAGED} (its storage cannot be read)" in told.text
    assert gate.cache.statistics().entries == entries
    assert list(app.catalogue_problems()) == [f"catalogue {DAMAGED}"]


@pytest.mark.row("Z3")
def test_what_is_served_is_what_the_command_line_said_whatever_jobs_have_opened(
    app: App, serve: Callable[..., Gate]
) -> None:
    gate = serve("music")
    counted = {"query": "select count(*) from items"}
    tries = (gate.call(LOCAL_USER, "debug.sql", counted) for _ in range(5))
    # a process starts late on a busy machine
    before = next(found for found in tries if not found.is_error)
    for name in ("handbook", "dnd"):
        app.open_catalogue(name)
    assert answer(gate, "debug.sql", **counted) == before.structured
    assert (
        gate.call(LOCAL_USER, "debug.sql", {**counted, "catalogue": "handbook"}).error_code
        == "not_found"
    )
    for tool, kind in (
        ("server.query", "info"),
        ("debug.inspect", "index"),
        ("debug.inspect", "integrity"),
    ):
        assert {row["catalogue"] for row in answer(gate, tool, query_type=kind)["rows"]} == {
            "music"
        }


def overwrite_titles(home: Path, name: str) -> None:
    """Let the rows of the title index point beyond its end."""
    (path,) = (home / "catalogues" / name).glob("index/*/base-*/title_rows.npy")
    rows = np.load(path)
    rows[:] = np.iinfo(rows.dtype).max // 2
    with path.open("r+b") as file:
        np.save(file, rows)


def test_a_call_that_fails_by_damage_to_an_index_has_it_rebuilt_and_is_answered(
    app: App, home: Path
) -> None:
    overwrite_titles(home, "anime")
    gate = app.build_gate(["anime"])
    found = answer(gate, "search_anime", query="fulmetal alchemst")
    assert found["results"][0]["title"].startswith("Fullmetal Alchemist")
    assert not list(app.open_catalogue("anime").shelf.check())


def test_a_bug_without_damage_is_a_bug_and_costs_one_look(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = app.build_gate(["anime"])
    looks = []
    catalogue = app.open_catalogue("anime")
    monkeypatch.setattr(catalogue.shelf, "mend", lambda: looks.append(1) or [])
    monkeypatch.setattr("stackroom.search.searcher.Searcher.rank", lambda *_a, **_k: 1 / 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            gate.call(LOCAL_USER, "search_anime", {"query": "dragon"})
    assert len(looks) == 1
