"""`stackroom install`: a client's configuration gets our entry, and keeps everything else."""

import json
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.cli.clients.formats import JSONC, YAML
from stackroom.cli.install import BY_ADDRESS, CLIENTS
from support.terminals import Run

pytestmark = [pytest.mark.row("N17"), pytest.mark.row("A13")]

URL, TOKEN = "https://stackroom.example.org", "stk_t_secret"
BY_FILE = [name for name in CLIENTS if name not in BY_ADDRESS]
BEFORE = {
    ".json": (
        '// mine\n{{\n  "a": 1, /* kept */\n  "{section}": {{\n    "other": {{"command": "x"}},\n '
        " }},\n}}\n"
    ),
    ".toml": '# mine\nmodel = "x"\n\n[{section}.other]\ncommand = "x" # kept',
    ".yaml": "# mine\nGOOSE_MODEL: x\n{section}:\n  other:\n    cmd: x # kept\n\nlast: 1\n",
}
READ: dict[str, Callable[[str], Any]] = {
    ".json": JSONC.parse,
    ".toml": tomllib.loads,
    ".yaml": YAML.parse,
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any client, with an empty library."""
    for name in (
        "APPDATA",
        "LOCALAPPDATA",
        "XDG_CONFIG_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GOOSE_PATH_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "library"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin(client: str) -> tuple[Path, str]:
    """Write a configuration with comments and another server where the client has its own."""
    path = CLIENTS[client].path()
    text = BEFORE[path.suffix].format(section=CLIENTS[client].section)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path, text


def entry_in(path: Path, client: str) -> Any:
    return READ[path.suffix](path.read_text())[CLIENTS[client].section].get("stackroom")


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_connected_read_back_and_disconnected_again(client: str, run: Run) -> None:
    path, text = begin(client)
    written = run(f"install {client} --json")
    assert (written.code, written.json["action"]) == (0, "written")
    document = READ[path.suffix](path.read_text())
    assert document[CLIENTS[client].section]["other"]
    entry = document[CLIENTS[client].section]["stackroom"]
    command, env = entry.get("command") or entry["cmd"], entry.get("env") or entry["envs"]
    assert Path(command).is_absolute()
    assert entry["args"][-1] == "serve"
    assert env["STACKROOM_HOME"].endswith("/library")
    assert ("STACKROOM_TOOL_NAMES" in env) is CLIENTS[client].plain_names
    assert Path(written.json["backup"]).read_text() == text
    assert run(f"install {client} --json").json["action"] == "unchanged"
    assert run(f"install {client} --remove --json").json["action"] == "removed"
    assert path.read_text() == text
    assert run(f"install {client} --remove --json").json["action"] == "absent"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_that_was_made_for_the_entry_goes_with_it(client: str, run: Run) -> None:
    path = CLIENTS[client].path()
    assert run(f"install {client}").code == 0
    assert entry_in(path, client)
    assert run(f"install {client} --remove").code == 0
    assert not list(path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("client", BY_FILE)
def test_a_shared_server_is_given_by_its_address_and_the_token_kept_private(
    client: str, run: Run
) -> None:
    path, text = begin(client)
    assert run(f"install {client} --url {URL} --token -", typed=f"{TOKEN}\n").code == 0
    entry = entry_in(path, client)
    address = next(entry[key] for key in ("url", "serverUrl", "httpUrl", "uri") if key in entry)
    assert address.startswith(f"{URL}/mcp")
    assert address.endswith("?tool_names=plain") is CLIENTS[client].plain_names
    assert next(entry[key] for key in ("headers", "http_headers") if key in entry) == {
        "Authorization": f"Bearer {TOKEN}"
    }
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob(f"{path.name}*")} == {
        0o600
    }
    assert run(f"install {client} --remove").code == 0
    assert path.read_text() == text
    assert not [one for one in path.parent.glob(f"{path.name}*") if TOKEN in one.read_text()]


def test_vscode_is_told_the_type_and_windsurf_and_gemini_get_their_own_names_of_the_address(
    run: Run,
) -> None:
    assert json.loads(run("install vscode --print").out)["servers"]["stackroom"]["type"] == "stdio"
    shown = {client: run(f"install {client} --url {URL} --print").out for client in BY_FILE}
    for client, section in (("vscode", "servers"), ("claude-code", "mcpServers")):
        entry = json.loads(shown[client])[section]["stackroom"]
        assert entry == {"type": "http", "url": f"{URL}/mcp"}
    assert '"serverUrl"' in shown["windsurf"]
    assert '"httpUrl"' in shown["gemini-cli"]
    assert YAML.parse(shown["goose"])["extensions"]["stackroom"]["type"] == "streamable_http"
    assert tomllib.loads(shown["codex"])["mcp_servers"]["stackroom"] == {"url": f"{URL}/mcp"}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_configuration_can_be_shown_without_being_written(
    client: str, home: Path, run: Run
) -> None:
    shown = run(f"install {client} --print")
    path = CLIENTS[client].path()
    assert READ[path.suffix](shown.out)[CLIENTS[client].section]["stackroom"]
    assert str(path) in shown.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("client", "text"), [("vscode", "{ // open"), ("codex", "model = "), ("goose", "a: [")]
)
def test_a_broken_file_is_left_alone_and_what_to_paste_is_shown(
    client: str, text: str, run: Run
) -> None:
    path, _ = begin(client)
    path.write_text(text)
    tried = run(f"install {client}")
    assert tried.code == 2
    assert f"{path} cannot be edited (" in tried.err
    assert "nothing was written, so add this to it yourself" in tried.err
    assert READ[path.suffix](tried.out)[CLIENTS[client].section]["stackroom"]
    assert "remove 'stackroom' in" in run(f"install {client} --remove").err
    assert path.read_text() == text
    assert not path.with_name(f"{path.name}.bak").exists()


def test_an_entry_of_ours_is_overwritten_only_when_agreed(home: Path, run: Run) -> None:
    path = home / "config.json"
    install = ["install", "claude-desktop", "--config", str(path)]
    assert run(install).code == 0
    first = path.read_text()
    path.write_text(first.replace('"serve"', '"old"'))
    declined = run(install, typed="n\n")
    assert declined.code != 0
    assert "nothing was written" in declined.err
    assert '"old"' in path.read_text()
    assert run([*install, "--yes"]).code == 0
    assert path.read_text() == first


def test_a_token_in_a_file_of_a_project_is_warned_of(run: Run) -> None:
    tried = run(f"install cursor --config .cursor/mcp.json --url {URL} --token {TOKEN}")
    assert "keep it out of version control" in tried.err


def test_a_client_that_is_not_on_this_machine_is_said_not_to_be(home: Path, run: Run) -> None:
    assert "Cursor was not found here; written anyway" in run("install cursor").out
    (home / ".gemini").mkdir()
    assert "restart Gemini CLI to use it" in run("install gemini-cli").out


def test_clients_are_listed_with_those_that_are_here_and_those_that_use_stackroom(
    home: Path, run: Run
) -> None:
    (home / "bin").mkdir()
    (home / "bin/codex").write_text("")
    (home / "bin/codex").chmod(0o755)
    (home / ".cursor").mkdir()
    assert run("install zed").code == 0
    listed = {row["client"]: row for row in run("install --json").json}
    assert {name for name, row in listed.items() if row["found"]} == {"codex", "cursor", "zed"}
    assert {name for name, row in listed.items() if row["installed"]} == {"zed"}
    shown = run("install").out
    assert "chatgpt" in shown
    assert "stackroom install CLIENT --remove" in shown


@pytest.mark.parametrize("client", ["chatgpt", "claude-desktop"])
def test_clients_that_take_an_address_in_their_settings_are_told_where(
    client: str, home: Path, run: Run
) -> None:
    ran = run(f"install {client} --url {URL}")
    assert (ran.code, ran.out) == (2, "")
    assert f"{client} has no file for an address; in it: Settings → " in ran.err
    assert f"URL {URL}/mcp" in ran.err
    assert list(home.iterdir()) == []
