"""Strict offline mode: with every way out guarded, a catalogue is built and every judoka tool
answers.
"""

import json
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, package_recipe
from stackroom.embed.adapters import (
    GuardedEmbedder,
    UnusableEmbedder,
    build_embedder,
    is_on_this_machine,
)
from stackroom.embed.remote import RemoteEmbedder
from stackroom.embed.weights import WeightSources, pull_model
from stackroom.errors import UnavailableError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import PACKAGES
from stackroom.settings import EmbeddingSettings, load_settings
from stackroom_catalogues.judoka.rows import keep_files, open_rows

REMOTE = EmbeddingSettings(kind="tei", url="http://203.0.113.7:8080")
LOOPBACK = ("127.0.0.1", "::1", "localhost", None, "")
CALLS: dict[str, dict[str, Any]] = {
    "query_rag": {"query": "how do I score"},
    "judokon.search": {"query": "strong judoka", "filters": {"stats": ["power>=5"]}},
    "judokon.getById": {"id": 1},
    "judokon.random": {},
    "judokon.resolveCode": {"code": "AAAA-BBBB"},
    "judokon.validateCardCode": {"code": "AAAA-BBBB"},
    "judokon.compare": {"idA": 1, "idB": 2},
    "judokon.suggestOpponent": {"id": 1},
    "judokon.listCountries": {},
}


class WayOut(OSError):
    """Something tried to leave the machine."""


@pytest.fixture
def ways_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fail whatever would leave the machine: connections, datagrams, look-ups of names, other
    processes.

    What was tried is in the list, also where the failure was swallowed.
    """
    tried: list[str] = []

    def guard(owner: Any, name: str, host_of: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            host = host_of(*arguments)
            if host not in LOOPBACK:
                tried.append(str(host))
                raise WayOut(f"the network was used: {host}")
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    def peer(connection: socket.socket, *arguments: Any) -> Any:
        return None if connection.family == socket.AF_UNIX else arguments[-1][0]

    for name in ("connect", "connect_ex", "sendto"):
        guard(socket.socket, name, peer)
    guard(socket, "getaddrinfo", lambda host, *_rest: host)
    guard(subprocess, "Popen", lambda command, *_rest: f"process {command}")
    return tried


@pytest.fixture
def offline_home(models_folder: Path, tmp_path: Path) -> Iterator[App]:
    """A library in strict offline mode, as the environment sets it."""
    (tmp_path / "models").symlink_to(models_folder, target_is_directory=True)
    app = App(load_settings({"STACKROOM_HOME": str(tmp_path), "RAG_STRICT_OFFLINE": "1"}))
    assert app.settings.offline
    yield app
    app.close()


def ask_elsewhere() -> None:
    """Ask an embedder on another machine."""
    embedder = RemoteEmbedder(REMOTE)
    try:
        embedder.embed_query("x")
    finally:
        embedder.close()


def send_elsewhere() -> None:
    """Send a datagram to another machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("203.0.113.7", 53))


def write_files(folder: Path) -> Path:
    stats = dict.fromkeys(("power", "speed", "technique", "kumikata", "newaza"), 7)
    cards = [
        {
            "id": number,
            "firstname": "Judoka",
            "surname": str(number),
            "country": "Japan",
            "stats": stats,
        }
        for number in (1, 2, 3)
    ]
    passages = [
        {"id": "rules", "text": "The higher stat scores a point.", "qaContext": "How do I score?"}
    ]
    folder.mkdir()
    (folder / "judoka.json").write_text(
        json.dumps([{**cards[0], "cardCode": "AAAA-BBBB"}, *cards[1:]])
    )
    (folder / "client_embeddings.json").write_text(json.dumps(passages))
    (folder / "synonyms.json").write_text(json.dumps({"score": ["point"]}))
    return folder


def built(app: App, folder: Path) -> Gate:
    source = open_rows(str(folder))
    assert source is not None
    add_catalogue(
        app,
        source,
        recipe=package_recipe(PACKAGES.get("judoka")),
        name="judoka",
        progress=lambda _report: None,
    )
    keep_files(str(folder), app.library.get_installed("judoka").folder)
    return app.build_gate(["judoka"])


