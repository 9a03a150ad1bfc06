"""The server that a client is to use: one that it starts itself, or one that it reaches by an address."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from stackroom.cli.clients.config_file import NAME
from stackroom.errors import InputError

TOOL_NAMES = "tool_names"
PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteServer:
    """A shared server; `token` is one of its tokens, empty where it asks for none."""

    url: str
    token: str = field(default="", repr=False)

    @property
    def parts(self) -> dict[str, Any]:
        """The address, and the header with the token."""
        return {"url": self.url} | ({"headers": {"Authorization": f"Bearer {self.token}"}} if self.token else {})


def local_server(home: Path, catalogues: Sequence[str], *, plain_names: bool = False) -> dict[str, Any]:
    """Return the command that starts this Stackroom on this library, over standard input and output."""
    command, *args = find_command()
    names = {"STACKROOM_TOOL_NAMES": PLAIN} if plain_names else {}
    env = {"STACKROOM_HOME": str(home.absolute()), **names}
    return {"command": command, "args": [*args, "serve", *catalogues], "env": env}


def find_command() -> list[str]:
    """Return the command of the Stackroom that runs, which needs no search path."""
    beside = shutil.which(NAME, path=str(Path(sys.executable).absolute().parent))
    if beside is not None:
        return [beside]
    return [str(Path(sys.executable).absolute()), "-m", NAME]


def remote_server(url: str, token: str, *, plain_names: bool = False) -> RemoteServer:
    """Return the server at an address, which is checked; its MCP is at `/mcp`."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # ValueError where it is no port
        is_server = parts.scheme in {"http", "https"} and parts.hostname and not parts.username and not parts.fragment
    except ValueError:
        is_server = False
    if not is_server:
        raise InputError(f"--url: '{url}' is not the address of a server; such as https://stackroom.example.org")
    if any(not "!" <= letter <= "~" for letter in token):
        raise InputError("--token: a token has no blanks and only ASCII characters")
    query = dict(parse_qsl(parts.query)) | ({TOOL_NAMES: PLAIN} if plain_names else {})
    path = parts.path if parts.path.strip("/") else "/mcp"
    return RemoteServer(url=urlunsplit((parts.scheme, parts.netloc, path, urlencode(query), "")), token=token)


def holds_token(entry: Any) -> bool:
    """Tell whether an entry has a token in its headers."""
    headers = [entry.get(name) for name in ("headers", "http_headers")] if isinstance(entry, dict) else []
    return any(isinstance(header, dict) and "Authorization" in header for header in headers)
