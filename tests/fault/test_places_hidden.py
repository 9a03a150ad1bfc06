"""A catalogue that fails: on every path it is a storage error, named, and no path of the server is told."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.admin_server import AdminServer
from stackroom.assembly.app import App
from stackroom.assembly.toolboxes import ToolChoice
from stackroom.control.control import Control
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.settings import Settings

pytestmark = pytest.mark.row("T8")

FAILING = "handbook"
READER = replace(LOCAL_USER, name="reader", actions=frozenset({Action.ACCESS_CATALOG}))


def overwrite(folder: Path) -> None:
    """Overwrite the store, and what SQLite keeps beside it, with random bytes."""
    for path in folder.glob("records.sqlite*"):
        path.write_bytes(os.urandom(path.stat().st_size))


FAULTS: dict[str, Callable[[Path], None]] = {
    "overwritten": overwrite,
    "its folder is gone": shutil.rmtree,
    "its records are gone": lambda folder: [path.unlink() for path in folder.glob("records.sqlite*")] and None,
    "a folder in their place": lambda folder: (
        [path.unlink() for path in folder.glob("records.sqlite*")] and (folder / "records.sqlite").mkdir()
    ),
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "how is on-call paid", "catalogue": FAILING}),
    ("search", {"query": "", "catalogue": FAILING}),
    ("search_handbook", {"query": "how is on-call paid"}),
    ("search_documents", {"query": "how is on-call paid", "sources": [FAILING]}),
    ("browse", {"catalogue": FAILING, "field": "section"}),
    ("fetch", {"id": f"{FAILING}/engineering/code-review.md"}),
    ("similar", {"id": f"{FAILING}/engineering/code-review.md"}),
]
ADMIN_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("debug.sql", {"query": "select count(*) from items", "catalogue": FAILING}),
    ("debug.inspect", {"query_type": "why", "catalogue": FAILING, "id": "x", "query": "y"}),
]


@pytest.fixture
def home(whole_home: Path, tmp_path: Path) -> Path:
    names = ("handbook", "dnd", "music")
    for name in names:
        shutil.copytree(whole_home / "catalogues" / name, tmp_path / "home" / "catalogues" / name)
    return tmp_path / "home"


@pytest.fixture
def control(home: Path) -> Iterator[Control]:
    with closing(Control.open(Settings(home=home))) as control:
        yield control


@pytest.fixture
def app(home: Path) -> Iterator[App]:
    app = App(Settings(home=home))
    yield app
    app.close()


def build(app: App, control: Control, *names: str) -> tuple[Gate, AdminServer]:
    admin = AdminServer(app, control)
    return app.build_gate(names, tools=ToolChoice.ALL, server_tools=admin.tools), admin


def told(gate: Gate, principal: Any, tool: str, arguments: dict[str, Any]) -> tuple[str | None, str]:
    answer = gate.call(principal, tool, arguments)
    return answer.error_code, f"{answer.text}{answer.structured}"


def error_of(work: Callable[[], Any]) -> ExpectedError:
    with pytest.raises(ExpectedError) as caught:
        work()
    return caught.value


@pytest.mark.parametrize("fault", FAULTS)
def test_on_every_path_it_is_a_storage_error_that_names_it_and_no_path_of_the_server(
    app: App, control: Control, home: Path, fault: str
) -> None:
    gate, admin = build(app, control)
    FAULTS[fault](home / "catalogues" / FAILING)
    gate.refresh()
    calls = {f"{tool} {arguments}": told(gate, READER, tool, arguments) for tool, arguments in CALLS}
    assert {call: code for call, (code, _text) in calls.items() if code != "storage"} == {}
    of_admin = {tool: told(gate, LOCAL_USER, tool, arguments) for tool, arguments in ADMIN_CALLS}
    assert {tool: code for tool, (code, _text) in of_admin.items() if code != "storage"} == {}
    read = error_of(lambda: gate.read(READER, f"documents://{FAILING}/engineering/code-review.md"))
    generic = error_of(lambda: gate.read(READER, f"stackroom://{FAILING}/engineering/code-review.md"))
    assert (read.code, generic.code) == ("storage", "storage")
    texts = [text for _code, text in calls.values()]
    texts += [read.message, generic.message, told(gate, READER, "search", {"query": "dragon"})[1]]
    assert [text for text in texts if str(home) in text] == []
    assert told(gate, READER, "search", {"query": "dragon", "catalogue": "dnd"})[0] is None
    rows = gate.call(LOCAL_USER, "server.query", {"query_type": "info"})
    assert (rows.error_code, f"catalogue {FAILING}" in str(rows.structured)) == (None, True)
    for kind in ("index", "integrity"):
        assert gate.call(LOCAL_USER, "debug.inspect", {"query_type": kind}).error_code is None
    admin.stop()


@pytest.mark.row("Z3")
def test_what_is_served_is_what_the_command_line_said_whatever_jobs_have_opened(app: App, control: Control) -> None:
    gate, admin = build(app, control, "music")
    counted = {"query": "select count(*) from items"}
    tries = (told(gate, LOCAL_USER, "debug.sql", counted) for _ in range(5))
    before = next(answer for answer in tries if answer[0] is None)  # a process starts late on a busy machine
    for name in ("handbook", "dnd"):
        app.open_catalogue(name)
    assert told(gate, LOCAL_USER, "debug.sql", counted) == before
    assert told(gate, LOCAL_USER, "debug.sql", {**counted, "catalogue": "handbook"})[0] == "not_found"
    info = gate.call(LOCAL_USER, "server.query", {"query_type": "info"}).structured
    assert info is not None
    assert [row["catalogue"] for row in info["rows"]] == ["music"]
    for kind in ("index", "integrity"):
        shown = gate.call(LOCAL_USER, "debug.inspect", {"query_type": kind}).structured
        assert shown is not None
        assert {row["catalogue"] for row in shown["rows"]} == {"music"}
    admin.stop()
