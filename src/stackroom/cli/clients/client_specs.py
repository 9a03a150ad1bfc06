"""The clients: their configuration files, and the form of an entry in each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.cli.clients import places
from stackroom.cli.clients.config_text import ConfigFormat, EntryPlace
from stackroom.cli.clients.jsonc import JSONC
from stackroom.cli.clients.round_trip import TOML, YAML
from stackroom.cli.clients.server_entry import NAME, LocalServer, RemoteServer

LocalEntry = Callable[[LocalServer], dict[str, Any]]
RemoteEntry = Callable[[RemoteServer], dict[str, Any]]
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """A client with a configuration file."""

    title: str
    path: Callable[[], Path]
    """The file for every project of the user."""
    project_path: str = ""
    """The file in a project's folder; empty where the client has none."""
    form: ConfigFormat = JSONC
    section: str = "mcpServers"
    local: LocalEntry
    remote: RemoteEntry | None
    """The entry of a server with an address; None where the file takes commands only."""
    programs: tuple[str, ...] = ()
    """Programs on the search path that tell that the client is installed."""
    plain_names: bool = True
    """Whether it is shown tool names without dots; False where names with dots are known to work."""

    @property
    def place(self) -> EntryPlace:
        """The place of the entry in the file."""
        return EntryPlace(section=self.section, name=NAME)


def _command(server: LocalServer) -> dict[str, Any]:
    return {"command": server.command, "args": server.args, "env": server.env}


def _typed_command(server: LocalServer) -> dict[str, Any]:
    return {"type": "stdio", **_command(server)}


def _address(server: RemoteServer) -> dict[str, Any]:
    return {"url": server.url, **server.headers}


def _typed_address(server: RemoteServer) -> dict[str, Any]:
    return {"type": "http", **_address(server)}


def _windsurf_address(server: RemoteServer) -> dict[str, Any]:
    return {"serverUrl": server.url, **server.headers}


def _gemini_address(server: RemoteServer) -> dict[str, Any]:
    return {"httpUrl": server.url, **server.headers}


def _codex_address(server: RemoteServer) -> dict[str, Any]:
    return {"url": server.url, **({"http_headers": server.authorization} if server.token else {})}


def _goose_command(server: LocalServer) -> dict[str, Any]:
    start = {"cmd": server.command, "args": server.args, "envs": server.env, "env_keys": []}
    return {**_goose_extension("stdio"), **start}


def _goose_address(server: RemoteServer) -> dict[str, Any]:
    return {**_goose_extension("streamable_http"), "uri": server.url, "envs": {}, "env_keys": [], **server.headers}


def _goose_extension(kind: str) -> dict[str, Any]:
    about = {"name": NAME, "description": "Search, browse and recommend from catalogues"}
    return {"enabled": True, "type": kind, **about, "timeout": TIMEOUT_S}


CLIENTS: Mapping[str, ClientSpec] = {
    "claude-desktop": ClientSpec(
        title="Claude Desktop", path=places.claude_desktop, local=_command, remote=None, programs=("claude-desktop",)
    ),
    "claude-code": ClientSpec(
        title="Claude Code",
        path=places.claude_code,
        project_path=".mcp.json",
        local=_typed_command,
        remote=_typed_address,
        programs=("claude",),
        plain_names=False,
    ),
    "cursor": ClientSpec(
        title="Cursor",
        path=places.cursor,
        project_path=".cursor/mcp.json",
        local=_command,
        remote=_address,
        programs=("cursor", "cursor-agent"),
    ),
    "vscode": ClientSpec(
        title="VS Code",
        path=places.vscode,
        project_path=".vscode/mcp.json",
        section="servers",
        local=_typed_command,
        remote=_typed_address,
        programs=("code",),
        plain_names=False,
    ),
    "windsurf": ClientSpec(
        title="Windsurf (Devin Desktop)",
        path=places.windsurf,
        local=_command,
        remote=_windsurf_address,
        programs=("windsurf",),
    ),
    "codex": ClientSpec(
        title="Codex",
        path=places.codex,
        project_path=".codex/config.toml",
        form=TOML,
        section="mcp_servers",
        local=_command,
        remote=_codex_address,
        programs=("codex",),
        plain_names=False,
    ),
    "gemini-cli": ClientSpec(
        title="Gemini CLI",
        path=places.gemini_cli,
        project_path=".gemini/settings.json",
        local=_command,
        remote=_gemini_address,
        programs=("gemini",),
    ),
    "zed": ClientSpec(
        title="Zed",
        path=places.zed,
        project_path=".zed/settings.json",
        section="context_servers",
        local=_command,
        remote=_address,
        programs=("zed", "zeditor"),
    ),
    "goose": ClientSpec(
        title="Goose",
        path=places.goose,
        form=YAML,
        section="extensions",
        local=_goose_command,
        remote=_goose_address,
        programs=("goose",),
    ),
    "lm-studio": ClientSpec(
        title="LM Studio", path=places.lm_studio, local=_command, remote=_address, programs=("lms",)
    ),
}
