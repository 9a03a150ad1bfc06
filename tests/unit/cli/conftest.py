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
