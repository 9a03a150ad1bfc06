"""Configuration files of assistants: their places, and the entry that starts Pinakes."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from pinakes.errors import InputError

ENTRY = "pinakes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An assistant: the place of its configuration, and the section that lists servers."""

    path: Callable[[], Path]
    section: str = "mcpServers"


def _claude_desktop() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/Claude/claude_desktop_config.json"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", str(Path.home()))) / "Claude/claude_desktop_config.json"
    return Path.home() / ".config/Claude/claude_desktop_config.json"


CLIENTS = {
    "claude-desktop": Client(path=_claude_desktop),
    "claude-code": Client(path=lambda: Path.cwd() / ".mcp.json"),
    "cursor": Client(path=lambda: Path.home() / ".cursor/mcp.json"),
    "vscode": Client(path=lambda: Path.cwd() / ".vscode/mcp.json", section="servers"),
}


def config_path(client: str) -> Path:
    """Return the usual place of a client's configuration."""
    return CLIENTS[client].path()


def build_entry(home: Path, catalogues: Sequence[str]) -> dict[str, Any]:
    """Return the entry that starts this Pinakes on this library."""
    command = shutil.which(ENTRY, path=str(Path(sys.executable).parent)) or shutil.which(ENTRY)
    start = {"command": command, "args": ["serve", *catalogues]}
    if command is None:
        start = {"command": sys.executable, "args": ["-m", "pinakes", "serve", *catalogues]}
    return {**start, "env": {"PINAKES_HOME": str(home)}}


def merged_config(path: Path, section: str, entry: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the configuration with the entry for Pinakes, and whether it had one before."""
    try:
        document = orjson.loads(path.read_bytes()) if path.is_file() and path.stat().st_size else {}
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is not valid JSON ({error.msg}); nothing was written") from error
    if not isinstance(document, dict) or not isinstance(document.get(section, {}), dict):
        raise InputError(f"{path} is not a configuration with a '{section}' object; nothing was written")
    servers = dict(document.get(section, {}))
    exists = ENTRY in servers
    servers[ENTRY] = entry
    return {**document, section: servers}, exists


def write_config(path: Path, document: dict[str, Any]) -> None:
    """Replace the configuration atomically, and keep the former one as `.bak`."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            shutil.copy2(path, path.with_name(f"{path.name}.bak"))
        fresh.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        os.replace(fresh, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
