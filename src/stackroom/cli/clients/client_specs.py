"""The clients: where their configuration files are (docs/clients.md has the sources), and the form of an entry."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackroom.cli.clients.config_file import NAME, ConfigFormat
from stackroom.cli.clients.jsonc import JSONC
from stackroom.cli.clients.round_trip import TOML, YAML
from stackroom.cli.clients.server_entry import LocalServer, RemoteServer

TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """A client with a configuration file, and the names that the parts of an entry have there."""

    title: str
    path: Callable[[], Path]
    """The file for every project of the user."""
    form: ConfigFormat = JSONC
    section: str = "mcpServers"
    programs: tuple[str, ...] = ()
    """Programs on the search path that tell that the client is installed."""
    plain_names: bool = True
    """Whether it is shown tool names without dots; False where names with dots are known to work."""
    has_types: bool = False
    """Whether an entry says by which transport its server is reached."""
    url: str | None = "url"
    """The name of a server's address; None where the file takes commands only."""
    headers: str = "headers"
    command: str = "command"
    env: str = "env"
    http_type: str = "http"
    others: Mapping[str, Any] = field(default_factory=dict)
    """What every entry has besides."""

    def entry_of(self, server: LocalServer | RemoteServer) -> dict[str, Any]:
        """Return the entry of a server; of one with an address only where the file takes addresses."""
        if isinstance(server, LocalServer):
            start = {self.command: server.command, "args": server.args, self.env: server.env}
            return {**self._type("stdio"), **self.others, **start}
        assert self.url is not None, "clients without one are shown steps"
        headers = {self.headers: server.authorization} if server.token else {}
        return {**self._type(self.http_type), **self.others, self.url: server.url, **headers}

    def _type(self, transport: str) -> dict[str, str]:
        return {"type": transport} if self.has_types else {}


POINTER = ".lmstudio-home-pointer"


def _folder(variable: str, default: Path) -> Path:
    """Return the folder that an environment variable names, or the default."""
    return Path(os.environ[variable]).expanduser() if os.environ.get(variable) else default


def _roaming() -> Path:
    return _folder("APPDATA", Path.home() / "AppData/Roaming")


def _app_data() -> Path:
    """Return the folder in which desktop programs keep their settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support"
    return _roaming() if sys.platform == "win32" else _xdg_config()


def _xdg_config() -> Path:
    return _folder("XDG_CONFIG_HOME", Path.home() / ".config")


def _claude_desktop() -> Path:
    """Claude Desktop; on Windows, one from the store or the present installer reads its own virtual folder."""
    packages = _folder("LOCALAPPDATA", Path.home() / "AppData/Local") / "Packages"
    if sys.platform == "win32":
        for package in sorted(packages.glob("Claude_*")):
            return package / "LocalCache/Roaming/Claude/claude_desktop_config.json"
    return _app_data() / "Claude/claude_desktop_config.json"


def _dot_config() -> Path:
    """Return the folder in which programs keep their settings that use the same one on macOS as on Linux."""
    return Path.home() / ".config" if sys.platform == "darwin" else _xdg_config()


def _zed() -> Path:
    return (_roaming() / "Zed" if sys.platform == "win32" else _dot_config() / "zed") / "settings.json"


def _goose() -> Path:
    if os.environ.get("GOOSE_PATH_ROOT"):
        return Path(os.environ["GOOSE_PATH_ROOT"]) / "config/config.yaml"
    if sys.platform == "win32":
        return _roaming() / "Block/goose/config/config.yaml"
    return _dot_config() / "goose/config.yaml"


def _lm_studio() -> Path:
    """LM Studio: its folder is named by a pointer file, or is the former one where that exists."""
    pointer, former = Path.home() / POINTER, Path.home() / ".cache/lm-studio"
    if pointer.is_file():
        return Path(pointer.read_text(encoding="utf-8").strip()) / "mcp.json"
    return (former if former.is_dir() else Path.home() / ".lmstudio") / "mcp.json"


CLIENTS: Mapping[str, ClientSpec] = {
    "claude-desktop": ClientSpec(title="Claude Desktop", path=_claude_desktop, url=None, programs=("claude-desktop",)),
    "claude-code": ClientSpec(
        title="Claude Code",
        path=lambda: _folder("CLAUDE_CONFIG_DIR", Path.home()) / ".claude.json",
        has_types=True,
        programs=("claude",),
        plain_names=False,
    ),
    "cursor": ClientSpec(
        title="Cursor", path=lambda: Path.home() / ".cursor/mcp.json", programs=("cursor", "cursor-agent")
    ),
    "vscode": ClientSpec(
        title="VS Code",
        path=lambda: _app_data() / "Code/User/mcp.json",
        section="servers",
        has_types=True,
        programs=("code",),
        plain_names=False,
    ),
    "windsurf": ClientSpec(
        title="Windsurf (Devin Desktop)",
        path=lambda: Path.home() / ".codeium/windsurf/mcp_config.json",
        url="serverUrl",
        programs=("windsurf",),
    ),
    "codex": ClientSpec(
        title="Codex",
        path=lambda: _folder("CODEX_HOME", Path.home() / ".codex") / "config.toml",
        form=TOML,
        section="mcp_servers",
        headers="http_headers",
        programs=("codex",),
        plain_names=False,
    ),
    "gemini-cli": ClientSpec(
        title="Gemini CLI",
        path=lambda: Path.home() / ".gemini/settings.json",
        url="httpUrl",
        programs=("gemini",),
    ),
    "zed": ClientSpec(title="Zed", path=_zed, section="context_servers", programs=("zed", "zeditor")),
    "goose": ClientSpec(
        title="Goose",
        path=_goose,
        form=YAML,
        section="extensions",
        has_types=True,
        http_type="streamable_http",
        command="cmd",
        env="envs",
        url="uri",
        others={
            "enabled": True,
            "name": NAME,
            "description": "Search, browse and recommend from catalogues",
            "timeout": TIMEOUT_S,
            "envs": {},
            "env_keys": [],
        },
        programs=("goose",),
    ),
    "lm-studio": ClientSpec(title="LM Studio", path=_lm_studio, programs=("lms",)),
}
