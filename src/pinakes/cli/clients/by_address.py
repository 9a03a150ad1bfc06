"""Clients that take a server by its address in their own settings: steps for a person to follow."""

from urllib.parse import urlsplit

from pinakes.cli.clients.server_entry import RemoteServer
from pinakes.errors import InputError

CHATGPT = "chatgpt"
CLAUDE_DESKTOP = "claude-desktop"

OPEN_SETTINGS = {
    CHATGPT: (
        "Settings → Apps → Advanced settings: turn Developer mode on (on the web, with a paid plan)",
        "Settings → Apps → Create app: name Pinakes, MCP server URL {url}",
    ),
    CLAUDE_DESKTOP: ("Settings → Connectors → Add custom connector: name Pinakes, remote MCP server URL {url}",),
}
"""The steps in each client up to the address; its configuration file, where there is one, takes none."""
LOG_IN = (
    "Authentication: OAuth, where the server trusts an issuer at which the client can register ([auth] in "
    "pinakes.toml). It takes no bearer tokens, so those of `pinakes token` do not work"
)


def steps_for(client: str, server: RemoteServer) -> list[str]:
    """Return the steps; an address that the client cannot reach is refused."""
    if urlsplit(server.url).scheme != "https":
        raise InputError(
            f"--url: {client} connects from outside this machine, over HTTPS only, not to '{server.url}'; "
            "give the server's public address, such as https://pinakes.example.org"
        )
    if server.token:
        raise InputError(f"--token: {client} takes no bearer token; it logs in by OAuth, or not at all")
    return [*(step.format(url=server.url) for step in OPEN_SETTINGS[client]), LOG_IN]
