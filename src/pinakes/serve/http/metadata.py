"""Where MCP clients learn who issues the tokens that are taken here (RFC 9728)."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from pinakes.model.principal import Action
from pinakes.serve.http.endpoints import base_url
from pinakes.serve.http.replies import JSONReply
from pinakes.serve.http.service import Service
from pinakes.settings import AuthSettings

RESOURCE_NAME = "Pinakes"


class MetadataEndpoint:
    """The protected resource: MCP at `/mcp`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show(self, request: Request) -> Response:
        """Answer with the document."""
        settings = self._service.settings
        return JSONReply(build_metadata(base_url(settings, request.scope), settings.auth))


def build_metadata(base: str, auth: AuthSettings) -> dict[str, Any]:
    """Return the document of the server at this address."""
    issuers = {"authorization_servers": [auth.issuer]} if auth.issuer else {}
    return {
        "resource": f"{base}/mcp",
        **issuers,
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(Action),
        "resource_name": RESOURCE_NAME,
    }