@pytest.mark.model
@pytest.mark.row("J9")
def test_a_catalogue_is_built_and_every_tool_answers_without_a_network(
    offline_home: App, tmp_path: Path, ways_out: list[str]
) -> None:
    gate = built(offline_home, write_files(tmp_path / "files"))
    assert {tool.name for tool in gate.list_tools(LOCAL_USER)} == set(CALLS)
    for name, arguments in CALLS.items():
        answer = gate.call(LOCAL_USER, name, arguments)
        assert not answer.is_error, (name, answer.text)
        assert not (answer.structured or {}).get("hint"), name
    for entry in gate.list_resources(LOCAL_USER).entries:
        gate.read(LOCAL_USER, entry.uri)
    reader = offline_home.open_catalogue("judoka").shelf.reader()
    assert reader.model is not None
    assert (reader.model.name, reader.model.dimension) == ("all-MiniLM-L6-v2", 384)
    assert ways_out == []


def pull_elsewhere() -> None:
    with tempfile.TemporaryDirectory() as models:
        pull_model(Path(models))


@pytest.mark.parametrize(
    "leave",
    [
        lambda: socket.create_connection(("203.0.113.7", 80), timeout=1),
        lambda: socket.getaddrinfo("example.org", 80),
        send_elsewhere,
        lambda: urllib.request.urlopen("http://203.0.113.7/", timeout=1),
        lambda: subprocess.run(["true"], check=False),
        ask_elsewhere,
        pull_elsewhere,
    ],
)
def test_the_guard_fires_when_something_leaves(
    leave: Callable[[], Any], ways_out: list[str]
) -> None:
    with pytest.raises((OSError, UnavailableError)):
        leave()
    assert ways_out


@pytest.mark.row("J9")
def test_an_embedder_elsewhere_is_refused_offline_and_says_why(
    tmp_path: Path, ways_out: list[str]
) -> None:
    embedder = build_embedder(REMOTE, tmp_path, offline=True)
    assert isinstance(embedder, UnusableEmbedder)
    assert "RAG_STRICT_OFFLINE" in str(embedder.check())
    for ask in (lambda: embedder.embed_query("x"), lambda: embedder.embed_documents(["x"])):
        with pytest.raises(UnavailableError, match=r"203\.0\.113\.7:8080 is not asked"):
            ask()
    assert ways_out == []


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://localhost:7997", True),
        ("http://127.0.0.1:1/x", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:80/", True),
        ("http://LOCALHOST", True),
        ("https://api.openai.com", False),
        ("http://localhost.example.org", False),
        ("http://localhost@203.0.113.7/", False),
        ("http://192.168.0.2", False),
        ("http://0.0.0.0", False),
        ("nonsense", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_which_addresses_are_of_this_machine(url: str, is_here: bool) -> None:
    assert is_on_this_machine(url) is is_here


@pytest.mark.row("J9")
def test_the_model_is_not_downloaded_offline(tmp_path: Path, ways_out: list[str]) -> None:
    with pytest.raises(
        UnavailableError,
        match=r"RAG_STRICT_OFFLINE.*stackroom model pull all-MiniLM-L6-v2 --from FOLDER",
    ):
        pull_model(tmp_path, sources=WeightSources(offline=True))
    assert ways_out == []


@pytest.mark.row("J9")
@pytest.mark.usefixtures("ways_out")
def test_the_app_uses_neither_an_embedder_nor_a_reranker_elsewhere_offline(tmp_path: Path) -> None:
    environment = {
        "STACKROOM_HOME": str(tmp_path),
        "STACKROOM_EMBED_KIND": "openai",
        "STACKROOM_RERANK_URL": "http://203.0.113.7/rerank",
    }
    offline = App(load_settings({**environment, "RAG_STRICT_OFFLINE": "1"}))
    assert isinstance(offline.embedder.inner, UnusableEmbedder)
    assert offline.reranker is None
    online = App(load_settings(environment))
    assert isinstance(online.embedder.inner, GuardedEmbedder)
    assert online.reranker is not None
