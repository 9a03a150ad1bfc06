"""Whether a process of this machine is gone."""

import os
import subprocess
import sys

import pytest

from stackroom.background.processes import (
    identity_of_this_process,
    is_certainly_gone,
    place_of_this_process,
)

pytestmark = pytest.mark.row("Z9")

WAITS = """
import sys
from stackroom.background.processes import identity_of_this_process
print(identity_of_this_process(), flush=True)
sys.stdin.readline()
"""


def test_this_process_is_not_gone() -> None:
    assert not is_certainly_gone(identity_of_this_process())
    assert str(os.getpid()) in place_of_this_process()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says so")
def test_a_process_is_gone_once_it_is_killed() -> None:
    command = [sys.executable, "-c", WAITS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        identity = process.stdout.readline().strip()
        assert not is_certainly_gone(identity)
        process.kill()
        process.wait()
        assert is_certainly_gone(identity)


@pytest.mark.parametrize(
    "identity", ["", "x", "another-machine 1 1", "another-machine x 1", "  ", "a b c d"]
)
def test_of_other_machines_nothing_is_certain(identity: str) -> None:
    assert not is_certainly_gone(identity)


def test_where_the_platform_does_not_say_nothing_is_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    identity = identity_of_this_process()
    monkeypatch.setattr("stackroom.background.processes._machine", lambda: None)
    assert identity_of_this_process() == ""
    assert not is_certainly_gone(f"{identity}1")


def test_a_process_of_somebody_else_is_taken_for_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = identity_of_this_process()

    def refuse(_process: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr("os.kill", refuse)
    assert not is_certainly_gone(f"{identity}1")
