"""Catalogues that are removed, renamed and described while a server runs: it follows at the next
call.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stackroom.shelf.lock import CatalogueLock
from support import launching
from support.processes import ServerProcess, wait_until

pytestmark = [pytest.mark.row("Z9"), pytest.mark.row("N13"), pytest.mark.row("N24")]

PLAYS = "code,play,note\np1,Hamlet,a prince who waits\np2,The Tempest,an island and a storm\n"


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command beside the server."""
    return launching.run(*arguments, environment={**os.environ, "STACKROOM_HOME": str(home)})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("owner")
    (folder / "plays.csv").write_text(PLAYS)
    for name in ("plays", "other"):
        added = run(
            folder / "home", "add", str(folder / "plays.csv"), "--name", name, "--yes", "--no-embed"
        )
        assert added.returncode == 0, added.stderr
    return folder / "home"


@pytest.fixture(scope="module")
def server(home: Path, start_server: Callable[..., ServerProcess]) -> Iterator[ServerProcess]:
    return start_server(home, "--accounts", environment={"STACKROOM_READ_PER_MINUTE": "100000"})


def client_of(server: ServerProcess, user: str, **options: Any) -> httpx.Client:
    return httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {server.token(user, **options)}"}
    )


def names_of(client: httpx.Client) -> list[str]:
    answer = client.post("/v1/tools/browse", json={"limit": 50})
    assert answer.status_code != httpx.codes.TOO_MANY_REQUESTS
    # none while there is none to be read
    return sorted(one["name"] for one in answer.json().get("catalogues", ()))


def find(client: httpx.Client, catalogue: str, query: str) -> list[str]:
    answer = client.post("/v1/tools/search", json={"query": query, "catalogue": catalogue})
    return [hit["title"] for hit in answer.json().get("results", [])]


def test_a_server_follows_what_a_command_removes_renames_and_brings_back(
    home: Path, server: ServerProcess
) -> None:
    for name in ("ada", "bob"):
        assert run(home, "user", "add", name, "--one-time").returncode == 0
    assert run(home, "access", "restrict", "plays", "--user", "ada").returncode == 0
    with client_of(server, "ada") as ada, client_of(server, "bob") as bob:
        assert find(ada, "plays", "storm") == ["The Tempest"]
        assert names_of(bob) == ["other"]
        renamed = run(home, "rename", "plays", "stage")
        assert (renamed.returncode, renamed.stdout.splitlines()[0]) == (
            0,
            "'plays' is called 'stage' now",
        )
        wait_until(lambda: names_of(ada) == ["other", "stage"])
        assert find(ada, "stage", "storm") == ["The Tempest"]
        assert names_of(bob) == ["other"]
        assert run(home, "remove", "stage").returncode == 0
        wait_until(lambda: names_of(ada) == ["other"])
        assert httpx.get(f"{server.url}/health").json()["status"] == "ok"
        assert run(home, "undo", "stage").returncode == 0
        wait_until(lambda: find(ada, "stage", "storm") == ["The Tempest"])
        assert run(home, "undo", "plays").stdout.startswith("'stage' is called 'plays' now")
        wait_until(lambda: names_of(ada) == ["other", "plays"])
        assert names_of(bob) == ["other"]


def test_a_catalogue_is_described_over_rest_and_edited_at_once_but_not_while_it_is_written(
    home: Path, server: ServerProcess
) -> None:
    run(home, "user", "add", "root", "--role", "admin", "--one-time")
    with client_of(server, "root") as root:
        described = root.post("/v1/catalogues/other/describe", json={"editable": True})
        assert described.status_code == 200, described.text
        wait_until(lambda: "catalog.mutate" in root.get("/v1/tools").text)
        wanted = {"action": "update", "id": "p1", "fields": {"note": "a ghost walks"}}
        edited = root.post("/v1/tools/catalog.mutate", json={**wanted, "kind": "record"})
        assert edited.json()["applied"], edited.text
        with CatalogueLock(home / "catalogues" / "other", "other").held(5):
            busy = root.delete("/v1/catalogues/other")
        assert "is being written by another process" in busy.json()["error"]["message"]


def test_an_edit_of_a_catalogue_that_became_editable_survives_the_next_reading_of_its_source(
    home: Path, server: ServerProcess
) -> None:
    source = home.parent / "plays.csv"
    source.write_text(PLAYS.replace("an island", "an isle"))
    added = run(home, "add", str(source), "--name", "other", "--yes", "--no-embed")
    assert added.returncode == 0, added.stderr
    with client_of(server, "root", name="later") as root:
        wait_until(lambda: find(root, "other", "isle") == ["The Tempest"])
        assert find(root, "other", "ghost walks") == ["Hamlet"]
