"""`GET /`: for programs where everything is, for people a page.

The page is one file that never changes while the server runs: style and script are within it, allowed by their hashes
alone, and whatever it shows comes as JSON and is put in as text.
"""

import base64
import hashlib
import importlib.resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from pinakes import __version__
from pinakes.model.principal import Identity
from pinakes.serve.http.authenticate import METADATA_PATH
from pinakes.serve.http.endpoints import PRIVATE, base_url
from pinakes.serve.http.replies import JSONReply
from pinakes.serve.http.service import Service
from pinakes.settings import Settings

SITE = "site"
STYLE_PLACE = "/* style */"
SCRIPT_PLACE = "/* script */"
VARY = {"Vary": "Accept, Authorization, Cookie"}


class PageEndpoint:
    """The root of the server."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._page, self._policy = build_page()

    async def show(self, request: Request) -> Response:
        """Answer a browser with the page, and everybody else with JSON."""
        if "text/html" in request.headers.get("accept", ""):
            headers = {
                **VARY,
                "Cache-Control": "no-cache",
                "Content-Security-Policy": self._policy,
                "Cross-Origin-Opener-Policy": "same-origin",
            }
            return Response(self._page, media_type="text/html", headers=headers)
        identity = await self._service.authenticator.identify(request.headers)
        settings = self._service.settings
        has_accounts = self._service.control is not None
        description = describe_server(
            settings, base_url(settings, request.scope), identity=identity, has_accounts=has_accounts
        )
        return JSONReply(description, headers={**PRIVATE, **VARY})


def describe_server(settings: Settings, base: str, *, identity: Identity | None, has_accounts: bool) -> dict[str, Any]:
    """Return what this server is, where its parts are, and whom it takes the caller for."""
    socket_base = base.replace("http", "ws", 1)
    mcp = {"streamable_http": f"{base}/mcp", "sse": f"{base}/sse", "websocket": f"{socket_base}/v1/mcp"}
    return {
        "name": "pinakes",
        "version": __version__,
        "mcp": mcp if settings.mcp.enabled else None,
        "rest": f"{base}/v1/tools",
        "openapi": f"{base}/openapi.json",
        "health": f"{base}/health",
        "docs": f"{base}/",
        **({"authorization": f"{base}{METADATA_PATH}"} if has_accounts else {}),
        "accounts": has_accounts,
        "user": identity.principal.name if identity else None,
    }


def build_page() -> tuple[bytes, str]:
    """Return the page, and the policy that lets nothing run in it but its own style and script."""
    folder = importlib.resources.files(__package__) / SITE
    page, style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js"))
    whole = page.replace(STYLE_PLACE, style).replace(SCRIPT_PLACE, script)
    rules = {
        "default-src": "'none'",
        "style-src": _hash_of(style),
        "script-src": _hash_of(script),
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return whole.encode(), "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
