"""The icon that clients show beside the server's name: the one of its page, as an address that has it in it.

It is sent to clients that connect, and not with every answer, although the server is described in each of them.
"""

import base64
from collections.abc import Mapping
from typing import Any

PICTURE = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='#0f766e'/>"
    "<path d='M8 9h16M8 16h16M8 23h9' stroke='white' stroke-width='3' stroke-linecap='round'/></svg>"
)
ADDRESS = f"data:image/svg+xml;base64,{base64.b64encode(PICTURE.encode()).decode()}"
SINCE = "2025-11-25"
"""The revision that added icons."""


def with_icon(described: Mapping[str, Any], protocol_version: str) -> dict[str, Any]:
    """Return the description of the server with its icon, where the revision of the protocol has icons."""
    icons = [{"src": ADDRESS, "mimeType": "image/svg+xml", "sizes": ["any"]}]
    return {**described, "icons": icons} if protocol_version >= SINCE else dict(described)
