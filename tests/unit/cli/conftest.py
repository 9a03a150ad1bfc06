"""Commands as somebody at a terminal types them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.terminals import Run, Terminal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library of this process: an empty folder, unless a test names another."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("STACKROOM_HOME", str(folder))
    return folder


@pytest.fixture
def at_sample(plain_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library of this process is the sample without vectors."""
    monkeypatch.setenv("STACKROOM_HOME", str(plain_home))
    return plain_home


@pytest.fixture
def run_typing(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line at a terminal."""

    def run_command(command: str | list[str], typed: str) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("io.StringIO", Terminal)
            return run(command, typed=typed)

    return run_command


@pytest.fixture
def find_records(run: Run) -> Callable[..., list[dict[str, Any]]]:
    """Search a catalogue, and get every record that is found, whole and best first."""

    def find(catalogue: str, query: str, *options: str) -> list[dict[str, Any]]:
        found = run(["search", catalogue, query, *options, "--json"]).json["results"]
        return [run(["get", catalogue, hit["id"], "--json"]).json for hit in found]

    return find
