"""Places of clients' configuration files on this platform; docs/clients.md has the sources."""

import os
import sys
from pathlib import Path

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


def claude_desktop() -> Path:
    """Claude Desktop; on Windows, one from the store or the present installer reads its own virtual folder."""
    packages = _folder("LOCALAPPDATA", Path.home() / "AppData/Local") / "Packages"
    if sys.platform == "win32":
        for package in sorted(packages.glob("Claude_*")):
            return package / "LocalCache/Roaming/Claude/claude_desktop_config.json"
    return _app_data() / "Claude/claude_desktop_config.json"


def claude_code() -> Path:
    """Claude Code, user scope."""
    return _folder("CLAUDE_CONFIG_DIR", Path.home()) / ".claude.json"


def cursor() -> Path:
    """Cursor, for every project."""
    return Path.home() / ".cursor/mcp.json"


def vscode() -> Path:
    """VS Code, the user's default profile."""
    return _app_data() / "Code/User/mcp.json"


def windsurf() -> Path:
    """Windsurf, by now Devin Desktop."""
    return Path.home() / ".codeium/windsurf/mcp_config.json"


def codex() -> Path:
    """Codex: its command line, its editor extension and its app."""
    return _folder("CODEX_HOME", Path.home() / ".codex") / "config.toml"


def gemini_cli() -> Path:
    """Gemini CLI."""
    return Path.home() / ".gemini/settings.json"


def zed() -> Path:
    """Zed."""
    folder = _roaming() / "Zed" if sys.platform == "win32" else _zed_config()
    return folder / "settings.json"


def _zed_config() -> Path:
    return Path.home() / ".config/zed" if sys.platform == "darwin" else _xdg_config() / "zed"


def goose() -> Path:
    """Goose."""
    if os.environ.get("GOOSE_PATH_ROOT"):
        return Path(os.environ["GOOSE_PATH_ROOT"]) / "config/config.yaml"
    if sys.platform == "win32":
        return _roaming() / "Block/goose/config/config.yaml"
    return (Path.home() / ".config" if sys.platform == "darwin" else _xdg_config()) / "goose/config.yaml"


def lm_studio() -> Path:
    """LM Studio: its folder is named by a pointer file, or is the former one where that exists."""
    pointer, former = Path.home() / POINTER, Path.home() / ".cache/lm-studio"
    if pointer.is_file():
        return Path(pointer.read_text(encoding="utf-8").strip()) / "mcp.json"
    return (former if former.is_dir() else Path.home() / ".lmstudio") / "mcp.json"
