"""A table is searched by words while its texts are being embedded, by servers that were there
before it.

What one process writes keeps no call about another catalogue waiting, and needs no restart to be
seen.
"""

import csv
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stackroom.ingest.embedding import FIRST_BATCH
from stackroom.model.vectors import Vector
from stackroom.settings import Settings
from stackroom.shelf.embedded.shelf_index import INDEX_FOLDER
from stackroom.shelf.lock import CatalogueLock
from support import launching
from support.channels import LineChannel
from support.embedders import word_vector
from support.launching import STACKROOM, Started, launch
from support.libraries import opened
from support.processes import wait_until
from support.wire import LEGACY

pytestmark = pytest.mark.row("N12")

ROWS = 300
HELD_AFTER = FIRST_BATCH
PATIENCE_S = 120.0
LIST_CHANGED = "notifications/tools/list_changed"


def write_table(path: Path, subject: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "title", "year", "story"])
        for number in range(ROWS):
            rows.writerow(
                [
                    number + 1,
                    f"{subject} {number:03}",
                    1950 + number % 70,
                    f"A {subject} about tale {number}.",
                ]
            )
    return path


class Home:
    """A library in a folder, whose commands run in processes of their own."""

    def __init__(self, folder: Path, server: Any) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.environment = {**os.environ, "STACKROOM_HOME": str(self.home), **server.environment()}

    def run(self, *arguments: str) -> None:
        done = launching.run(*arguments, environment=self.environment)
        assert done.returncode == 0, done.stderr

    def add(self, name: str, *options: str) -> None:
        self.run("add", str(write_table(self.folder / f"{name}.csv", name)), "--yes", *options)

    @contextmanager
    def being_written(self, name: str) -> Iterator[None]:
        """Hold the write lock of a catalogue whose index is not there, as a build by another spec
        does.
        """
        folder = self.home / "catalogues" / name
        (folder / INDEX_FOLDER).rename(folder / "index.away")
        with CatalogueLock(folder, name).held(1.0):
            yield


class StdioServer(LineChannel):
    """`stackroom serve` with a client that keeps what it is told."""

    def __init__(self, home: Home, *names: str) -> None:
        self.told: list[str] = []
        super().__init__(home.home, LEGACY, *names, environment=home.environment)

    def search(self, catalogue: str, query: str) -> dict[str, Any]:
        return self.ask(
            "tools/call", {"name": "search", "arguments": {"query": query, "catalogue": catalogue}}
        )

    def list_catalogues(self) -> list[str]:
        tools = {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}
        return sorted(_enum_of(tools["search"]["inputSchema"]["properties"]["catalogue"]))

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        *others, answer = self._exchange(method, params)
        self.told += [other["method"] for other in others]
        return dict(answer["result"])

    def hear(self) -> list[str]:
        self.ask("ping")
        return self.told


def _enum_of(schema: dict[str, Any]) -> list[str]:
    found = schema.get("enum") or next(
        (one["enum"] for one in schema.get("anyOf", ()) if "enum" in one), []
    )
    return list(found)


@pytest.fixture
def home(tmp_path: Path, embedding_server: Any) -> Home:
    made = Home(tmp_path, embedding_server)
    made.add("letters", "--no-embed")
    made.add("plays", "--no-embed")
    return made


@pytest.fixture
def serve(home: Home) -> Iterator[Callable[..., StdioServer]]:
    servers: list[StdioServer] = []

    def start(*names: str) -> StdioServer:
        servers.append(StdioServer(home, *names))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@contextmanager
def half_embedded(home: Home, embedding_server: Any, name: str) -> Iterator[Started]:
    """Run `add`, and keep its embedder from answering more than the first batch until the block
    ends.
    """
    table, go_on = write_table(home.folder / f"{name}.csv", name), threading.Event()
    embedded: list[str] = []

    def hold(text: str, dimension: int) -> Vector:
        if text.endswith("."):  # the text of a record, not a query
            embedded.append(text)
            if len(embedded) > HELD_AFTER:
                go_on.wait(PATIENCE_S)
        return word_vector(text, dimension)

    embedding_server.vector_of = hold
    environment = {**home.environment, "STACKROOM_EMBED_TIMEOUT_S": "60"}
    command = [*STACKROOM, "add", str(table), "--yes"]
    process = launch(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        go_on.set()
        _output, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
    assert f"search it now: stackroom search {name}" in errors


def test_a_server_over_stdio_has_a_new_catalogue_by_words_then_by_meaning_without_a_restart(
    home: Home, embedding_server: Any, serve: Callable[..., StdioServer]
) -> None:
    server = serve()
    assert server.hello["capabilities"]["tools"]["listChanged"] is True
    assert server.list_catalogues() == ["letters", "plays"]
    with half_embedded(home, embedding_server, "films"):
        wait_until(lambda: LIST_CHANGED in server.hear(), timeout_s=PATIENCE_S)
        assert server.list_catalogues() == ["films", "letters", "plays"]
        found = server.search("films", "films 299")["structuredContent"]
        assert found["results"][0]["title"] == "films 299"
        wait_until(lambda: "so far" in str(server.search("films", "tale 7")), timeout_s=PATIENCE_S)
    wait_until(lambda: "so far" not in str(server.search("films", "tale 7")), timeout_s=PATIENCE_S)


def test_a_server_of_named_catalogues_keeps_to_them_and_one_that_is_removed_leaves_the_lists(
    home: Home, serve: Callable[..., StdioServer]
) -> None:
    every, named = serve(), serve("letters", "plays")
    home.add("films", "--no-embed")
    wait_until(lambda: "films" in every.list_catalogues(), timeout_s=PATIENCE_S)
    (home.home / "catalogues" / "plays").rename(home.folder / "away")
    wait_until(lambda: every.list_catalogues() == ["films", "letters"], timeout_s=PATIENCE_S)
    wait_until(lambda: LIST_CHANGED in named.hear(), timeout_s=PATIENCE_S)
    assert "films" not in str(named.ask("tools/list"))
    assert "plays" not in str(named.ask("tools/list"))


def test_a_server_started_during_a_write_serves_the_others_at_once_and_that_one_when_it_is_free(
    home: Home, serve: Callable[..., StdioServer]
) -> None:
    with home.being_written("plays"):
        server = serve()
        server.list_catalogues()
        assert server.search("letters", "letters 7")["structuredContent"]["results"]
        busy = server.search("plays", "plays 7")
        assert busy["isError"]
        assert "being written by another process" in str(busy)
        assert server.list_catalogues() == ["letters", "plays"]
    wait_until(lambda: not server.search("plays", "plays 7")["isError"], timeout_s=PATIENCE_S)


def test_nothing_waits_for_the_writer_of_another_catalogue(home: Home) -> None:
    with home.being_written("plays"), opened(Settings(home=home.home)) as library:
        for tool, arguments in (
            ("search", {"query": "letters 7", "catalogue": "letters"}),
            ("search", {"query": "letters 7"}),
            ("browse", {}),
            ("fetch", {"id": "letters/8"}),
        ):
            assert not library.call(tool, **arguments).is_error, tool
        refused = library.call("search", query="plays 7", catalogue="plays")
        assert refused.error is not None
        assert refused.error.code == "busy"
        assert not library.gate.refresh(), "it is still being written"
    with opened(Settings(home=home.home)) as library:
        assert not library.call("search", query="plays 7", catalogue="plays").is_error
