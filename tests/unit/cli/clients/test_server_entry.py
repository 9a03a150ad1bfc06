"""The server that a client is given: a command that lasts, or an address."""

import sys
from pathlib import Path

import pytest

from stackroom.cli.install import find_command, local_server, remote_server
from stackroom.errors import InputError

pytestmark = pytest.mark.row("N17")


def make_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_entry_starts_this_stackroom_on_this_library(tmp_path: Path) -> None:
    server = local_server(tmp_path, ["anime"])
    assert Path(server["command"]).is_absolute()
    assert Path(server["command"]).is_file()
    assert server["args"][-2:] == ["serve", "anime"]
    assert server["env"] == {"STACKROOM_HOME": str(tmp_path)}
    assert local_server(tmp_path, [], plain_names=True)["env"]["STACKROOM_TOOL_NAMES"] == "plain"


def test_the_command_is_the_one_beside_the_python_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pipx and `uv tool` install it: an environment of its own, which is not on the search
    path.
    """
    program = make_program(tmp_path / "venvs/stackroom/bin/stackroom")
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setenv("PATH", str(make_program(tmp_path / "other/stackroom").parent))
    assert find_command() == [str(program)]


def test_without_a_command_the_module_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    assert find_command() == [str(tmp_path / "bin/python"), "-m", "stackroom"]


@pytest.mark.parametrize(
    "url",
    [
        *("x.example", "ftp://x", "http://", "https://u:p@x/mcp", "https://x/#a", "file:///x"),
        *(
            "http://[::1",
            "http://[zz]/",
            "http://x\u2100.example",
            "http://x:port",
            "http://x:99999",
        ),
    ],
)
def test_a_malformed_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"--url: .* is not the address of a server"):
        remote_server(url, "")
