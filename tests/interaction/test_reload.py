"""`serve --reload`: what an author changes in a package is served without a command."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from stackroom.cli.main import cli
from stackroom.errors import InputError
from support.launching import STACKROOM
from support.processes import ServerProcess, wait_until

pytestmark = pytest.mark.row("N11")
DESCRIPTION = "List what a maker has made"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a folder on the path, as an editable installation leaves it."""
    folder = tmp_path / "package"
    CliRunner().invoke(cli, ["new", "workshop", "--output", str(folder)], catch_exceptions=False)
    known = folder / "workshop-0.1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: workshop\nVersion: 0.1.0\n", encoding="utf-8"
    )
    (known / "entry_points.txt").write_text(
        "[stackroom.catalogues]\nworkshop = workshop:PACKAGE\n", encoding="utf-8"
    )
    return folder


@pytest.fixture
def server(package: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    environment = {"PYTHONPATH": str(package), "STACKROOM_HOME": str(tmp_path / "home")}
    sample = package / "workshop" / "sample.jsonl"
    add = [*STACKROOM, "add", str(sample), "--as", "workshop", "--no-embed"]
    subprocess.run(add, env={**os.environ, **environment}, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    arguments = ("serve", "workshop", "--http", "--no-accounts", "--reload", "--port", port)
    started = ServerProcess(
        tmp_path / "home", *arguments, environment=environment, program=STACKROOM
    )
    yield started
    assert started.stop() == 0


def tool_list(server: ServerProcess) -> str:
    """The tools of the server as they are listed now; nothing while it starts."""
    try:
        return httpx.get(f"{server.url}/v1/tools", verify=False).text
    except httpx.TransportError:
        return ""


def test_a_changed_tool_is_served_and_one_that_was_broken_once_it_is_mended(
    package: Path, server: ServerProcess
) -> None:
    tools = package / "workshop" / "tools.py"
    written = tools.read_text(encoding="utf-8")
    assert DESCRIPTION in tool_list(server)

    tools.write_text(written.replace(DESCRIPTION, "List the works of a maker"), encoding="utf-8")
    wait_until(lambda: "List the works of a maker" in tool_list(server))

    tools.write_text("this is no Python", encoding="utf-8")
    wait_until(
        lambda: (
            server.log.count("stackroom: files have changed; the server is started again\n") == 2
        )
    )
    tools.write_text(written, encoding="utf-8")
    wait_until(lambda: DESCRIPTION in tool_list(server))


def test_a_client_over_standard_input_and_output_is_told_that_it_cannot() -> None:
    answer = CliRunner().invoke(cli, ["serve", "--reload"])
    assert (
        isinstance(answer.exception, InputError) or "--reload is for --http only" in answer.output
    )
