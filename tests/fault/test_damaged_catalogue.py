"""A catalogue whose store is damaged while it is served fails alone: the others answer, and it is named."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.assembly.toolboxes import ToolChoice
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings

DAMAGED = "handbook"


def damage(home: Path) -> None:
    """Overwrite the beginning of a catalogue's store, and what SQLite keeps beside it, with random bytes."""
    store = home / "catalogues" / DAMAGED / "records.sqlite"
    size_bytes = min(store.stat().st_size, 200_000)
    for path in store.parent.glob(f"{store.name}*"):
        with path.open("r+b") as file:
            file.write(os.urandom(size_bytes))


@pytest.fixture
def home(whole_home: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole_home, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def app(home: Path) -> Iterator[App]:
    app = App(Settings(home=home))
    yield app
    app.close()


@pytest.fixture
def gate(app: App, home: Path) -> Gate:
    """The gate over every sample, each of which answered once before one was damaged."""
    gate = app.build_gate(tools=ToolChoice.ALL)
    answer(gate, "search", query="dragon")
    answer(gate, "search_handbook", query="code review")
    damage(home)
    return gate


def answer(gate: Gate, tool: str, **arguments: Any) -> dict[str, Any]:
    found = gate.call(LOCAL_USER, tool, arguments)
    assert not found.is_error, found.text
    assert found.structured is not None
    return found.structured


@pytest.mark.row("T8")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "dragon breath", "catalogue": "dnd"}),
        ("search_documents", {"query": "dragon breath", "sources": ["dnd"]}),
        ("search_anime", {"query": "dragon"}),
        ("browse", {"catalogue": "papers"}),
        ("browse", {"catalogue": "papers", "by": ["publish_year"]}),
        ("search_papers", {"query": "graphs"}),
    ],
)
def test_a_call_that_is_not_about_the_damaged_catalogue_is_answered_and_kept(
    gate: Gate, tool: str, arguments: dict[str, Any]
) -> None:
    first = answer(gate, tool, **arguments)
    assert gate.cache is not None
    hits = gate.cache.statistics().hits
    assert answer(gate, tool, **arguments) == first
    assert gate.cache.statistics().hits == hits + 1


@pytest.mark.row("T4")
def test_a_search_over_all_answers_from_the_others_and_names_the_one_it_skipped(gate: Gate) -> None:
    found = answer(gate, "search", query="dragon on-call pay")
    assert found["results"]
    assert any(note.startswith(f"{DAMAGED}: skipped, its storage cannot be read") for note in found["notes"])
    told = gate.call(LOCAL_USER, "search_documents", {"query": "dragon on-call pay"})
    assert told.structured is not None
    assert told.structured["skipped"] == [DAMAGED]
    assert f"skipped: {DAMAGED} (its storage cannot be read)" in told.text


@pytest.mark.row("T8")
def test_an_answer_without_the_damaged_catalogue_is_not_kept(gate: Gate) -> None:
    assert gate.cache is not None
    entries = gate.cache.statistics().entries
    for _ in range(2):
        answer(gate, "search", query="dragon on-call pay")
    assert gate.cache.statistics().entries == entries


@pytest.mark.row("T8")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_handbook", {"query": "how is on-call paid"}),
        ("search", {"query": "how is on-call paid", "catalogue": DAMAGED}),
        ("search_documents", {"query": "how is on-call paid", "sources": [DAMAGED]}),
        ("fetch", {"id": f"{DAMAGED}/engineering/code-review.md"}),
    ],
)
def test_a_call_about_the_damaged_catalogue_is_a_storage_error_without_a_path(
    gate: Gate, home: Path, tool: str, arguments: dict[str, Any]
) -> None:
    told = gate.call(LOCAL_USER, tool, arguments)
    assert told.error is not None
    assert (told.error_code, told.error.http_status) == ("storage", 503)
    assert told.error.retry_after_s is not None
    assert DAMAGED in told.text
    assert str(home) not in told.text


@pytest.mark.row("T9")
def test_resources_of_the_other_catalogues_are_there(gate: Gate) -> None:
    listed = [entry.uri for entry in gate.list_resources(LOCAL_USER).entries]
    assert any(uri.startswith("documents://dnd/") for uri in listed)
    assert not any(uri.startswith(f"documents://{DAMAGED}/") for uri in listed)
    assert gate.list_templates(LOCAL_USER)
    assert gate.read(LOCAL_USER, next(uri for uri in listed if uri.startswith("documents://dnd/"))).text


@pytest.mark.row("T6")
def test_what_is_degraded_names_the_catalogue_that_was_damaged_while_it_was_served(app: App, gate: Gate) -> None:
    del gate
    assert list(app.catalogue_problems()) == [f"catalogue {DAMAGED}"]


@pytest.mark.row("T8")
def test_over_http_the_damaged_catalogue_is_503_with_retry_after_and_health_names_it(
    home: Path, start_server: Any
) -> None:
    server = start_server(home, "--no-accounts", "--tools", "all")
    with httpx.Client(base_url=server.url, timeout=120, verify=False) as client:
        assert client.post("/v1/tools/search_handbook", json={"query": "code review"}).status_code == 200
        damage(home)
        refused = client.post("/v1/tools/search_handbook", json={"query": "how is on-call paid"})
        other = client.post("/v1/tools/search", json={"query": "dragon breath", "catalogue": "dnd"})
        every = client.post("/v1/tools/search", json={"query": "dragon on-call pay"})
        health = client.get("/health").json()
    server.stop()
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage")
    assert int(refused.headers["retry-after"]) >= 1
    assert str(home) not in refused.text
    assert (other.status_code, every.status_code) == (200, 200)
    assert DAMAGED in every.text
    assert health["status"] == "degraded"
    assert f"catalogue {DAMAGED}" in [one["part"] for one in health["degraded"]]


def overwrite_titles(home: Path, name: str) -> None:
    """Let the rows of the title index point beyond its end."""
    (path,) = (home / "catalogues" / name).glob("index/*/base-*/title_rows.npy")
    rows = np.load(path)
    rows[:] = np.iinfo(rows.dtype).max // 2
    with path.open("r+b") as file:
        np.save(file, rows)


def test_a_call_that_fails_by_damage_to_an_index_has_it_rebuilt_and_is_answered(app: App, home: Path) -> None:
    overwrite_titles(home, "anime")
    gate = app.build_gate(["anime"])
    found = answer(gate, "search_anime", query="fulmetal alchemst")
    assert found["results"][0]["title"].startswith("Fullmetal Alchemist")
    assert not list(app.open_catalogue("anime").shelf.check())


def test_a_bug_without_damage_is_a_bug_and_costs_one_look(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = app.build_gate(["anime"])
    looks = []
    catalogue = app.open_catalogue("anime")
    monkeypatch.setattr(catalogue.shelf, "mend", lambda: looks.append(1) or [])
    monkeypatch.setattr("stackroom.search.searcher.Searcher.search", lambda *_a, **_k: 1 / 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            gate.call(LOCAL_USER, "search_anime", {"query": "dragon"})
    assert len(looks) == 1
