"""An assistant's configuration gets our entry, and keeps everything else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.cli.clients import CLIENTS, build_entry, merged_config, write_config
from pinakes.errors import InputError

pytestmark = pytest.mark.row("A13")

OTHERS = {"theme": "dark", "mcpServers": {"other": {"command": "x"}}}


def test_the_entry_starts_this_pinakes_on_this_library(tmp_path: Path) -> None:
    entry = build_entry(tmp_path, ["anime"])
    assert Path(entry["command"]).is_file()
    assert entry["args"][-2:] == ["serve", "anime"]
    assert entry["env"] == {"PINAKES_HOME": str(tmp_path)}


def test_our_entry_is_put_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(OTHERS))
    document, exists = merged_config(path, "mcpServers", {"command": "p"})
    assert document == {"theme": "dark", "mcpServers": {"other": {"command": "x"}, "pinakes": {"command": "p"}}}
    assert exists is False
    write_config(path, document)
    assert merged_config(path, "mcpServers", {"command": "p"}) == (document, True)
    assert json.loads(path.with_name("config.json.bak").read_text()) == OTHERS


@pytest.mark.parametrize("content", ["", None])
def test_a_configuration_that_is_empty_or_missing_is_begun(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "folder" / "config.json"
    if content is not None:
        path.parent.mkdir()
        path.write_text(content)
    document, exists = merged_config(path, "servers", {})
    assert (document, exists) == ({"servers": {"pinakes": {}}}, False)
    write_config(path, document)
    assert json.loads(path.read_text()) == document


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', "// a comment"])
def test_a_configuration_that_cannot_be_made_out_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(InputError, match="nothing was written"):
        merged_config(path, "mcpServers", {})
    assert path.read_text() == content


@pytest.mark.parametrize("client", CLIENTS)
def test_the_configuration_can_be_shown_without_being_written(
    client: str, plain_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    monkeypatch.setenv("PINAKES_HOME", str(plain_home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    shown = run(["install", client, "anime", "--print"]).json
    assert shown[CLIENTS[client].section]["pinakes"]["env"]["PINAKES_HOME"] == str(plain_home)
    assert list(tmp_path.iterdir()) == []


def test_an_entry_of_ours_is_overwritten_only_when_agreed(
    plain_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    path = tmp_path / "config.json"
    monkeypatch.setenv("PINAKES_HOME", str(plain_home))
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


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file/config\.json: cannot be written: "):
        write_config(tmp_path / "file" / "config.json", {})
