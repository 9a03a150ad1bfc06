"""The icon that clients show beside the server's name: the one of its page, as an address that has it in it.

It is sent to clients that connect, and not with every answer, although the server is described in each of them.
"""

from collections.abc import Mapping
from typing import Any

SHAPES = (
    "%3Crect width='32' height='32' rx='7' fill='%230f766e'/%3E"
    "%3Cpath d='M8 9h16M8 16h16M8 23h9' stroke='white' stroke-width='3' stroke-linecap='round'/%3E"
)
ADDRESS = f"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E{SHAPES}%3C/svg%3E"
SINCE = "2025-11-25"
"""The revision that added icons."""


def with_icon(described: Mapping[str, Any], protocol_version: str) -> dict[str, Any]:
    """Return the description of the server with its icon, where the revision of the protocol has icons."""
    icons = [{"src": ADDRESS, "mimeType": "image/svg+xml", "sizes": ["any"]}]
    return {**described, "icons": icons} if protocol_version >= SINCE else dict(described)
