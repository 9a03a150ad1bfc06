"""The clients of `clients.toml`: where their configuration files are, and the form of an entry."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackroom.cli.clients.config_file import ConfigFormat
from stackroom.cli.clients.jsonc import JSONC
from stackroom.cli.clients.round_trip import TOML, YAML
from stackroom.toml_text import load_packaged


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """A client with a configuration file, and the form of an entry there."""

    title: str
    folder: str = "home"
    file: str
    """The file in it, for every project of the user."""
    section: str = "mcpServers"
    programs: tuple[str, ...] = ()
    """Programs on the search path that tell that the client is installed."""
    plain_names: bool = True
    """Whether it is shown tool names without dots; False where names with dots are known to work."""
    has_types: bool = False
    """Whether an entry says by which transport its server is reached."""
    takes_addresses: bool = True
    """Whether the file takes servers with an address, and not commands only."""
    http_type: str = "http"
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of url, headers, command and env, where they are others."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """What every entry has besides."""

    def path(self) -> Path:
        """Return the configuration file."""
        return FOLDERS[self.folder]() / self.file

    @property
    def form(self) -> ConfigFormat:
        """The format of the file."""
        return {".toml": TOML, ".yaml": YAML}.get(Path(self.file).suffix, JSONC)

    def entry_of(self, server: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entry of a server."""
        kind = {"type": self.http_type if "url" in server else "stdio"} if self.has_types else {}
        return {**kind, **self.others, **{self.names.get(part, part): value for part, value in server.items()}}


POINTER = ".lmstudio-home-pointer"


def _folder(variable: str, default: Path) -> Path:
    """Return the folder that an environment variable names, or the default."""
    return Path(os.environ[variable]).expanduser() if os.environ.get(variable) else default


def _settings(*, is_desktop: bool = True) -> Path:
    """Return the folder in which programs keep their settings; on macOS, desktop programs have one of their own."""
    if sys.platform == "win32":
        return _folder("APPDATA", Path.home() / "AppData/Roaming")
    if sys.platform == "darwin":
        return Path.home() / ("Library/Application Support" if is_desktop else ".config")
    return _folder("XDG_CONFIG_HOME", Path.home() / ".config")


def _claude_desktop() -> Path:
    """Claude Desktop; on Windows, one from the store or the present installer reads its own virtual folder."""
    packages = _folder("LOCALAPPDATA", Path.home() / "AppData/Local") / "Packages"
    if sys.platform == "win32":
        for package in sorted(packages.glob("Claude_*")):
            return package / "LocalCache/Roaming/Claude"
    return _settings() / "Claude"


def _goose() -> Path:
    if os.environ.get("GOOSE_PATH_ROOT"):
        return Path(os.environ["GOOSE_PATH_ROOT"]) / "config"
    return _settings(is_desktop=False) / ("Block/goose/config" if sys.platform == "win32" else "goose")


def _lm_studio() -> Path:
    """LM Studio: its folder is named by a pointer file, or is the former one where that exists."""
    pointer, former = Path.home() / POINTER, Path.home() / ".cache/lm-studio"
    if pointer.is_file():
        return Path(pointer.read_text(encoding="utf-8").strip())
    return former if former.is_dir() else Path.home() / ".lmstudio"


FOLDERS: Mapping[str, Callable[[], Path]] = {
    "home": Path.home,
    "settings": _settings,
    "claude-desktop": _claude_desktop,
    "claude-code": lambda: _folder("CLAUDE_CONFIG_DIR", Path.home()),
    "codex": lambda: _folder("CODEX_HOME", Path.home() / ".codex"),
    "zed": lambda: _settings(is_desktop=False) / ("Zed" if sys.platform == "win32" else "zed"),
    "goose": _goose,
    "lm-studio": _lm_studio,
}
CLIENTS = {name: ClientSpec(**told) for name, told in load_packaged("stackroom.cli.clients", "clients.toml").items()}
