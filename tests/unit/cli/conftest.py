"""Commands as somebody at a terminal types them."""

import io
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


class Terminal(io.StringIO):
    """Somebody at a terminal, who types this."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run_typing(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line at a terminal."""

    def run_command(arguments: list[str], typed: str) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("io.StringIO", Terminal)
            return run(arguments, typed=typed)

    return run_command


@pytest.fixture
def find_records(run: Run) -> Callable[..., list[dict[str, Any]]]:
    """Search a catalogue, and get every record that is found, whole and best first."""

    def find(catalogue: str, query: str, *options: str) -> list[dict[str, Any]]:
        found = run(["search", catalogue, query, *options, "--json"]).json["results"]
        return [run(["get", catalogue, hit["id"], "--json"]).json for hit in found]

    return find
